"""The patch language: files are shown with numbered lines under a tag, and edited by line number.

A separate library: it reads and writes no files, and finds blocks through a given resolver.
`SnapshotStore.record` returns the tag for a shown text; `parse` parses a patch; `prepare` checks it as a
whole and returns the new texts; call `record_written` and `report` when these are on disk.
"""
