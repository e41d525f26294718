"""Models on this machine: servers that already run here, and the small demo model that comes with tau."""
