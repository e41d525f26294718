"""Subagents: their definitions, the team of a session, budgets, results, messages."""
