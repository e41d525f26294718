"""Plan mode: read-only work until the person approves a plan."""
