"""Tells for each line of a patch what it is, without looking at its neighbours."""

import re
from collections.abc import Iterator
from typing import Literal, cast

from msgspec import Struct

from tau.hashline.format import BYTE_ORDER_MARK, FILE_MARK, ROW_MARK, Header, parse_header
from tau.hashline.hunks import HunkKind

TokenKind = Literal[
    "header",  # ¶PATH#TAG
    "operation",  # replace, delete, insert
    "unclear",  # begins like an operation and is none
    "row",  # +TEXT
    "minus",  # -TEXT
    "blank",
    "text",  # anything else
    "envelope",  # *** Begin Patch, *** End Patch
    "abort",  # *** Abort
    "foreign",  # *** Update File: and the like
    "unified",  # @@ -1,2 +1,3 @@
    "brackets",  # @@ ... @@
    "number",  # 12
    "range",  # 12..14
]


class Operation(Struct, frozen=True):
    kind: HunkKind
    first: int
    last: int
    colon: bool


class Token(Struct, frozen=True):
    """`text` is the line without its end, a row without its `+`."""

    kind: TokenKind
    line: int
    text: str
    header: Header | None = None
    operation: Operation | None = None


# No operation is longer: this keeps the patterns away from lines that could make them slow.
_LONGEST_OPERATION = 120
_NUMBER = "([0-9]{1,9})"
_RANGE = rf"{_NUMBER}(?:\s*(?:\.\.\.?|…|-|–)\s*{_NUMBER}|\s+{_NUMBER})?"
_OPERATIONS = re.compile(
    rf"(?:(?P<range>replace|delete)\s+{_RANGE}"
    rf"|(?P<block>(?:replace|delete|insert\s+after)\s+block)\s+{_NUMBER}"
    rf"|(?P<beside>insert\s+(?:before|after))\s+{_NUMBER}"
    rf"|(?P<edge>insert\s+(?:head|tail)))\s*(?P<colon>:?)"
)
_UNCLEAR = re.compile(
    r"(?:replace|delete|insert)(?:\s+(?:block|before|after|head|tail|lines?|at|from)\b|\s*[0-9:])"
)
_BARE_RANGE = re.compile(rf"{_RANGE}\s*:?")
_UNIFIED = re.compile(r"@@+ -[0-9]+(?:,[0-9]+)? \+[0-9]+(?:,[0-9]+)? @@")
_FOREIGN = re.compile(r"\*{3}\s*(?:(?:Update|Add|Delete)\s+File\b|Move\s+to\b|End\s+of\s+File\b)", re.I)
_ENVELOPE = re.compile(r"\*{3}\s*(?:Begin|End)\s+Patch\s*", re.I)
_ABORT = re.compile(r"\*{3}\s*Abort\b", re.I)


def tokenize(text: str) -> Iterator[Token]:
    """The lines of a patch, numbered from 1; LF and CRLF both end a line."""
    lines = text.removeprefix(BYTE_ORDER_MARK).split("\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        yield _token(number, line.rstrip("\r"))


def _token(number: int, line: str) -> Token:
    if line.startswith(ROW_MARK):
        return Token("row", number, line[1:])
    if line.startswith("-"):
        return Token("minus", number, line)
    if not line or line.isspace():
        return Token("blank", number, line)
    start = line[0]
    if start == FILE_MARK or start == "[":
        header = parse_header(line)
        return Token("text" if header is None else "header", number, line, header)
    if start == "*":
        return _starred(number, line)
    if len(line) > _LONGEST_OPERATION and start != "@":
        return Token("text", number, line)
    if start == "@":
        return _bracketed(number, line)
    if start in "rdi":
        return _worded(number, line)
    if "0" <= start <= "9":
        found = _BARE_RANGE.fullmatch(line.rstrip())
        if found is not None:
            second = found[2] or found[3]
            return Token("range" if second else "number", number, line)
    return Token("text", number, line)


def _starred(number: int, line: str) -> Token:
    short = line[:_LONGEST_OPERATION]
    if _FOREIGN.match(short):
        _, mark, rest = line.partition(FILE_MARK)
        header = parse_header(FILE_MARK + rest) if mark else None
        if header is not None and header.tag is not None:
            return Token("header", number, line, header)
        return Token("foreign", number, line)
    if _ENVELOPE.fullmatch(short):
        return Token("envelope", number, line)
    return Token("abort" if _ABORT.match(short) else "text", number, line)


def _bracketed(number: int, line: str) -> Token:
    if _UNIFIED.match(line[:_LONGEST_OPERATION]):
        return Token("unified", number, line)
    body = line.rstrip()
    brackets = body.startswith("@@") and (len(body) == 2 or body[2].isspace() or body.endswith("@@"))
    return Token("brackets" if brackets else "text", number, line)


def _worded(number: int, line: str) -> Token:
    body = line.rstrip()
    found = _OPERATIONS.fullmatch(body)
    if found is None:
        return Token("unclear" if _UNCLEAR.match(body) else "text", number, line)
    numbers = [int(group) for group in found.groups() if group is not None and group.isdigit()]
    first = numbers[0] if numbers else 0
    words = found["range"] or found["block"] or found["beside"] or found["edge"]
    kind = cast(HunkKind, " ".join(words.split()))
    operation = Operation(kind, first, numbers[-1] if numbers else 0, bool(found["colon"]))
    return Token("operation", number, line, None, operation)
