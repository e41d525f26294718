"""Long-term memory on this machine."""
