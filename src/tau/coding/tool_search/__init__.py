"""Tools that are hidden until the model needs them: an index, a search tool, what was activated."""
