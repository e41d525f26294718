"""Shell commands for tools: rewrite, run, report the result."""
