"""Shared by tests and benches: a model server with scripted answers and faults."""
