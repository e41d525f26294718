"""Reads a pattern as code: alone, and as a part of something where code of its kind cannot stand alone."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

from tau.backends.syntax.languages import LANGUAGES
from tau.backends.syntax.trees import Node, is_broken, parse
from tau.base.errors import ToolError

MAX_PATTERN_CHARS = 2_000  # matching takes time that grows with the square of a pattern's depth
HOLE = r"\$\$\$(?:[A-Z_][A-Z0-9_]*)?|\$\$?[A-Z_][A-Z0-9_]*"
# What stands for `$$$NAME` and `$NAME` while we look whether a pattern is code: in most places a name will
# do, in some only a statement, a string, or nothing.
_STAND_INS = (("hole", "hole"), ("", "hole"), ("hole;", "hole"), ("", '"hole"'), ('"hole"', '"hole"'))

_Rule: TypeAlias = dict[str, Any]

_STATEMENTS = (("void f() { ", "; }"), ("void f() { ", " }"))
_MEMBERS = (("class X { ", " }"), ("class X { ", "; }"))
_INSIDE_CLASS = (
    *_MEMBERS,
    ("class X { ", " void f() {} }"),
    ("class X { void f() { ", "; } }"),
    ("class X { void f() { ", " } }"),
)
_SCRIPT = (*_MEMBERS, ("x = { ", " }"), ("switch (x) { ", " }"))
# What to put around a pattern, by language. Each is tried; those that make valid code of it are searched for.
_AROUND: dict[str, tuple[tuple[str, str], ...]] = {
    "c": (*_STATEMENTS, ("struct X { ", " };"), ("int x = ", ";")),
    "cpp": (*_STATEMENTS, ("class X { ", " };"), ("int x = ", ";")),
    "csharp": _INSIDE_CLASS,
    "css": (("x { ", " }"), ("x { ", "; }")),
    "dart": (*_STATEMENTS, *_MEMBERS),
    "go": (
        ("package p\nfunc f() { ", " }"),
        ("package p\nvar x = ", ""),
        ("package p\ntype T struct { ", " }"),
    ),
    "haskell": (("x = ", ""),),
    "hcl": (("x = ", ""),),
    "java": _INSIDE_CLASS,
    "javascript": _SCRIPT,
    "json": (("{", "}"), ("[", "]")),
    "kotlin": (("class X { ", " }"),),
    "lua": (("return ", ""),),
    "php": (("", ";"), ("class X { ", " }"), ("class X { ", "; }")),
    "rust": (("fn f() { ", "; }"), ("fn f() { ", " }"), ("impl X { ", " }"), ("match x { ", " }")),
    "scala": (("class X { ", " }"),),
    "solidity": (
        ("contract X { ", " }"),
        ("contract X { function f() public { ", "; } }"),
        ("contract X { function f() public { ", " } }"),
    ),
    "swift": (("class X { ", " }"),),
    "tsx": _SCRIPT,
    "typescript": (*_SCRIPT, ("interface X { ", " }")),
    "zig": (("fn f() void { ", "; }"), ("fn f() void { ", " }")),
}


def is_code(pattern: str, language: str) -> bool:
    """Whether the pattern can be read as code of this language."""
    try:
        rule_for(pattern, language)
    except ToolError:
        return False
    return True


def check_any(pattern: str, languages: Sequence[str]) -> None:
    """Raises ToolError, with the reason, if the pattern is no code in any of these languages."""
    refusal: ToolError | None = None
    for language in languages:
        try:
            rule_for(pattern, language)
            return
        except ToolError as error:
            refusal = refusal or error
    if refusal is not None:
        raise refusal


@lru_cache(maxsize=256)
def rule_for(pattern: str, language: str) -> _Rule:
    """What to ask the parser for, in all readings that make sense. Raises ToolError if there is none."""
    check_shape(pattern)
    if language not in LANGUAGES:
        raise ToolError(f"There is no parser for {language}.")
    plains = dict.fromkeys(_filled(pattern, many, one) for many, one in _STAND_INS)
    refusal = _refusal(pattern, list(plains), language)
    readings: list[_Rule] = [] if refusal else [{"pattern": pattern}]
    for before, behind in _AROUND.get(language, ()):
        selectors = (_selector(before, plain, behind, language) for plain in plains)
        selector = next((selector for selector in selectors if selector), None)
        if selector is not None:
            whole = before + pattern.strip() + behind
            reading = {"pattern": {"context": whole, "selector": selector}}
            if not _complaint(reading, language):
                readings.append(reading)
    if not readings:
        raise ToolError(refusal)
    return {"rule": {"any": readings}}


def check_shape(pattern: str) -> None:
    """Raises ToolError for what is a pattern in no language."""
    if not pattern.strip():
        raise ToolError("The pattern is empty; write a piece of code, with `$NAME` for the parts that vary.")
    if len(pattern) > MAX_PATTERN_CHARS:
        raise ToolError(
            f"The pattern has {len(pattern)} characters, at most {MAX_PATTERN_CHARS} are taken; "
            "put `$NAME` or `$$$NAME` in place of what need not be matched."
        )
    if "\0" in pattern:
        raise ToolError("The pattern contains a NUL character, which no code has.")
    if re.fullmatch(r"\s*\$\$\$\w*\s*", pattern):
        raise ToolError("A pattern needs more than `$$$`: put it inside something, such as `f($$$ARGS)`.")
    if re.fullmatch(rf"\s*(?:{HOLE})\s*", pattern):
        raise ToolError("A pattern of nothing but a hole fits everything; add some code to it.")
    try:
        pattern.encode()
    except UnicodeEncodeError:
        raise ToolError("The pattern has half a character (a lone surrogate), which no code has.") from None


def _filled(pattern: str, many: str, one: str) -> str:
    return re.sub(HOLE, lambda hole: many if hole[0].startswith("$$$") else one, pattern)


def _refusal(pattern: str, plains: Sequence[str], language: str) -> str:
    """Why the pattern cannot be read alone, or nothing. A broken one would be taken, and match nothing."""
    shown = pattern.strip()
    complaint = _complaint({"pattern": pattern}, language)
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
    hint = " Names of holes are written in capital letters." if re.search(r"\$[a-z]", pattern) else ""
    return (
        f"The pattern `{shown}` is not valid {language} code; a pattern is a complete expression, statement "
        f"or declaration, with `$NAME` for one part and `$$$NAME` for several.{hint}"
    )


def _complaint(reading: _Rule, language: str) -> str:
    root = parse("x", language)
    if root is None:
        return "no parser"
    try:
        root.find({"rule": reading})
    except RuntimeError as error:
        return str(error)
    return ""


def _selector(before: str, plain: str, behind: str, language: str) -> str | None:
    """The kind of node that the pattern is inside its context, None if it is not exactly one node of it."""
    code = plain.strip()
    root = parse(before + code + behind, language)
    if root is None or is_broken(root):
        return None
    start, end = len(before), len(before) + len(code)
    node = _innermost(root, start, end)
    if node is None or not node.is_named():
        return None
    kind: str = node.kind()
    # The parser takes the first node of that kind, which must be the one that we mean.
    span = root.find(kind=kind).range()
    return kind if (span.start.index, span.end.index) == (start, end) else None


def _innermost(root: Node, start: int, end: int) -> Node | None:
    """The deepest node that covers exactly this part."""
    found, node = None, root
    while node is not None:
        span = node.range()
        if (span.start.index, span.end.index) == (start, end):
            found = node
        node = next(
            (
                child
                for child in node.children()
                if child.range().start.index <= start and child.range().end.index >= end
            ),
            None,
        )
    return found
