"""Language servers: detection, processes, documents, diagnostics."""

from pathlib import Path

TABLE = Path(__file__).with_name("servers.json")
