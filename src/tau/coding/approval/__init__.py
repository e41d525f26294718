"""Decides whether a tool call may run: by policy, or by asking the user."""
