"""Debuggers for the coding agent: actions, and texts for the model."""
