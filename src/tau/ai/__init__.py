"""Talks to models: wire types, one module per dialect, provider and model tables, local servers."""
