"""The widgets: one per file, none aware of how it is used."""
