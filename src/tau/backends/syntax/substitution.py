"""Fills the holes of a replacement with the matched text, indented to fit."""

import re
from collections.abc import Mapping
from functools import partial

from msgspec import Struct

_HOLE = (
    r"(?P<before>,[ \t]*)?\$\$\$(?P<list>[A-Z][A-Z0-9_]*)(?P<behind>,[ \t]*)?|\$\$?(?P<one>[A-Z][A-Z0-9_]*)"
)


class Substitution(Struct, frozen=True):
    """A range of the old text; empty if `start` equals `end`."""

    start: int
    end: int


def fill_template(
    template: str, values: Mapping[str, Substitution], text: str, place: int, newline: str
) -> str:
    """Fill the template for a match at `place` of `text`. A `$NAME` without a value stays unchanged.

    Lines after the first are indented like the line of the match; lines of a value move with it. An empty
    `$$$NAME` also removes an adjacent comma.
    """
    indent = _indent(text, place)
    rows = template.replace("\r\n", "\n").split("\n")
    out: list[str] = []
    for number, row in enumerate(rows):
        lead = indent + row[: len(row) - len(row.lstrip())] if number else indent
        body = row if number == 0 else f"{indent}{row}" if row.strip() else row
        out.append(re.sub(_HOLE, partial(_value, values=values, text=text, lead=lead), body))
    return newline.join(out)


def _value(match: re.Match[str], values: Mapping[str, Substitution], text: str, lead: str) -> str:
    value = values.get(match["list"] or match["one"])
    if value is None:
        return match[0]
    before, behind = match["before"] or "", match["behind"] or ""
    if value.start == value.end:
        return before if behind else ""
    old = text[value.start : value.end]
    indent = _indent(text, value.start)
    if indent != lead and "\n" in old:
        first, *rest = old.split("\n")
        moved = (lead + row[len(indent) :] if row.startswith(indent) and row.strip() else row for row in rest)
        old = "\n".join([first, *moved])
    return before + old + behind


def _indent(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    row = text[start:place]
    return row[: len(row) - len(row.lstrip(" \t"))]
