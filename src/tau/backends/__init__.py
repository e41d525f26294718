"""Things that run outside tau, one folder each; none of them imports another."""
