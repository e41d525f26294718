"""The terminal interface and its implementation on a real tty."""
