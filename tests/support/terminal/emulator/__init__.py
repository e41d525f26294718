"""A terminal in memory, as exact as a test needs: bytes in, rows, scrollback and answers out."""
