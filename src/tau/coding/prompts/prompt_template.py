"""Fills a command file's template with the typed arguments. Runs nothing."""

import re
from pathlib import Path

from tau.config.command_files import PROJECT_PREFIX, SKILL_PREFIX, CommandFile

# `$$` escapes a placeholder; a price such as $100 is not one.
_PLACEHOLDER = re.compile(
    r"(?P<escaped>\$)?"
    r"\$(?:(?P<number>[1-9])(?!\d)"
    r"|(?P<all>@)"
    r"|(?P<typed>ARGUMENTS)(?!\w)"
    r"|\{(?P<named>[1-9]):-(?P<default>[^{}]*)\}"
    r"|\{@:(?P<start>\d{1,4})(?::(?P<count>\d{1,4}))?\})"
)


_ESCAPE = r"\\([\s\"'\\])"
# A word may start with a quoted part.
_WORD = rf'(?:"(?P<double>(?:\\.|[^"\\])*)"|\'(?P<single>[^\']*)\')?(?P<rest>(?:{_ESCAPE}|\S)*)'


def expand(template: str, typed: str) -> str:
    """Fill the template with the typed arguments.

    `$1` to `$9` are the arguments, `$@` all of them joined by blanks, `${@:N}` those from the Nth on,
    `${@:N:L}` L of them, `$ARGUMENTS` the text as typed. Missing arguments are empty, or the text in
    `${N:-text}`. A second `$` escapes a placeholder. Typed text is never scanned for placeholders. If
    the template has none, the typed text is appended.
    """
    arguments = split_arguments(typed)
    has_placeholder = False

    def fill(match: re.Match[str]) -> str:
        nonlocal has_placeholder
        if match["escaped"]:
            return match.group()[1:]
        has_placeholder = True
        if match["number"]:
            return "".join(arguments[int(match["number"]) - 1 : int(match["number"])])
        if match["named"]:
            return "".join(arguments[int(match["named"]) - 1 : int(match["named"])]) or match["default"]
        if match["typed"]:
            return typed.strip()
        if match["all"]:
            return " ".join(arguments)
        first = max(int(match["start"]) - 1, 0)
        last = len(arguments) if match["count"] is None else first + int(match["count"])
        return " ".join(arguments[first:last])

    text = _PLACEHOLDER.sub(fill, template)
    return text if has_placeholder or not typed.strip() else f"{text.rstrip()}\n\n{typed.strip()}"


def split_arguments(typed: str) -> list[str]:
    """Split a text into words like a shell, but tolerate prose.

    Quotes group words only if they start a word and are closed; any other quote, such as the apostrophe of
    "don't", is a letter. A backslash escapes a blank, a quote or a backslash.
    """
    return [
        re.sub(_ESCAPE, r"\1", match["double"] or "")
        + (match["single"] or "")
        + re.sub(_ESCAPE, r"\1", match["rest"])
        for match in re.finditer(_WORD, typed, re.DOTALL)
        if match[0]
    ]


def command_prompt(file: CommandFile, typed: str) -> str:
    """The prompt that a command expands to. Raises ConfigError."""
    text = file.read()
    if not file.is_skill:
        return expand(text, typed)
    name = file.name.removeprefix(PROJECT_PREFIX).removeprefix(SKILL_PREFIX)
    return skill_prompt(name, file.path.parent, text, typed)


def skill_prompt(name: str, folder: Path, text: str, typed: str) -> str:
    """A skill as a message: its text, its folder, and the task."""
    task = typed.strip() or "Do what it says."
    return (
        f'Use the skill "{name}". Its files are in {folder}; paths in its text are relative to that.\n\n'
        f'<skill name="{name}">\n{text.strip()}\n</skill>\n\n{task}'
    )
