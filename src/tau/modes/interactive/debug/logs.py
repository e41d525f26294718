"""The log viewer: the last records, and older ones on demand."""

import os
from collections.abc import Callable
from pathlib import Path

from tau.base.sizes import MIB
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.pager import Pager, PagerAction, TextPager, show_pager

FIRST_RECORDS = 50
MORE_RECORDS = 50
MAX_RECORDS = 5_000
MAX_BYTES = 2 * MIB
FILES = ("tau.log.1", "tau.log")


def records(folder: Path) -> list[str]:
    """The last records, oldest first; each may span lines."""
    data = b""
    for name in reversed(FILES):
        left = MAX_BYTES - len(data)
        if left > 0:
            data = _tail(folder / name, left) + data
    entries: list[str] = []
    for line in data.decode("utf-8", "replace").splitlines():
        if entries and line.startswith("    "):  # indented lines continue a record
            entries[-1] += f"\n{line}"
        else:
            entries.append(line)
    return entries[-MAX_RECORDS:]


def _tail(path: Path, limit: int) -> bytes:
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(size - limit, 0))
            data = file.read(limit)
    except OSError:
        return b""
    return data if size <= limit else data.partition(b"\n")[2]


async def show_logs(context: CommandContext) -> None:
    """Show the log until closed."""
    shown = FIRST_RECORDS
    pid_only = False

    def read() -> str:
        entries = records(context.paths.logs)
        if pid_only:
            entries = [record for record in entries if _is_own(record)]
        return "\n".join(entries[-shown:])

    def make(close: Callable[[], None]) -> Pager:
        def older() -> None:
            nonlocal shown
            total = len(records(context.paths.logs))
            if shown >= total:
                pager.refresh("No older records.")
                return
            shown = min(shown + MORE_RECORDS, MAX_RECORDS)
            pager.refresh(f"Last {min(shown, total)} of {total} records.")

        def ours() -> None:
            nonlocal pid_only
            pid_only = not pid_only
            pager.refresh("This process only." if pid_only else "All tau processes.")

        pager = TextPager(
            context,
            f"Log: {context.paths.logs / FILES[-1]}",
            read,
            does=(
                PagerAction("o", "older", older),
                PagerAction("p", "this process only", ours),
                PagerAction("r", "reload", lambda: pager.refresh("Reloaded.")),
            ),
            empty="The log is empty. Set TAU_DEBUG=1 to log more.",
            on_close=close,
        )
        return pager

    await show_pager(context, make)


def _is_own(record: str) -> bool:
    """A record starts with its time and process id."""
    return record.split(" ", 2)[1:2] == [str(os.getpid())]
