"""The shell of a session: one that lives on from command to command, and fresh ones beside it."""
