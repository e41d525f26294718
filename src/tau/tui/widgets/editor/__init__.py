"""The text editor: many lines, soft wrap, undo, a kill ring, history, pastes as markers, completions."""
