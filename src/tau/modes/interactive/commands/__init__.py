"""What a person can type after a slash: one function each, found through a table."""
