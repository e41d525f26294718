"""All subcommands, from `subcommands.txt`; --help, completions and the docs table derive from them.

Each has its usage, its help and what shells offer: `choices` for its first word, `options`, `values` after
choices, and `completes` if it has no choices. Like `flags.py`, this module imports nothing, to keep
`tau --help` fast.
"""

_FILE = __file__.removesuffix(".py") + ".txt"


class Subcommand:
    """`values` is what shells offer after each of the `choices`, `completes` what they offer without any."""

    __slots__ = ("choices", "completes", "help", "name", "options", "usage", "values")

    def __init__(self, usage: str, help: str, rows: dict[str, str]) -> None:
        self.name = usage.split()[0]
        self.usage = usage
        self.help = help
        self.choices = tuple(rows.get("choices", "").split())
        self.values = dict(pair.split("=", 1) for pair in rows.get("values", "").split())
        self.options = (*rows.get("options", "").split(), "--help")
        self.completes = rows.get("completes", "")


def _read_table() -> list[Subcommand]:
    with open(_FILE, encoding="utf-8") as file:  # noqa: PTH123
        blocks = file.read().strip().split("\n\n")
    found = []
    for block in blocks:
        usage, help, *rows = map(str.strip, block.split("\n"))
        found.append(Subcommand(usage, help, dict(row.split(": ", 1) for row in rows)))
    names = " ".join(command.name for command in found)
    return [*found, Subcommand("help [COMMAND]", "print the help of tau or of a command", {"choices": names})]


SUBCOMMANDS = tuple(_read_table())
