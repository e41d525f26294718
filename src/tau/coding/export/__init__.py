"""Exports sessions as HTML, Markdown or JSON, with secrets masked."""
