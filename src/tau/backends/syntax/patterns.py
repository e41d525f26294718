"""Structural search and rewriting of one text: code with holes (`$A`, `$$$ARGS`) instead of expressions."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import islice

from msgspec import Struct

from tau.backends.syntax.languages import MAX_PARSED_CHARS
from tau.backends.syntax.pattern_parser import HOLE, build_rule, is_code
from tau.backends.syntax.trees import Node, parse
from tau.base.errors import ToolError

_HOLE = (
    r"(?P<before>,[ \t]*)?\$\$\$(?P<list>[A-Z][A-Z0-9_]*)(?P<after>,[ \t]*)?|\$\$?(?P<one>[A-Z][A-Z0-9_]*)"
)
MAX_MATCHES = 10_000
_NAMED_HOLE = r"(?P<many>\$\$\$)(?P<list>[A-Z][A-Z0-9_]*)|\$\$?(?P<one>[A-Z][A-Z0-9_]*)"
# Where `$NAME` is ordinary code, unknown ones stay unchanged in the replacement.
_DOLLAR_LANGUAGES = {"bash", "php", "javascript", "typescript", "tsx", "scala", "kotlin", "nix", "dart"}


class PatternMatch(Struct, frozen=True, kw_only=True):
    """A match: characters `start` to `end`, 1-based lines, and the text of its holes."""

    start: int
    end: int
    first_line: int
    last_line: int
    text: str
    variables: dict[str, str] = {}


class PatternRewrite(Struct, frozen=True):
    """One rewrite: what `pat` matches becomes `out`."""

    pat: str
    out: str


class PatternEdit(Struct, frozen=True, kw_only=True):
    """Characters `start` to `end` of the old text become `text`; `op` is the index of the rewrite."""

    start: int
    end: int
    first_line: int
    text: str
    op: int


class RewriteResult(Struct, frozen=True, kw_only=True):
    """`overlapping` matches are inside other matches and were not changed."""

    text: str
    changes: list[PatternEdit]
    overlapping: int = 0


def search(pattern: str, text: str, language: str, *, max_matches: int = MAX_MATCHES) -> list[PatternMatch]:
    """Return all matches, outer ones first, at most `max_matches`.

    Raises ToolError for a pattern that can never match, or a text that cannot be parsed.
    """
    names = hole_names(pattern)
    nodes = islice(_find(pattern, text, language), max(max_matches, 0))
    return [_match(node, pattern, text, names) for node in nodes]


def rewrite(
    ops: Sequence[PatternRewrite], text: str, language: str, *, max_changes: int = MAX_MATCHES
) -> RewriteResult:
    """Replace every match. All patterns see the original text; unmatched text is unchanged. Where matches
    overlap, the outer one and the earlier rewrite win. Raises ToolError."""
    newline = "\r" if "\r" in text and "\n" not in text else "\n"
    if text.count("\r\n") * 2 > text.count("\n"):
        newline = "\r\n"
    changes: list[PatternEdit] = []
    for index, op in enumerate(ops):
        _check_replacement(op, language)
        names = hole_names(op.pat)
        for node in _find(op.pat, text, language):
            start, end = _extent(node, op.pat, text)
            values = {name: Substitution(*bounds) for name, bounds in _bounds(node, names).items()}
            new = fill_template(op.out, values, text, start, newline)
            line = node.range().start.line + 1
            changes.append(PatternEdit(start=start, end=end, first_line=line, text=new, op=index))
            if len(changes) > max_changes:
                raise ToolError(f"The patterns match more than {max_changes} times in one file; narrow them.")
    return _apply(text, changes)


def find_matching(patterns: Sequence[str], text: str, language: str) -> list[str]:
    """Return the patterns that occur in the text; those that are not code in this language do not."""
    rules = {
        pattern: build_rule(pattern, language)["rule"] for pattern in patterns if is_code(pattern, language)
    }
    root = parse(text, language) if rules else None
    if root is None or root.find({"rule": {"any": [*rules.values()]}}) is None:
        return []
    return [pattern for pattern, rule in rules.items() if root.find({"rule": rule}) is not None]


def hole_names(pattern: str) -> frozenset[str]:
    """Return the names of a pattern's holes; a leading `_` means not captured."""
    return frozenset(match["list"] or match["one"] for match in re.finditer(_NAMED_HOLE, pattern))


def required_words(pattern: str) -> list[str]:
    """Return words that every match contains: a text without them need not be parsed."""
    return re.findall(r"[^\W\d]\w{2,}", re.sub(HOLE, " ", pattern))


def _check_replacement(op: PatternRewrite, language: str) -> None:
    if re.search(r"\$\$\$(?![A-Z_])", op.out):
        raise ToolError("`$$$` in `out` needs a name, the same as in `pat`: for example `$$$ARGS`.")
    if language in _DOLLAR_LANGUAGES:
        return
    known = hole_names(op.pat)
    unknown = [
        match[0] for match in re.finditer(_NAMED_HOLE, op.out) if (match["list"] or match["one"]) not in known
    ]
    if unknown:
        have = ", ".join(f"${name}" for name in sorted(known)) or "none"
        raise ToolError(f"`out` uses {unknown[0]}, which `pat` does not have; its holes are: {have}.")


def _find(pattern: str, text: str, language: str) -> list[Node]:
    rule = build_rule(pattern, language)
    root = parse(text, language)
    if root is None:
        size = f"longer than {MAX_PARSED_CHARS} characters" if len(text) > MAX_PARSED_CHARS else ""
        raise ToolError(f"This text cannot be parsed as {language}{': ' + size if size else ''}.")
    return root.find_all(rule)


def _match(node: Node, pattern: str, text: str, names: frozenset[str]) -> PatternMatch:
    start, end = _extent(node, pattern, text)
    line = node.range().start.line + 1
    return PatternMatch(
        start=start,
        end=end,
        first_line=line,
        last_line=line + text.count("\n" if "\n" in text else "\r", start, end),
        text=text[start:end],
        variables={name: text[first:last] for name, (first, last) in _bounds(node, names).items()},
    )


def _extent(node: Node, pattern: str, text: str) -> tuple[int, int]:
    """Return the range of a match, without a trailing newline, semicolon or comma that the pattern lacks."""
    span = node.range()
    start, end = span.start.index, span.end.index
    end = start + len(text[start:end].rstrip())
    if end > start and text[end - 1] in ";," and not pattern.rstrip().endswith(text[end - 1]):
        end = start + len(text[start : end - 1].rstrip())
    return start, end


def _bounds(node: Node, names: frozenset[str]) -> dict[str, tuple[int, int]]:
    """Return the range of each hole; an empty list has none."""
    bounds: dict[str, tuple[int, int]] = {}
    for name in names:
        one = node.get_match(name)
        many = [one] if one is not None else node.get_multiple_matches(name)
        if many:
            bounds[name] = (many[0].range().start.index, many[-1].range().end.index)
        else:
            bounds[name] = (0, 0)
    return bounds


def _apply(text: str, changes: list[PatternEdit]) -> RewriteResult:
    kept: list[PatternEdit] = []
    pieces: list[str] = []
    at = overlapping = 0
    for change in sorted(changes, key=lambda change: (change.start, -change.end, change.op)):
        if kept and (change.start < at or (change.start, change.end) == (kept[-1].start, kept[-1].end)):
            overlapping += 1
            continue
        pieces += (text[at : change.start], change.text)
        at = change.end
        kept.append(change)
    return RewriteResult(text="".join([*pieces, text[at:]]), changes=kept, overlapping=overlapping)


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
    before, after = match["before"] or "", match["after"] or ""
    if value.start == value.end:
        return before if after else ""
    old = text[value.start : value.end]
    indent = _indent(text, value.start)
    if indent != lead and "\n" in old:
        first, *rest = old.split("\n")
        moved = (lead + row[len(indent) :] if row.startswith(indent) and row.strip() else row for row in rest)
        old = "\n".join([first, *moved])
    return before + old + after


def _indent(text: str, place: int) -> str:
    start = text.rfind("\n", 0, place) + 1
    row = text[start:place]
    return row[: len(row) - len(row.lstrip(" \t"))]
