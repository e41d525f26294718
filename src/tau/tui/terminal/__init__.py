"""The terminal as a port, the real one behind it, and one in memory that tests read."""
