"""Slash commands: one function each, looked up in a table."""
