"""Guesses a file's language from its name."""

from functools import cache
from pathlib import Path

from msgspec import json


def language_of(path: str) -> str:
    """The highlighter's name of the language; empty if unknown."""
    name = path[-200:].replace("\\", "/").rpartition("/")[2].lower()
    table = _table()
    return table["names"].get(name) or table["endings"].get(name.rpartition(".")[2], "")


@cache
def _table() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_name("languages.json")
    return json.decode(path.read_bytes(), type=dict[str, dict[str, str]])
