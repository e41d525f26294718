"""File history: what the agent's turns changed on disk, and how to take it back."""
