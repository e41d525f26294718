"""Source code as trees: blocks for edits, summaries for reading, patterns to search and change it."""
