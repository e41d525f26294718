"""The user's Python code: the model sees `$code`; `$$code` is only logged."""

import asyncio
from codecs import getincrementaldecoder
from collections.abc import Callable
from pathlib import Path
from typing import assert_never

import msgspec
from msgspec import UNSET

from tau.agent.abort import Abort, Aborted
from tau.agent.queue import Queue
from tau.ai.wire import PythonExecutionMessage
from tau.backends.kernels import cells
from tau.backends.kernels.pool import Kernels
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.coding.session.storage.log import SessionLog

MAX_CHARS = 50_000  # of the output that is kept

_Show = Callable[[str], None]


class UserPython:
    """Runs a cell in the same kernel as the model's cells, so that both see the same variables.

    If it ends while the agent is busy, it is recorded after the results of the turn, as shell commands are.
    """

    def __init__(
        self, *, kernels: Kernels, cwd: Path, log: SessionLog, queue: Queue, busy: Callable[[], bool]
    ) -> None:
        self._kernels = kernels
        self._cwd = cwd
        self._log = log
        self._queue = queue
        self._busy = busy

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
                result = await self._kernels.run_python(
                    code, cwd=self._cwd, timeout_s=cells.MAX_TIMEOUT_S, listen=output.take
                )
            end = result.end
            if end.reason:
                output.say(f"{end.reason}\n")
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
        if self._busy():
            self._queue.hold(message)
        else:
            self._log.append_message(message)
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
                self.say(self._decoder.decode(data))
            case cells.JsonOutput(value):
                self.say(f"{msgspec.json.encode(value, enc_hook=str).decode()}\n")
            case cells.MarkdownOutput(text) | cells.HtmlOutput(text):
                self.say(f"{text}\n")
            case cells.ImageOutput(mime_type=kind):
                self.say(f"[an image, {kind}]\n")
            case cells.StatusOutput():
                pass
            case _:
                assert_never(event)

    def say(self, text: str) -> None:
        room = MAX_CHARS - len(self.text)
        self.cut = self.cut or len(text) > room
        self.text += text[:room]
        if self._show is not None and text:
            self._show(text)
