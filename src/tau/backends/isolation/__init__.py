"""Copies of a repository for agents, and merging what they changed."""
