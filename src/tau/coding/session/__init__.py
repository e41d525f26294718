"""A conversation that is kept: its log, its context, its runs."""
