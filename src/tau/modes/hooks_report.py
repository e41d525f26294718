"""What /hooks says: each command hook, what it last did, and how to turn it off."""

from tau.base.errors import UsageError
from tau.coding.session.session import Session
from tau.ext.hooks.report import NONE, status_lines


async def run_command(words: str, session: Session) -> str:
    """List the hooks, or `enable ID` or `disable ID`. Raises TauError."""
    action, _, id = words.strip().partition(" ")
    if session.command_hooks is None:
        return NONE
    rows = await session.command_hooks.rows()
    if not action:
        return "\n".join(status_lines(rows))
    if action not in ("enable", "disable") or not id.strip():
        raise UsageError("Use /hooks, /hooks enable ID or /hooks disable ID.")
    if id.strip() not in {row.id for row in rows}:
        raise UsageError(f'There is no hook "{id.strip()}"; /hooks shows their ids.')
    session.command_hooks.turn(id.strip(), on=action == "enable")
    return f"{id.strip()} runs again." if action == "enable" else f"{id.strip()} is off."
