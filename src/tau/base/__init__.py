"""Files, processes, text, late imports, errors; knows nothing about agents."""
