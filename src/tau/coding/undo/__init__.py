"""File history: record what each turn changes on disk, and undo it."""
