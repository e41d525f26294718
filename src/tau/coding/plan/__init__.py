"""Plan mode: read-only work until the user approves a plan."""
