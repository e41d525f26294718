"""Asks whether a repository is trusted, and shows what it could run."""

import asyncio
from pathlib import Path

from tau.agent.ui import Ui
from tau.base.errors import UsageError
from tau.base.files import mode_of
from tau.base.late import late
from tau.base.text import reveal, reveal_line
from tau.config import trust_locations
from tau.config.paths import Paths, project_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.config.trust import TrustStatus

layers = late("tau.config.layers")
project_rules = late("tau.config.project_rules")
trust = late("tau.config.trust")

MAX_ITEMS = 30
MAX_DIFF_LINES = 40
YES = "Trust it"
NO = "Do not trust it"
LATER = "Decide later"
KEEP = "Keep what it said before"
ACCEPT = "Accept the change"
NEXT_SESSION = "It takes effect in the next session (/new)."


async def ask_trust(ui: Ui, cwd: Path, paths: Paths) -> None:
    """Ask about a repository that could run something, and about one whose settings have become looser,
    if there is no decision yet; remember the answer.
    """
    await _ask_dropped(ui, cwd, paths)
    if not trust_locations.has_any(list(project_folders(cwd))):
        return
    status = await asyncio.to_thread(trust.trust_status, cwd, paths)
    if status.is_open:
        await _ask(ui, cwd, paths, status)


async def run_command(words: str, ui: Ui, cwd: Path, paths: Paths) -> str:
    """`/trust`: show what could run and ask; return what to tell the user. Raises TauError."""
    store = trust.TrustStore(paths)
    if not words:
        await _ask_dropped(ui, cwd, paths, again=True)
    if words == "remove":
        count = await asyncio.to_thread(store.remove, cwd)
        return f"No longer trusted. {NEXT_SESSION}" if count else "This repository was not trusted."
    if words:
        raise UsageError("Usage: /trust or /trust remove.")
    status = await asyncio.to_thread(store.status, cwd)
    if status.trusted or status.problems:
        return "\n".join(report(status))
    answer = await _ask(ui, cwd, paths, status)
    return f"Trusted. {NEXT_SESSION}" if answer == YES else "Not trusted: nothing in this repository runs."


async def _ask(ui: Ui, cwd: Path, paths: Paths, status: "TrustStatus") -> str | None:
    """Enter takes the first answer, so that is the cautious one."""
    answer = await ui.select(question(status), (NO, YES, LATER))
    store = trust.TrustStore(paths)
    if answer == YES:
        await asyncio.to_thread(store.trust, cwd, status)
    elif answer == NO:
        await asyncio.to_thread(store.refuse, status)
    return answer


async def _ask_dropped(ui: Ui, cwd: Path, paths: Paths, *, again: bool = False) -> None:
    """Ask whether a project may be looser than it was; `again` also if the user has decided."""
    if not mode_of(paths.project_rules):
        return
    loaded = await asyncio.to_thread(layers.load_settings, paths, cwd)
    notices = list(project_rules.dropped_notices(loaded.dropped, cwd, paths))
    if notices and (again or notices[0] in loaded.warnings):
        answer = await ui.select("\n".join(notices), (KEEP, ACCEPT, LATER))
        if answer in (KEEP, ACCEPT):
            project_rules.settle_rules(cwd, paths, loaded, accept=answer == ACCEPT)


def question(status: "TrustStatus") -> str:
    root = reveal_line(str(status.root))
    if not status.items:
        marked = "If you trust it, its instructions are no longer marked as untrusted."
        return f"Trust {root}?\nNothing in it could run. {marked}"
    could, none = trust.effects(status.items, " on this machine")
    verb = "has changed and could" if status.known else "could"
    rows = [f"Trust this repository? {root} {verb} {could}:", *_rows(status)]
    return "\n".join([*rows, f"Until you trust it, none of this {none}."])


def report(status: "TrustStatus", *, full: bool = False) -> list[str]:
    """The status as lines, for `/trust`; `full` with the text of settings and prompts, for `tau trust`."""
    root = reveal_line(str(status.root))
    if status.problems:
        return [f"{root} cannot be trusted as it is.", *status.problems]
    if not status.items:
        state = "is trusted" if status.trusted else "is not trusted"
        return [f"{root} {state}; nothing in it could run."]
    could, none = trust.effects(status.items)
    if status.trusted:
        return [f"{root} is trusted. It may {could}:", *_item_rows(status, full=full)]
    state = "has changed since you trusted it" if status.known else "is not trusted"
    rows = _rows(status, full=full)
    return [f"{root} {state}. It could {could}:", *rows, f"None of this {none} until you trust it."]


def _rows(status: "TrustStatus", *, full: bool = False) -> list[str]:
    return _change_rows(status, full=full) if status.changes else _item_rows(status, full=full)


def _item_rows(status: "TrustStatus", *, full: bool = False) -> list[str]:
    rows: list[str] = []
    for item in status.items if full else status.items[:MAX_ITEMS]:
        gist = f"  {item.shown}" if item.shown and not full else ""
        rows.append(f"  {item.kind}  {reveal_line(item.path)}{gist}")
        if full and item.shown:
            rows += [f"    {reveal(line)}" for line in item.text.splitlines()]
    more = len(status.items) - MAX_ITEMS
    return [*rows, f"  and {more} more: tau trust show"] if more > 0 and not full else rows


def _change_rows(status: "TrustStatus", *, full: bool) -> list[str]:
    rows: list[str] = []
    for change in status.changes:
        rows.append(f"  {change.change}  {change.kind}  {reveal_line(change.path)}")
        rows += [f"    {reveal(line)}" for line in change.diff]
    more = 0 if full else len(rows) - MAX_DIFF_LINES
    return [*rows[:MAX_DIFF_LINES], f"  and {more} more lines: tau trust show"] if more > 0 else rows
