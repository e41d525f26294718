"""Keeps a conversation within its model's window: summaries, cuts, notes in place of tool output."""
