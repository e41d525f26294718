"""Turns the component tree into bytes: frames, the ledger of final rows, and the emitters."""
