"""The shell of a session: one that persists between commands, and fresh ones beside it."""
