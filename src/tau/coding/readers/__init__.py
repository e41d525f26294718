"""What stands behind `read` and `write` where a path leads to more than a plain text file."""
