"""Knows no agents: files, processes, text, late imports, errors."""
