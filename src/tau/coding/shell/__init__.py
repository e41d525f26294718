"""A shell command as tools run it: rewriting, running, reporting the result."""
