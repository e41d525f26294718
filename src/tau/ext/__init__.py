"""Code from outside: hooks, extensions, plugins, MCP servers."""
