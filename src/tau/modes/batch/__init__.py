"""Batch mode: runs many tasks to the end, a few at a time."""
