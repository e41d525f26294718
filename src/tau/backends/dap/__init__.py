"""Debug adapters (DAP): which ones there are, and programs under a debugger."""
