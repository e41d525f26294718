"""Sessions handed on: as a page, as Markdown, as plain JSON, with what looks like a secret masked."""
