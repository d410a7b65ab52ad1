"""Files that survive a crash, and that a stranger may have written."""
