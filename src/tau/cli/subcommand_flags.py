"""Parses the words of a subcommand, with the flags that `subcommands.txt` declares for it."""

from collections.abc import Sequence

from tau.base.errors import UsageError
from tau.cli.flags import FLAGS, LIST, OPTIONAL, SWITCH, VALUE, Flag, subcommands
from tau.cli.parse import ParsedArgs, parse


def parse_subcommand(name: str, words: Sequence[str], *, common: bool = False) -> ParsedArgs:
    """Accepts its own flags, and with `common` also those of tau. Raises UsageError."""
    command = next(one for one in subcommands() if one.name == name)
    own = tuple(map(_flag, command.flags))
    parsed = parse(list(words), (*own, *FLAGS) if common else own, name)
    if parsed.problem:
        raise UsageError(parsed.problem)
    return parsed


def _flag(text: str) -> Flag:
    names, _, value = text.partition("=")
    short, _, name = names.rpartition("|")
    if not name.startswith("--"):
        short = name
    kind = SWITCH if not value else LIST if value.endswith("...") else OPTIONAL if value[0] == "[" else VALUE
    metavar = value.strip("[.]") if kind in (LIST, OPTIONAL) else value
    choices = metavar.replace("|", " ") if metavar.islower() else ""
    return Flag(name.strip("-"), "", "", kind, metavar, short=short.strip("-"), choices=choices)
