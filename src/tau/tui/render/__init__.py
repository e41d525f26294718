"""From the tree of components to bytes: frames, the ledger of final rows, and the four ways to write them."""
