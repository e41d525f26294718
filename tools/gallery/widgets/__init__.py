"""Every component of the engine in every state, to be looked at: `python -m tools.gallery.widgets`."""
