"""The table in the browser, and the service for programs behind it."""
