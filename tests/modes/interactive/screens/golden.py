"""Captures at 80 columns: `python -m tests.modes.interactive.screens.golden [NAME ...]` rewrites them."""

import asyncio
import re
import sys
from pathlib import Path

from tests.modes.interactive.screens.screen_rig import ROWS, Screen, Stage, masked, staged
from tests.modes.interactive.screens.table import SCREENS
from tests.support.terminal.virtual import VirtualTerminal

FOLDER = Path(__file__).parent / "golden"
COLUMNS = 80


def path_of(name: str) -> Path:
    return FOLDER / f"{name}.txt"


def capture(screen: Screen, stage: Stage) -> str:
    """The terminal's scrollback and screen, and the cursor position."""
    terminal = stage.terminal
    row, column = terminal.cursor
    place = f"row {row + 1}, column {column + 1}" if terminal.cursor_visible else "not shown"
    text = masked("\n".join([stage.tape().rstrip("\n"), f"[cursor: {place}]", ""]), stage.home)
    return re.sub(screen.varies, lambda found: re.sub(r"\d", "0", found[0]), text) if screen.varies else text


async def captured(name: str) -> str:
    async with staged(SCREENS[name], VirtualTerminal(COLUMNS, ROWS)) as stage:
        return capture(SCREENS[name], stage)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    names = [name for name, screen in SCREENS.items() if screen.golden]
    for name in sys.argv[1:] or names:
        path_of(name).write_text(asyncio.run(captured(name)), encoding="utf-8")
    if not sys.argv[1:]:
        for path in FOLDER.glob("*.txt"):
            if path.stem not in names:
                path.unlink()
