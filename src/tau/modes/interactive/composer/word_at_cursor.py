"""Finds the word before the cursor: a file mention or a path."""

from typing import NamedTuple

MAX_CHARS = 500
"""Longer words are not typed paths."""
_OPENERS = "([{<'\"`,;"
_SHELL_BREAKS = " \t=<>|;&("
_SHELL_SPECIAL = " \t\"'\\$`!&|;<>()[]{}*?#~"


class CursorWord(NamedTuple):
    """`start` counts from the start of the line; `text` has quotes and backslashes resolved."""

    start: int
    text: str
    quote: str = ""
    """The open quote, if any."""


def mention(line: str) -> CursorWord | None:
    """The `@` word before the cursor, at the end of `line`: `@src/ma`, `@"my fi`."""
    quoted = line.rfind('@"')
    if quoted >= 0 and line.find('"', quoted + 2) < 0 and _may_begin(line, quoted):
        return CursorWord(quoted, line[quoted + 2 :], '"') if len(line) - quoted <= MAX_CHARS else None
    at = line.rfind("@")
    if at < 0 or len(line) - at > MAX_CHARS or not _may_begin(line, at):
        return None
    text = line[at + 1 :]
    return None if any(letter.isspace() or letter == "\ufffc" for letter in text) else CursorWord(at, text)


def _may_begin(line: str, at: int) -> bool:
    """Whether an `@` here starts a word, and is not part of an address."""
    before = line[at - 1 : at]
    return not before or before.isspace() or before in _OPENERS or before == "\ufffc"


def mentioned(path: str, *, behind: str = "") -> str:
    """How to write a mention; `behind` is the text after the cursor."""
    is_folder = path.endswith("/")
    end = "" if is_folder or behind[:1].isspace() else " "
    if not any(letter.isspace() for letter in path):
        return f"@{path}{end}"
    return f'@"{path}' if is_folder else f'@"{path}"{end}'


def last_word(line: str, *, shell: bool) -> CursorWord:
    """The last word with quotes and backslashes resolved; empty after a space."""
    start, quote, escaped = 0, "", False
    letters: list[str] = []
    breaks = _SHELL_BREAKS if shell else " \t\ufffc"
    for place, letter in enumerate(line):
        if escaped:
            letters.append(letter)
            escaped = False
        elif letter == "\\" and quote != "'":
            escaped = True
        elif quote:
            if letter == quote:
                quote = ""
            else:
                letters.append(letter)
        elif letter in breaks:
            start, letters = place + 1, []
        elif letter in "\"'" and (shell or not letters):
            quote = letter
        else:
            letters.append(letter)
    return CursorWord(start, "".join(letters), quote)


def written(path: str, quote: str, *, shell: bool) -> str:
    """A path as written in the text, quoted if needed."""
    is_folder = path.endswith("/")
    if shell and not quote:
        head = "~/" if path.startswith("~/") else ""
        return head + "".join(f"\\{c}" if c in _SHELL_SPECIAL else c for c in path[len(head) :])
    if not quote and any(letter.isspace() for letter in path):
        quote = '"'
    return f"{quote}{path}{'' if is_folder else quote}"
