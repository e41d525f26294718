"""From a command file and what was typed behind its name to the prompt that is sent. Nothing is run."""

import re
from pathlib import Path

# `$$` takes the meaning from what follows it; a price such as $100 is no placeholder.
_PLACES = re.compile(
    r"(?P<escaped>\$)?"
    r"\$(?:(?P<number>[1-9])(?!\d)"
    r"|(?P<all>@)"
    r"|(?P<typed>ARGUMENTS)(?!\w)"
    r"|\{@:(?P<start>\d{1,4})(?::(?P<count>\d{1,4}))?\})"
)


def expand(template: str, typed: str) -> str:
    """The template with what was typed in its places.

    `$1` to `$9` are the arguments, `$@` all of them with a blank between two, `${@:N}` those from the Nth on,
    `${@:N:L}` the L of them that begin there, `$ARGUMENTS` the text as it was typed. An argument that is
    not there is empty. A second `$` before a place leaves that place as it is, without the second one. All
    else stays, and what was typed is never looked at for places. Where a template has no place at all, what
    was typed follows it.
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
    """The words of a text, as a shell would split them, but for what people write in prose.

    Quotes keep blanks together where they begin a word and are closed; any other quote, such as the
    apostrophe of "don't", is a letter. A backslash makes a blank, a quote or a backslash a letter.
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
    """A skill as a message: its text, where its other files are, and what is wanted with it."""
    wish = typed.strip() or "Do what it says."
    return (
        f'Use the skill "{name}". Its files are in {folder}; paths in its text are relative to that.\n\n'
        f'<skill name="{name}">\n{text.strip()}\n</skill>\n\n{wish}'
    )


def _word(text: str, at: int) -> tuple[str, int]:
    """The word that begins here, and where it ends."""
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
    """Where a quote is closed, or -1."""
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
