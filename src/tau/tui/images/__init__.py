"""Images on a terminal: their size, three protocols, and a limit on how many are kept."""
