"""Git merge conflicts: the markers in a file, and the conflicts of a session."""
