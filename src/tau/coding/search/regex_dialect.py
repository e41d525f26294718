"""Translate ripgrep's regular expressions to Python's; reject what Python cannot express."""

import re

from tau.coding.search.regex_repair import class_end

_NAMED = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_CODE = r"\\(?:x\{([0-9A-Fa-f]+)\}|x([0-9A-Fa-f]{2})|u\{([0-9A-Fa-f]+)\}|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8}))"
_GROUP = r"\((?:\?(?:P?<([A-Za-z_][A-Za-z0-9_]*)>|([imsx]*(?:-[imsx]+)?)([:)])))?"
_REPEAT = r"(?:[*+?]|\{\d+(?:,\d*)?\})\??"
_SAME = frozenset("dDwWsSbBAntrfav")


class NeedsRipgrep(ValueError):
    """Python cannot express this; the message says what."""


def to_python(pattern: str) -> str:
    """Translate for `re` with MULTILINE. Raises NeedsRipgrep, or `re.error` if invalid in both."""
    out: list[str] = []
    at = 0
    repeated = False  # a repeated count means something else in Python
    while at < len(pattern):
        count = re.compile(_REPEAT).match(pattern, at)
        if count is not None:
            if repeated:
                raise NeedsRipgrep("a repeated repetition")
            out.append(count[0])
            at = count.end()
            repeated = True
            continue
        repeated = False
        char = pattern[at]
        if char == "\\":
            text, at = _escape(pattern, at)
        elif char == "[":
            end = class_end(pattern, at)
            text, at = _class(pattern[at:end]), end
        elif char == "(":
            text, at = _group(pattern, at)
        else:
            text, at = char, at + 1
        out.append(text)
    return "".join(out)


def _escape(pattern: str, at: int) -> tuple[str, int]:
    code = re.compile(_CODE).match(pattern, at)
    if code is not None:
        value = int(next(group for group in code.groups() if group), 16)
        if value > 0x10FFFF:
            raise re.error("no such character", pattern, at)
        return re.escape(chr(value)), code.end()
    name = pattern[at + 1 : at + 2]
    if name == "z":
        return r"\Z", at + 2
    if name in ("p", "P"):
        raise NeedsRipgrep(r"the Unicode class \p")
    if name.isdigit():
        raise re.error("backreferences are not supported", pattern, at)
    if (name == "b" and pattern[at + 2 : at + 3] == "{") or name in ("<", ">"):
        raise NeedsRipgrep("a one-sided word boundary")
    if not name or (name.isalpha() and name not in _SAME):
        raise re.error("unrecognized escape sequence", pattern, at)
    return f"\\{name}", at + 2


def _class(text: str) -> str:
    """Translate a character class; Python has neither nested classes nor set operations."""
    if not text.endswith("]") or len(text) < 3:
        raise re.error("unclosed character class", text)
    inner = text[1:-1]
    out = ["["]
    at = 0
    while at < len(inner):
        named = re.compile(r"\[:(\^?)([a-z]+):\]").match(inner, at)
        if named is not None:
            if named[1] or named[2] not in _NAMED:
                raise NeedsRipgrep(f"the class {named[0]}")
            out.append(_NAMED[named[2]])
            at = named.end()
        elif inner[at] == "\\":
            escaped, at = _escape(inner, at)
            if escaped in (r"\b", r"\B", r"\A", r"\Z"):
                raise re.error(f"{escaped} has no meaning in a character class", text)
            out.append(escaped)
        elif inner[at] == "[" or inner[at : at + 2] in ("&&", "--", "~~"):
            raise NeedsRipgrep("nested character classes")
        else:
            out.append(f"\\{inner[at]}" if inner[at] in "|&~" else inner[at])
            at += 1
    return "".join(out) + "]"


def _group(pattern: str, at: int) -> tuple[str, int]:
    found = re.compile(_GROUP).match(pattern, at)
    assert found is not None
    name, flags, end = found.groups()
    if name:
        return f"(?P<{name}>", found.end()
    if end is None:
        if pattern.startswith("(?", at):
            raise re.error("look-around and other extensions are not supported", pattern, at)
        return "(", found.end()
    if end == ")" and (at or "-" in flags):
        raise NeedsRipgrep("flags in the middle of a pattern")
    return found[0], found.end()
