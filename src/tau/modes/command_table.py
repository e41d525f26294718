"""The built-in commands; help, completion and the documentation read them from `command_table.json`."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from msgspec import Struct, json

from tau.base.late import late

difflib = late("difflib")
synonyms = late("tau.modes.command_synonyms")

NEAR, VERY_NEAR = 0.6, 0.7
"""How similar a name is that may be meant; `VERY_NEAR` if the text could also be a message."""


class SlashCommand(NamedTuple):
    """`usage` lists the arguments; `module` and `function` locate the implementation."""

    name: str
    usage: str
    description: str
    module: str
    function: str
    aliases: tuple[str, ...]
    while_busy: bool
    group: str

    @property
    def typed(self) -> str:
        """The command line, with its arguments."""
        return f"/{self.name} {self.usage}".rstrip()


class _CommandRow(NamedTuple):
    """`names` are the name and its aliases; `place` is a module and a function."""

    names: str
    usage: str
    description: str
    place: str
    available: Literal["any time", "idle"]


class _CommandTable(Struct, frozen=True):
    groups: dict[str, list[_CommandRow]]
    plain: dict[str, str]


_TABLE = json.decode(Path(__file__).with_name("command_table.json").read_bytes(), type=_CommandTable)


def _rows() -> list[SlashCommand]:
    rows = []
    for group, members in _TABLE.groups.items():
        for row in members:
            name, *aliases = row.names.split()
            module, _, function = row.place.partition(".")
            rows.append(
                SlashCommand(
                    name,
                    row.usage,
                    row.description,
                    module,
                    function,
                    tuple(aliases),
                    row.available == "any time",
                    group,
                )
            )
    return rows


GROUPS = tuple(_TABLE.groups)
ROWS: dict[str, SlashCommand] = {row.name: row for row in _rows()}
ALIASES: dict[str, str] = {alias: row.name for row in ROWS.values() for alias in row.aliases}


def find(name: str) -> SlashCommand | None:
    """Find a command by name or alias."""
    return ROWS.get(ALIASES.get(name, name))


def suggest(name: str, cutoff: float, more: Iterable[str] = ()) -> list[str]:
    """What an unknown name may mean: by meaning, or else by spelling; `more` are names from elsewhere."""
    meant = [command for command in synonyms.meant(name) if command in ROWS]
    if meant:
        return meant[: synonyms.MOST]
    return difflib.get_close_matches(name.lower(), [*ROWS, *ALIASES, *more], 1, cutoff)


def did_you_mean(names: Sequence[str]) -> str:
    """The question after an unknown name; empty without suggestions."""
    return f" Did you mean {' or '.join(f'/{name}' for name in names)}?" if names else ""


PLAIN = _TABLE.plain
"""The commands of `tau --plain`, each with its arguments there."""

_SIGNS = "-_.:"


def split(text: str) -> tuple[str, str]:
    """The command name and the text after it; an empty name if the text is not a command."""
    if not text.startswith("/"):
        return "", ""
    head, _, _ = text.partition("\n")
    words = head[1:].split(None, 1)
    name = words[0] if words and not head[1:2].isspace() else ""
    if not name[:1].isalnum() or not all(letter.isalnum() or letter in _SIGNS for letter in name):
        return "", ""
    return name, text[1 + len(name) :].strip()
