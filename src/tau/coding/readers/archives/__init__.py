"""Zip and tar archives for `read` and `write`."""
