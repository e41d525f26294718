"""The interactive screen: a session on the terminal, through controllers without business rules."""
