"""Passes events to handlers, in order for each extension, without holding up the run."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from tau.base.errors import ExtensionError
from tau.ext.extensions.calls import LIMIT_S, SHUTDOWN_LIMIT_S, is_async

if TYPE_CHECKING:
    from tau.ext.extensions.extension import Extension
    from tau.ext.extensions.session_link import SessionLink

MAX_PENDING = 10_000
BATCHED = ("message_update", "tool_execution_update")
MAX_BATCH = 256


class EventQueue:
    """One queue per extension. A full one loses the event, which is said once."""

    def __init__(self, host: "SessionLink") -> None:
        self._host = host
        self._idle = asyncio.Event()
        self._idle.set()
        self._busy = 0
        self._has_overflowed = False

    def put(self, name: str, event: Any) -> None:
        for extension, function in self._host.handlers(name):
            if extension.disabled:
                continue
            if len(extension.pending) >= MAX_PENDING:
                self._overflow(extension)
                continue
            extension.pending.append((name, function, event))
            if not extension.draining:
                extension.draining = True
                self._busy += 1
                self._idle.clear()
                self._host.spawn(self._drain(extension))

    async def settle(self, limit_s: float = LIMIT_S) -> None:
        """Wait until all handlers have run, for a limited time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self._idle.wait()

    async def _drain(self, extension: "Extension") -> None:
        try:
            while extension.pending:
                name, function, event = extension.pending.popleft()
                limit_s = SHUTDOWN_LIMIT_S if name == "session_shutdown" else LIMIT_S
                context = self._host.context(extension)
                with suppress(ExtensionError):
                    if name in BATCHED and not is_async(function):
                        batch = [(function, event), *self._more(extension)]
                        await self._host.calls.call(
                            extension, name, _run_batch, batch, context, limit_s=limit_s
                        )
                    else:
                        await self._host.calls.call(
                            extension, name, function, event, context, limit_s=limit_s
                        )
        finally:
            extension.draining = False
            self._busy -= 1
            if not self._busy:
                self._idle.set()

    @staticmethod
    def _more(extension: "Extension") -> list[tuple[Callable[..., Any], Any]]:
        """The updates that directly follow: one change of threads serves all of them."""
        more = []
        for name, function, event in islice(extension.pending, MAX_BATCH):
            if name not in BATCHED or is_async(function):
                break
            more.append((function, event))
        for _ in more:
            extension.pending.popleft()
        return more

    def _overflow(self, extension: "Extension") -> None:
        if not self._has_overflowed:
            self._has_overflowed = True
            self._host.say(
                extension.name,
                f"Extension {extension.name} is too slow; events are lost.",
            )


def _run_batch(batch: list[tuple[Callable[..., Any], Any]], context: Any) -> None:
    for function, event in batch:
        function(event, context)
