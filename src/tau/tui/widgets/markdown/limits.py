"""How much of a Markdown text is looked at together; what is longer is taken in pieces."""

LONG_CHARS = 1000
"""A line longer than this is only ever part of a paragraph."""
PARAGRAPH_CHARS = 2 * LONG_CHARS
"""A paragraph longer than this is taken in pieces, each with its own emphasis and links."""
PIECE_CHARS = 400
MAX_LEVEL = 40
"""Lists (two levels each) and quotes (one) within each other; deeper ones are plain text."""
SAMPLE_ROWS = 20
"""The rows of a table that decide how wide its columns are."""
SETTLE_CHARS = 500
"""How much text may wait before finished blocks are looked for."""
LINE_CHARS = 50
"""What a line counts at least: many short ones must not wait until they fill more than the window."""
CACHED_TEXTS = 512
