"""Parses a pattern as code: alone, and wrapped in context where such code is not valid alone."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import json

from tau.backends.syntax.languages import LANGUAGES
from tau.backends.syntax.trees import Node, is_broken, parse
from tau.base.errors import ToolError

if TYPE_CHECKING:
    from ast_grep_py import Config, Rule

MAX_PATTERN_CHARS = 2_000  # matching time is quadratic in a pattern's depth
HOLE = r"\$\$\$(?:[A-Z_][A-Z0-9_]*)?|\$\$?[A-Z_][A-Z0-9_]*"
# Substitutes for `$$$NAME` and `$NAME` when checking whether a pattern is code: usually a name works, in some
# places only a statement, a string, or nothing.
_STAND_INS = (("hole", "hole"), ("", "hole"), ("hole;", "hole"), ("", '"hole"'), ('"hole"', '"hole"'))

# Contexts to wrap around a pattern, by language. Every one that makes it valid code is searched for.
_AROUND = json.decode(
    Path(__file__).with_name("pattern_contexts.json").read_bytes(),
    type=dict[str, tuple[tuple[str, str], ...]],
)


def is_code(pattern: str, language: str) -> bool:
    try:
        build_rule(pattern, language)
    except ToolError:
        return False
    return True


def check_any(pattern: str, languages: Sequence[str]) -> None:
    """Raise ToolError with the reason if the pattern is not code in any of these languages."""
    refusal: ToolError | None = None
    for language in languages:
        try:
            build_rule(pattern, language)
            return
        except ToolError as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal


@lru_cache(maxsize=256)
def build_rule(pattern: str, language: str) -> "Config":
    """Return the parser rule for all valid readings of the pattern. Raises ToolError if there is none."""
    check_shape(pattern)
    if language not in LANGUAGES:
        raise ToolError(f"There is no parser for {language}.")
    plains = dict.fromkeys(_fill_holes(pattern, many, one) for many, one in _STAND_INS)
    refusal = _refusal(pattern, list(plains), language)
    readings: list[Rule] = [] if refusal else [{"pattern": pattern}]
    for before, after in _AROUND.get(language, ()):
        selectors = (_selector(before, plain, after, language) for plain in plains)
        selector = next((selector for selector in selectors if selector), None)
        if selector is not None:
            whole = before + pattern.strip() + after
            reading: Rule = {"pattern": {"context": whole, "selector": selector, "strictness": "smart"}}
            if not _find_error(reading, language):
                readings.append(reading)
    if not readings:
        raise ToolError(refusal)
    return {"rule": {"any": readings}}


def check_shape(pattern: str) -> None:
    """Raise ToolError for patterns that are invalid in every language."""
    if not pattern.strip():
        raise ToolError("The pattern is empty; write a piece of code, with `$NAME` for the parts that vary.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ToolError(
            f"The pattern has {len(pattern)} characters (limit {MAX_PATTERN_CHARS}); "
            "use `$NAME` or `$$$NAME` for parts that need not match."
        )
    if "\0" in pattern:
        raise ToolError("The pattern contains a NUL character.")
    if re.fullmatch(r"\s*\$\$\$\w*\s*", pattern):
        raise ToolError("A pattern needs more than `$$$`: put it inside something, such as `f($$$ARGS)`.")
    if re.fullmatch(rf"\s*(?:{HOLE})\s*", pattern):
        raise ToolError("A pattern that is only a hole matches everything; add some code.")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise ToolError("The pattern has a lone surrogate (half a character).") from None


def _fill_holes(pattern: str, many: str, one: str) -> str:
    return re.sub(HOLE, lambda hole: many if hole[0].startswith("$$$") else one, pattern)


def _refusal(pattern: str, plains: Sequence[str], language: str) -> str:
    """Return why the pattern does not parse alone, or nothing. The library accepts broken patterns."""
    shown = pattern.strip()
    complaint = _find_error({"pattern": pattern}, language)
    if "Multiple AST nodes" in complaint:
        return (
            f"The pattern `{shown}` is more than one piece of {language} code; a pattern is one expression, "
            "statement or declaration."
        )
    if "No AST root" in complaint:
        return f"The pattern `{shown}` has no {language} code in it."
    if complaint:
        return f"The pattern `{shown}` cannot be used for {language}."
    roots = (parse(plain, language) for plain in plains)
    if any(root is not None and not is_broken(root) for root in roots):
        return ""
    hint = " Hole names must be uppercase." if re.search(r"\$[a-z]", pattern) else ""
    return (
        f"The pattern `{shown}` is not valid {language} code; a pattern is a complete expression, statement "
        f"or declaration, with `$NAME` for one part and `$$$NAME` for several.{hint}"
    )


def _find_error(reading: "Rule", language: str) -> str:
    root = parse("x", language)
    if root is None:
        return "no parser"
    try:
        root.find({"rule": reading})
    except RuntimeError as error:
        return str(error)
    return ""


def _selector(before: str, plain: str, after: str, language: str) -> str | None:
    """Return the node kind of the pattern inside its context, None if it is not exactly one node."""
    code = plain.strip()
    root = parse(before + code + after, language)
    if root is None or is_broken(root):
        return None
    start, end = len(before), len(before) + len(code)
    node = _innermost(root, start, end)
    if node is None or not node.is_named():
        return None
    kind = node.kind()
    # The parser takes the first node of that kind, which must be ours.
    first = root.find(kind=kind)
    return kind if first is not None and _covers(first, start, end) else None


def _innermost(root: Node, start: int, end: int) -> "Node | None":
    """Return the deepest node that covers exactly this range."""
    innermost: Node | None = None
    node: Node | None = root
    while node is not None:
        if _covers(node, start, end):
            innermost = node
        node = next(
            (
                child
                for child in node.children()
                if child.range().start.index <= start and child.range().end.index >= end
            ),
            None,
        )
    return innermost


def _covers(node: Node, start: int, end: int) -> bool:
    span = node.range()
    return (span.start.index, span.end.index) == (start, end)
