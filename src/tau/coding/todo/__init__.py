"""The todo list of a session and its Markdown form."""
