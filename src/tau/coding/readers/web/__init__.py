"""Reads web pages: `pages` fetches and converts them, `output` shows them."""
