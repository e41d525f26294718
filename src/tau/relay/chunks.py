"""Splits long answers into messages, at line ends or spaces, never inside a character."""

import regex

FENCE = "```"
MIN_ROOM = 40


def split_text(text: str, limit: int) -> list[str]:
    """Parts of at most `limit` UTF-16 units; a code fence that is cut is closed and opened again."""
    parts: list[str] = []
    rest = text.strip("\n") if len(text.strip()) else ""
    opened = ""
    while rest:
        head = f"{opened}\n" if opened else ""
        if utf16_length(head + rest) <= limit:
            parts.append(head + rest)
            break
        room = max(MIN_ROOM // 2, limit - utf16_length(head) - len(FENCE) - 1)
        cut, skip = _cut(rest, room)
        part = head + rest[:cut].rstrip()
        opened = _open_fence(part)
        if opened:
            part += f"\n{FENCE}"
        parts.append(part)
        rest = rest[skip:] if opened else rest[skip:].lstrip()
    return parts


def utf16_length(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)


def _cut(text: str, room: int) -> tuple[int, int]:
    """Where the part ends and where the next begins."""
    end = units = 0
    for match in regex.finditer(r"\X", text[: room + 1]):
        units += utf16_length(match[0])
        if units > room:
            break
        end = match.end()
    end = end or min(room, len(text))  # a single character that is longer than the room
    window = text[: end + 1]
    newline = window.rfind("\n")
    if newline > 0:
        return newline, newline + 1
    space = max((window.rfind(mark) for mark in (" ", "\t")), default=-1)
    return (space, space + 1) if space > 0 else (end, end)


def _open_fence(part: str) -> str:
    """The opening line of a code fence that the part does not close."""
    opened = ""
    for line in part.split("\n"):
        if line.lstrip().startswith(FENCE):
            opened = "" if opened else line.strip()[:MIN_ROOM]
    return opened
