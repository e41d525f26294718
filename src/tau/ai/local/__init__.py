"""Models on this machine: running servers, and the built-in demo model."""
