"""What the agent does on GitHub: pull requests, the cache of what was read, issue:// and pr://."""
