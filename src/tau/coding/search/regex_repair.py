"""Makes a model's regular expression usable: braces and parentheses that can only be meant literally are."""

import re

_QUANTIFIER = r"\{\d+(?:,\d*)?\}"
_BRACED_ESCAPE = r"\\[pPxuU]\{[^{}]*\}|\\b\{[a-z-]+\}"


def lenient(pattern: str) -> str:
    """Braces that cannot be a repetition count are literal; parentheses too, if they do not pair up.

    `${name}` is text too: a line's end with a brace behind it could never match.
    """
    parts = list(_tokens(pattern))
    if not _paired(parts):
        parts = [f"\\{part}" if part in ("(", ")") else part for part in parts]
    return "".join(_literal_braces(parts))


def is_multiline(pattern: str) -> bool:
    """Whether it can only match across lines: it has a line break, or the escape for one."""
    return "\n" in pattern or r"\n" in pattern


def across_line_ends(pattern: str) -> str:
    """A multi-line pattern whose line breaks match those of Windows too."""
    return "".join(r"(?:\r?\n)" if part in ("\n", r"\n") else part for part in _tokens(pattern))


def _tokens(pattern: str) -> list[str]:
    """Escapes, character classes and counts in one piece, everything else character by character."""
    tokens: list[str] = []
    at = 0
    piece = re.compile(rf"{_BRACED_ESCAPE}|\\.|{_QUANTIFIER}", re.DOTALL)
    while at < len(pattern):
        found = piece.match(pattern, at)
        end = at + 1 if found is None else found.end()
        if pattern[at] == "[":
            end = class_end(pattern, at)
        tokens.append(pattern[at:end])
        at = end
    return tokens


def class_end(pattern: str, start: int) -> int:
    """Where the character class that opens at `start` is over; the pattern's end if it never is."""
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
