"""A terminal engine: it keeps the transcript in native scrollback and knows nothing of agents."""
