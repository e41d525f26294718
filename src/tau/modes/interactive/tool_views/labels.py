"""Text of titles and notes: arguments, paths, counts and times in a short, safe form."""

import os
from collections.abc import Mapping
from pathlib import Path

from tau.base.text import reveal_path
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line

MAX_TITLE_CHARS = 400
"""Titles never contain more of a text; the block cuts it to the width."""
_LOOKED_AT = 4
"""A line is made from this many times more characters, since spaces and controls are dropped."""


def text_arg(view: ToolCallView, *names: str) -> str:
    """The first of these arguments that is a text or number; empty for anything else."""
    for value in _values(view, names):
        if isinstance(value, str) and value:
            return value
        if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e15:
            return f"{value:g}"
    return ""


def list_arg(view: ToolCallView, *names: str) -> list[object]:
    """The first of these arguments that is a list; a text becomes a list of one."""
    for value in _values(view, names):
        if isinstance(value, list) and value:
            return value
        if isinstance(value, str) and value:
            return [value]
    return []


def flag_arg(view: ToolCallView, *names: str) -> bool:
    """Whether one of these arguments is true."""
    return any(value is True for value in _values(view, names))


def _values(view: ToolCallView, names: tuple[str, ...]) -> list[object]:
    args: object = view.args
    return [args.get(name) for name in names] if isinstance(args, Mapping) else []


def one_line(text: str, max_chars: int = MAX_TITLE_CHARS) -> str:
    """Untrusted text as one line of bounded length."""
    return clean_line(text[: max_chars * _LOOKED_AT])[:max_chars]


def first_line(text: str) -> str:
    """The first non-empty line."""
    return one_line(text.lstrip()[: MAX_TITLE_CHARS * _LOOKED_AT].partition("\n")[0])


def short_path(path: str, cwd: Path) -> str:
    """A readable path: relative inside the working folder. Does not touch the disk."""
    text = path.strip()
    root = str(cwd)
    if text == root:
        return "."
    prefix = root if root.endswith(os.sep) else root + os.sep
    return one_line(reveal_path(text.removeprefix(prefix) if len(text) > len(prefix) else text))


def short_paths(paths: list[object], cwd: Path, most: int = 3) -> str:
    """Several paths in a row."""
    named = [short_path(path, cwd) for path in paths[:most] if isinstance(path, str)]
    more = len(paths) - most
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")


def in_paths(view: ToolCallView, theme: Theme) -> str:
    """Where a call looks, after its title; empty for the working folder."""
    where = short_paths(list_arg(view, "paths", "path"), view.cwd)
    return "" if where in ("", ".") else f" {theme['muted']('in')} {where}"


def duration(milliseconds: int) -> str:
    """`40 ms`, `0.8 s`, `45 s`, `3 min 20 s`, `2 h 5 min`."""
    if milliseconds < 95:
        return f"{max(milliseconds, 0)} ms"
    if milliseconds < 9_950:
        return f"{milliseconds / 1000:.1f} s"
    seconds = round(milliseconds / 1000)
    if seconds < 120:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    if minutes < 120:
        return f"{minutes} min {seconds} s" if seconds else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def elapsed(milliseconds: int | None) -> str:
    """How long something took, if noticeable."""
    return "" if milliseconds is None or milliseconds < 95 else duration(milliseconds)


def heading(theme: Theme, verb: str, what: str = "", *, token: str = "accent") -> str:
    """The action and its object; an ellipsis while that is unknown."""
    return f"{theme['strong'](verb)} {theme[token](what or theme.symbols.ellipsis)}"


def changes(theme: Theme, added: int, removed: int) -> str:
    """How many lines were added and removed."""
    if theme.linear:
        return f"{added} added, {removed} removed"
    return f"{theme['diffAdded'](f'+{added}')} {theme['diffRemoved'](f'-{removed}')}"


def note(view: ToolCallView, theme: Theme, *facts: str) -> str:
    """The note after a title: facts, and how the call ended if not well."""
    if view.state == "declined":  # it had no effect
        return ""
    known = [fact for fact in facts if fact]
    if theme.linear:  # the block starts with the word
        return ", ".join(known)
    if view.state in ("failed", "aborted"):
        state = theme["error"]("failed") if view.state == "failed" else theme["warning"]("stopped")
        return ", ".join([state, *(theme["muted"](fact) for fact in known)])
    return theme["muted"](", ".join(known))
