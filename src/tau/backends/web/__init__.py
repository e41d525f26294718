"""The web: a guarded HTTP client, HTML to Markdown, site handlers, search providers."""
