"""Debug adapters (DAP): which ones there are, and programs under a debugger."""

from pathlib import Path

TABLE = Path(__file__).with_name("adapters.json")
