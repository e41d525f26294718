"""How the calls of each tool look: from arguments and details to components, also for unknown tools."""
