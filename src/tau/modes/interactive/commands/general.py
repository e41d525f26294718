"""Commands about tau itself: help, changelog, API keys, debugging, exit."""

from pathlib import Path

from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.modes import command_table as table
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.commands.shared_text import bullet, columns
from tau.modes.session_report import count

debug_menu = late("tau.modes.interactive.debug.menu")

# Installed packages include it; a checkout has it beside the source.
HERE = Path(__file__)
CHANGELOGS = (HERE.parents[3] / "CHANGELOG.md", HERE.parents[5] / "CHANGELOG.md")
NAME_COLUMNS = 21
_KEYS = (
    ("tui.input.submit", "send; a working agent sees it after the current step"),
    ("app.message.followUp", "send after the agent finishes"),
    ("app.message.dequeue", "edit queued messages"),
    ("app.interrupt", "stop the agent"),
    ("tui.input.newLine", "insert a new line"),
    ("app.tools.expand", "open the transcript"),
    ("app.help.hotkeys", "show keyboard shortcuts"),
)


async def help(context: CommandContext, rest: str) -> None:
    """List all commands by group with the most important keys; or describe one."""
    if rest:
        _help_for(context, rest.removeprefix("/"))
        return
    lines: list[str] = []
    for group in table.GROUPS:
        rows = [(row.typed, _described(row)) for row in table.ROWS.values() if row.group == group]
        lines += [group, *columns(context.display, _short(rows), indent=2, least=NAME_COLUMNS), ""]
    own = context.names.files.all(fresh=True)
    if own:
        rows = [(f"/{file.name} {file.hint}".rstrip(), f"{file.origin}: {file.description}") for file in own]
        lines += [
            "Your commands and this project's",
            *columns(context.display, _short(rows), indent=2, least=NAME_COLUMNS),
            "",
        ]
    signs = [
        ("!COMMAND", "run in the shell; !! stays out of the model's context"),
        ("$CODE", "run in Python; $$ stays out of the model's context"),
        ("@FILE", "mention a file"),
    ]
    keys = [
        (context.display.keys.label(action), text)
        for action, text in _KEYS
        if context.display.keys.label(action)
    ]
    lines += ["Prefixes and keys", *columns(context.display, [*signs, *keys], indent=2, least=NAME_COLUMNS)]
    context.say("\n".join(lines))
    for warning in context.names.files.warnings:
        context.say(warning, "warning")


def _short(rows: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Shorten long argument lists to leave room for the description."""
    return [
        (typed if len(typed) <= NAME_COLUMNS else f"{typed.split()[0]} ...", text) for typed, text in rows
    ]


def _described(row: table.SlashCommand) -> str:
    others = "".join(f"; also /{alias}" for alias in row.aliases)
    return f"{row.description}{others}"


def _help_for(context: CommandContext, name: str) -> None:
    row = table.find(name)
    if row is not None:
        when = "" if row.while_busy else " Not available while the agent is working."
        context.say(f"{row.typed}\n{_described(row)}.{when}")
        return
    file = context.names.files.get(name)
    if file is None:
        raise UsageError(f"Unknown command /{name}.{table.did_you_mean(context.names.suggest(name))}")
    context.say(f"/{file.name} {file.hint}".rstrip() + f"\n{file.description}\nFrom {file.path}.")


async def changelog(context: CommandContext, rest: str) -> None:
    """Show the latest version, or all of them."""
    if rest not in ("", "full"):
        raise UsageError("Usage: /changelog or /changelog full.")
    path = next((place for place in CHANGELOGS if place.is_file()), None)
    if path is None:
        raise TauError("This installation of tau has no changelog.")
    parts = path.read_text(encoding="utf-8").split("\n## ")[1:]
    shown = parts if rest else parts[:1]
    more = len(parts) - len(shown)
    note = f"\n\n{count(more, 'earlier version').capitalize()}: /changelog full." if more else ""
    context.say("\n\n".join(_plain(context, part) for part in shown) + note)


def _plain(context: CommandContext, part: str) -> str:
    """A changelog section as lines without Markdown markup, some of which spans lines."""
    head, _, body = part.strip().partition("\n")
    lines = [head.replace("[", "").replace("]", "")]
    things: list[str] = []
    for line in [*body.replace("`", "").splitlines(), "### "]:
        if things and (line[:2] in ("- ", "##") or not line.strip()):
            lines += bullet(context.display, " ".join(things))
            things = []
        if line.startswith("- ") or things:
            things.append(line.removeprefix("- ").strip())
        elif line.strip(" #"):
            lines += ["", line.strip(" #")]
    return "\n".join(lines)


async def debug(context: CommandContext, rest: str) -> None:
    await debug_menu.open_menu(context)


async def exit(context: CommandContext, rest: str) -> None:
    context.actions.quit()
