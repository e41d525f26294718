"""Tool views: turn the arguments and details of each tool's calls into components, also for unknown tools."""
