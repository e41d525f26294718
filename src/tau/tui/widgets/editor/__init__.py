"""The text editor: multiple lines, soft wrap, undo, kill ring, history, paste markers, completions."""
