"""Hypothesis judges what code does, not how long a loaded machine takes to do it."""

from hypothesis import settings

settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
