"""MCP servers: their configuration, connections, tools, resources, prompts and logins; and tau as one."""
