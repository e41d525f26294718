"""Web search: `services` and `models` ask providers, `chain` tries them in order."""
