"""Calls of every tool in every state, with realistic data, for the gallery."""
