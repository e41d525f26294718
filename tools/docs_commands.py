"""Builds the tables of docs/commands.md from the command table and limits in the code."""

from collections.abc import Callable

from tau.base.sizes import format_bytes
from tau.config.discovery import capabilities, file_cache, registry
from tau.modes.command_table import GROUPS, ROWS, SlashCommand


def commands() -> str:
    """List all commands by group; the last column says which ones work while the agent is busy."""
    lines = ["| command | what it does | any time |", "|---|---|---|"]
    for group in GROUPS:
        lines.append(f"| **{group}** | | |")
        lines += [_line(row) for row in ROWS.values() if row.group == group]
    return "\n".join(lines)


def _line(row: SlashCommand) -> str:
    typed = row.typed.replace("|", "\\|")
    others = "".join(f", also `/{alias}`" for alias in row.aliases)
    return f"| `{typed}` | {row.description}{others} | {'yes' if row.while_busy else 'no'} |"


def command_limits() -> str:
    rows = (
        ("a file", format_bytes(file_cache.MAX_FILE_BYTES)),
        ("files in one place", f"{registry.MAX_ITEMS:,}"),
        ("folders within a folder of commands", f"{registry.MAX_DEPTH:,}"),
        ("a name, in characters", f"{capabilities.NAME_CHARS:,}"),
    )
    return "\n".join(["| limit | |", "|---|---|", *(f"| {what} | {amount} |" for what, amount in rows)])


COMMAND_TABLES: dict[str, Callable[..., str]] = {"commands": commands, "command_limits": command_limits}
