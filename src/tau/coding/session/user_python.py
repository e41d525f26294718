"""The user's Python code: the model sees `$code`; `$$code` is only logged."""

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

import msgspec
from msgspec import UNSET, Struct

from tau.agent.abort import Abort, Aborted
from tau.agent.hooks import Hooks
from tau.agent.queue import Queue
from tau.ai.wire import PythonExecutionMessage
from tau.backends.kernels import cells
from tau.backends.kernels.pool import Kernels
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.coding.session.storage.log import SessionLog

MAX_CHARS = 50_000  # of the output that is kept

_Show = Callable[[str], None]


class UserPython(Struct, frozen=True, kw_only=True):
    """Runs a cell in the same kernel as the model's cells, so that both see the same variables.

    If it ends while the agent is busy, it is recorded after the results of the turn, as shell commands are.
    """

    kernels: Kernels
    cwd: Path
    log: SessionLog
    queue: Queue
    hooks: Hooks
    busy: Callable[[], bool]

    async def run(
        self, code: str, *, exclude: bool = False, abort: Abort, show: _Show | None = None
    ) -> PythonExecutionMessage:
        """Run the code and record it; `show` gets the output as it arrives. Raises TauError."""
        if not code.strip():
            raise TauError("There is no code to run; type some after the dollar sign.")
        output = _Output(show)
        end: cells.CellEnd | None = None
        stopped: BaseException | None = None
        try:
            async with abort.scope():
                allowed = await self.hooks.user_python(code)
                if allowed is None:
                    raise TauError("The code was refused and did not run.")
                code = allowed
                result = await self.kernels.run_python(
                    code, cwd=self.cwd, timeout_s=cells.MAX_TIMEOUT_S, listen=output.take
                )
            end = result.end
            if end.reason:
                output.add(f"{end.reason}\n")
        except (Aborted, asyncio.CancelledError) as stop:
            stopped = stop
        message = PythonExecutionMessage(
            code=code,
            output=output.text,
            exit_code=None if end is None else end.exit_code,
            cancelled=stopped is not None,
            truncated=output.cut,
            timestamp=now_ms(),
            exclude_from_context=True if exclude else UNSET,
        )
        if self.busy():
            self.queue.hold(message)
        else:
            self.log.append_message(message)
        if isinstance(stopped, asyncio.CancelledError):
            raise stopped
        return message


class _Output:
    """A cell's output as text."""

    def __init__(self, show: _Show | None) -> None:
        self.text = ""
        self.cut = False
        self._show = show
        self._decoder = getincrementaldecoder("utf-8")("replace")

    def take(self, event: cells.CellEvent) -> None:
        match event:
            case cells.TextOutput(data):
                self.add(self._decoder.decode(data))
            case cells.JsonOutput(value):
                self.add(f"{msgspec.json.encode(value, enc_hook=str).decode()}\n")
            case cells.MarkdownOutput(text) | cells.HtmlOutput(text):
                self.add(f"{text}\n")
            case cells.ImageOutput(mime_type=kind):
                self.add(f"[an image, {kind}]\n")
            case cells.StatusOutput():
                pass
            case _:
                assert_never(event)

    def add(self, text: str) -> None:
        room = MAX_CHARS - len(self.text)
        self.cut = self.cut or len(text) > room
        self.text += text[:room]
        if self._show is not None and text:
            self._show(text)
