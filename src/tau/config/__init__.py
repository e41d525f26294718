"""Files to data: paths, settings, keys, custom models, context files."""
