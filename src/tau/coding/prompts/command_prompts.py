"""Fills a command file's template with the typed arguments. Runs nothing."""

import re
from pathlib import Path

# `$$` escapes a placeholder; a price such as $100 is not one.
_PLACES = re.compile(
    r"(?P<escaped>\$)?"
    r"\$(?:(?P<number>[1-9])(?!\d)"
    r"|(?P<all>@)"
    r"|(?P<typed>ARGUMENTS)(?!\w)"
    r"|\{@:(?P<start>\d{1,4})(?::(?P<count>\d{1,4}))?\})"
)


def expand(template: str, typed: str) -> str:
    """Fill the template with the typed arguments.

    `$1` to `$9` are the arguments, `$@` all of them joined by blanks, `${@:N}` those from the Nth on,
    `${@:N:L}` L arguments from the Nth on, `$ARGUMENTS` the text as typed. Missing arguments are empty. A
    second `$` escapes a placeholder. Typed text is never scanned for placeholders. If the template has none,
    the typed text is appended.
    """
    arguments = split_arguments(typed)
    has_place = False

    def fill(found: re.Match[str]) -> str:
        nonlocal has_place
        if found["escaped"]:
            return found.group()[1:]
        has_place = True
        if found["number"]:
            place = int(found["number"]) - 1
            return arguments[place] if place < len(arguments) else ""
        if found["typed"]:
            return typed.strip()
        if found["all"]:
            return " ".join(arguments)
        first = max(int(found["start"]) - 1, 0)
        last = len(arguments) if found["count"] is None else first + int(found["count"])
        return " ".join(arguments[first:last])

    text = _PLACES.sub(fill, template)
    return text if has_place or not typed.strip() else f"{text.rstrip()}\n\n{typed.strip()}"


def split_arguments(typed: str) -> list[str]:
    """Split a text into words like a shell, but tolerate prose.

    Quotes group words only if they start a word and are closed; any other quote, such as the apostrophe of
    "don't", is a letter. A backslash escapes a blank, a quote or a backslash.
    """
    words: list[str] = []
    at = 0
    while at < len(typed):
        if typed[at].isspace():
            at += 1
            continue
        word, at = _word(typed, at)
        words.append(word)
    return words


def skill_prompt(name: str, folder: Path, text: str, typed: str) -> str:
    """A skill as a message: its text, its folder, and the task."""
    wish = typed.strip() or "Do what it says."
    return (
        f'Use the skill "{name}". Its files are in {folder}; paths in its text are relative to that.\n\n'
        f'<skill name="{name}">\n{text.strip()}\n</skill>\n\n{wish}'
    )


def _word(text: str, at: int) -> tuple[str, int]:
    """The word that starts here, and its end."""
    letters: list[str] = []
    quote = text[at] if text[at] in "\"'" and _closing(text, at) >= 0 else ""
    if quote:
        at += 1
    while at < len(text):
        letter = text[at]
        if letter == "\\" and quote != "'" and at + 1 < len(text) and _is_escaped(text[at + 1]):
            letters.append(text[at + 1])
            at += 2
            continue
        at += 1
        if quote and letter == quote:
            quote = ""
        elif not quote and letter.isspace():
            break
        else:
            letters.append(letter)
    return "".join(letters), at


def _closing(text: str, at: int) -> int:
    """The index of the closing quote, or -1."""
    quote = text[at]
    at += 1
    while at < len(text):
        if text[at] == "\\" and quote != "'":
            at += 1
        elif text[at] == quote:
            return at
        at += 1
    return -1


def _is_escaped(letter: str) -> bool:
    return letter in "\"'\\" or letter.isspace()
