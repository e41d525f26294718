"""The coding agent: sessions, tools, prompts, policy."""
