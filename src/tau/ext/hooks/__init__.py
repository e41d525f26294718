"""Command hooks: programs of the user that are asked at points of a session, in the form of Claude Code."""
