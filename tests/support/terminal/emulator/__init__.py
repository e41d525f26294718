"""An in-memory terminal emulator, as exact as tests need: bytes in; rows, scrollback and answers out."""
