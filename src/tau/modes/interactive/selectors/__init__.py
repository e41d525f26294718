"""Lists to choose from: models, sessions, the tree, settings, themes, keys."""
