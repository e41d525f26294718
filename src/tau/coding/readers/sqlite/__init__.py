"""SQLite databases for `read` and `write`."""
