"""What makes it a coding agent: sessions, tools, prompts, policy."""
