"""Answers chat messages with agent CLIs: channels, queue, journal, agents. Imports no agent code."""
