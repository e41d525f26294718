"""The interactive screen: a session on the terminal, through controllers that hold no rules of their own."""
