"""tau: a coding agent for the terminal and for programs."""

__version__ = "0.1.0"
