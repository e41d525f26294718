"""Sessions on disk: the log, its lines, blobs, forks, migration, trash."""
