"""The engine of the search and find tools: globs, ignore rules, directory walk, ripgrep and its fallback."""
