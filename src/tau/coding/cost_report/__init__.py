"""Usage of all sessions: read from their files, summed by day, and drawn."""
