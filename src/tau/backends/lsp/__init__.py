"""Language servers: detection, processes, documents, diagnostics."""
