"""What `--json` of a subcommand prints."""

from typing import Any

from msgspec import json

from tau.cli.main import write_stdout


def write_json(value: Any) -> int:
    """Write a value, indented; returns the exit code."""
    return write_stdout(json.format(json.encode(value), indent=2).decode() + "\n")
