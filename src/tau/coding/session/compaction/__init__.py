"""Makes a conversation smaller before it outgrows its model: summaries, cuts, notes in place of output."""
