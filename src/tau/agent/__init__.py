"""The loop: tools, abort, queues, hooks, events. No files, no terminal, no settings."""
