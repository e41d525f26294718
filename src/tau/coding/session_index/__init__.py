"""What was done with tau stays findable: an index of all sessions, the prompts, the trash, the terminals."""
