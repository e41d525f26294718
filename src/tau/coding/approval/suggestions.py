"""Suggests narrow patterns for an approval request: what the user would likely allow again."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from tau.base.files import typed_path
from tau.coding.approval.allow_rules import can_be_remembered
from tau.coding.approval.harmless_options import ArgumentCheck
from tau.coding.approval.shell_syntax import plain_commands
from tau.coding.approval.shell_words import ShellWord, known_value

MAX_SUGGESTED = 3

# What their arguments name runs code of the project: suggest exactly this.
_EXACT = frozenset(("make",))


def suggest_run(command: str, env: Sequence[tuple[str, str]] = ()) -> tuple[str, ...]:
    """Patterns that together allow this command; none if it is more than a few simple commands."""
    commands = plain_commands(command)
    if commands is None or not can_be_remembered(env):
        return ()
    if len(commands) > 1 and commands[0][0].text == "cd":
        commands = commands[1:]
    patterns = tuple(dict.fromkeys(_suggest_pattern(words) for words in commands))
    return patterns if all(patterns) and len(patterns) <= MAX_SUGGESTED else ()


def suggest_write(target: Path) -> tuple[str, ...]:
    """The files of the same folder; in the home folder, which has the files that run at login, this one."""
    home = str(typed_path("~"))
    is_alone = str(target.parent) == home
    path = str(target if is_alone else target.parent)
    if "*" in path or not path.isprintable() or path == "/":
        return ()
    path = f"~{path[len(home) :]}" if path.startswith(f"{home}/") else path
    return (f"write: {path}",) if is_alone else (f"write: {path}/*",)


def suggest_connection(host: str) -> tuple[str, ...]:
    return () if "*" in host or not host.isprintable() else (f"connect: {host}",)


def _suggest_pattern(words: tuple[ShellWord, ...]) -> str:
    """The pattern for one command; empty if it cannot have one."""
    values = [known_value(word) for word in words]
    program = words[0].text
    fixed = _fixed_words(words) if program not in _EXACT else None
    if fixed is not None:
        named = shlex.join(fixed)
        return f"run: {named} *" if len(words) > 1 else f"run: {named}"
    # Exactly this command.
    if None in values:
        return ""
    text = shlex.join(value for value in values if value is not None)
    return f"run: {text}" if text.isprintable() else ""


def _fixed_words(words: tuple[ShellWord, ...]) -> list[str] | None:
    """The program and its subcommand, if all further arguments are harmless."""
    check = ArgumentCheck(words[0].text)
    fixed = [words[0].text]
    for word in words[1:]:
        value = known_value(word)
        if not check.accepts(value or word.text, fixed=False, is_glob=value is None):
            return None
        if value is not None and check.is_at_subcommand:
            fixed.append(value)
    return fixed if check.is_open and not check.needs_subcommand else None
