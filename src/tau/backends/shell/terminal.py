"""The person at a program that was given a terminal, and what it reads when there is no person."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Protocol

from tau.base.run import Process

NOBODY_S = 0.5


class TerminalInput(Protocol):
    """The person's keyboard and screen, lent to one program. A face with a screen implements it."""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        ...

    def keys(self) -> AsyncIterator[bytes]:
        """What is typed, as a terminal sends it, until the person has had enough."""
        ...

    def show(self, data: bytes) -> None:
        """What the program writes, untouched; only a face knows what its screen may be told."""
        ...


async def feed(process: Process, keyboard: TerminalInput | None) -> None:
    """Pass on what is typed; afterwards, or without a person, say again and again that nothing comes.

    Once is not enough: a program that asks for a password throws away what was typed before. Cancel it when
    the program has ended.
    """
    with suppress(OSError):
        if keyboard is not None:
            async for data in keyboard.keys():
                await process.write(data)
        while True:
            await process.end_input()
            await asyncio.sleep(NOBODY_S)
