"""Calls of every tool in every state, with data such as real work leaves: what the gallery shows."""
