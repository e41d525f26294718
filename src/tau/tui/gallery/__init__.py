"""Every component of the engine in every state, to be looked at: `python -m tau.tui.gallery`."""
