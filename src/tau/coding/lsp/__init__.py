"""Language servers for the coding agent: edits, texts for the model, diagnostics after edits."""
