"""The session index: search over all sessions and past prompts."""
