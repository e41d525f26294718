"""Repair regular expressions from models: escape braces and parentheses that can only be literal."""

import re

_QUANTIFIER = r"\{\d+(?:,\d*)?\}"
_BRACED_ESCAPE = r"\\[pPxuU]\{[^{}]*\}|\\b\{[a-z-]+\}"


def lenient(pattern: str) -> str:
    """Braces that cannot be a repetition count are literal; parentheses too, if they do not pair up.

    `${name}` is literal too: an end of line followed by a brace could never match.
    """
    parts = list(_tokens(pattern))
    if not _paired(parts):
        parts = [f"\\{part}" if part in ("(", ")") else part for part in parts]
    return "".join(_literal_braces(parts))


def is_multiline(pattern: str) -> bool:
    """Whether it can only match across lines: it has a line break, or the escape for one."""
    return "\n" in pattern or r"\n" in pattern


def across_line_ends(pattern: str) -> str:
    """Make the line breaks of a multi-line pattern match CRLF too."""
    return "".join(r"(?:\r?\n)" if part in ("\n", r"\n") else part for part in _tokens(pattern))


def _tokens(pattern: str) -> list[str]:
    """Split into escapes, character classes, counts and single characters."""
    tokens: list[str] = []
    at = 0
    piece = re.compile(rf"{_BRACED_ESCAPE}|\\.|{_QUANTIFIER}", re.DOTALL)
    while at < len(pattern):
        match = piece.match(pattern, at)
        end = at + 1 if match is None else match.end()
        if pattern[at] == "[":
            end = class_end(pattern, at)
        tokens.append(pattern[at:end])
        at = end
    return tokens


def class_end(pattern: str, start: int) -> int:
    """Find the end of the character class at `start`; the end of the pattern if it is unclosed."""
    at = start + 1
    at += pattern[at : at + 1] == "^"
    at += pattern[at : at + 1] == "]"
    depth = 1
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            depth += 1
        elif pattern[at] == "]":
            depth -= 1
            if not depth:
                return at + 1
        at += 1
    return len(pattern)


def _paired(parts: list[str]) -> bool:
    depth = 0
    for part in parts:
        depth += (part == "(") - (part == ")")
        if depth < 0:
            return False
    return depth == 0


def _literal_braces(parts: list[str]) -> list[str]:
    result: list[str] = []
    for index, part in enumerate(parts):
        counts = len(part) > 1 and part[0] == "{"
        if part == "{" or (counts and (not result or parts[index - 1] in ("(", "|", "^"))):
            if result and result[-1] == "$":
                result[-1] = r"\$"
            part = "\\" + part.replace("}", "\\}")
        elif part == "}":
            part = r"\}"
        result.append(part)
    return result
