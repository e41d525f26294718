"""Every widget of the engine in every state: `python -m tools.gallery.widgets`."""
