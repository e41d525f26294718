"""Size limits of Markdown parsing; longer text is processed in pieces."""

LONG_CHARS = 1000
"""A longer line is always part of a paragraph."""
PARAGRAPH_CHARS = 2 * LONG_CHARS
"""A longer paragraph is split into pieces, each with its own emphasis and links."""
PIECE_CHARS = 400
MAX_LEVEL = 40
"""Nesting of lists (two levels each) and quotes (one); deeper ones are plain text."""
SAMPLE_ROWS = 40
"""How many rows of a table are laid out again as more arrive; they set the column widths of the rest."""
SETTLE_CHARS = 500
"""How much text may accumulate before searching for finished blocks."""
LINE_CHARS = 50
"""Minimum weight of a line: many short ones must not accumulate beyond the window."""
CACHED_TEXTS = 512
