"""Commits what is staged, with a message that a model writes."""
