"""Measures, cuts, wraps and cleans styled text by grapheme."""
