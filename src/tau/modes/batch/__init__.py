"""Batch mode: runs many tasks to the end, on this machine or on a Ray cluster."""
