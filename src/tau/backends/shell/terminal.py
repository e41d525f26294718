"""The user's terminal as input for a program, and what it reads without a user."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from tau.base.run import Process

NOBODY_S = 0.5


class TerminalInput(Protocol):
    """The user's keyboard and screen, lent to one program. Implemented by modes with a screen."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...

    def keys(self) -> AsyncIterator[bytes]:
        """Raw typed bytes, until the user detaches."""
        ...

    def show(self, data: bytes) -> None:
        """Show raw program output; the mode decides what is safe for its screen."""
        ...


async def feed(process: Process, keyboard: TerminalInput | None) -> None:
    """Pass on typed bytes; afterwards, or without a user, keep sending EOF.

    Once is not enough: a password prompt discards earlier input. Cancel it when the program has ended.
    """
    with suppress(OSError):
        if keyboard is not None:
            async for data in keyboard.keys():
                await process.write(data)
        while True:
            await process.end_input()
            await asyncio.sleep(NOBODY_S)
