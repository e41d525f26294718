"""What refusals of all vendors say: their codes and expressions, from `refusals.toml`."""

import re
import tomllib
from functools import cache
from pathlib import Path

from msgspec import Struct, convert

_PLACEHOLDERS = {
    "<size>": r"(?: \([\w ]{1,40}\))?",
    "<large>": r"[0-9][0-9,_]{2,11}",
    "<n>": r"[0-9][0-9,_]{0,11}",
    "<thing>": r"(?:image|picture|pdf|document)",
}


class _RefusalTable(Struct, frozen=True):
    codes: dict[str, frozenset[str]]
    sentences: dict[str, tuple[str, ...]]
    limits: dict[str, tuple[str, ...]]


@cache
def _table() -> _RefusalTable:
    text = Path(__file__).with_name("refusals.toml").read_text(encoding="utf-8")
    return convert(tomllib.loads(text), _RefusalTable)


def codes(name: str) -> frozenset[str]:
    return _table().codes[name]


def sentences(name: str) -> re.Pattern[str]:
    """One expression for all sentences of this kind."""
    return re.compile(_filled("|".join(_table().sentences[name])), re.IGNORECASE)


def limits(name: str) -> tuple[str, ...]:
    """Expressions with numbers, to be tried in order."""
    return tuple(map(_filled, _table().limits[name]))


def _filled(expression: str) -> str:
    for name, part in _PLACEHOLDERS.items():
        expression = expression.replace(name, part)
    return expression
