"""A running remote command: its output without our mark, and its exit status."""

from contextlib import suppress

from tau.backends.ssh.forms import NO_FOLDER, Form
from tau.base.late import late
from tau.base.run import Exit, Process

asyncio = late("asyncio")

LINGER_S = 0.25  # how long ssh may take to exit after the command
STATUS_BYTES = 8


class RemoteCommand:
    """A context manager: leaving it early ends the command, also on the remote side where possible."""

    def __init__(self, process: Process, form: Form) -> None:
        self._process = process
        self._form = form
        self._held = b""
        self._status: bytes | None = None
        self._ended = False

    async def __aenter__(self) -> "RemoteCommand":
        await self._process.__aenter__()
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        await self._process.__aexit__(kind, *rest)

    async def send_script(self) -> None:
        if self._form.script is not None:
            with suppress(BrokenPipeError):  # ssh has already exited with an error
                await self._process.write(self._form.script)
                if not self._form.holds:
                    await self._process.end_input()

    async def read(self) -> bytes:
        """Return the next chunk of output, empty at the end."""
        output = self._process.output()
        while not self._ended:
            try:
                chunk = await anext(output)
            except StopAsyncIteration:
                self._ended = True
                rest, self._held = self._held, b""
                return rest
            if text := self._without_mark(chunk):
                return text
        return b""

    async def wait(self) -> Exit:
        """Return the exit status; read the output first. If `lost`, it is that of the local ssh."""
        if self._status is None:
            return await self._process.wait()
        try:
            async with asyncio.timeout(LINGER_S):
                await self._process.wait()
        except TimeoutError:  # a background process keeps the channel open
            await self._process.kill()
        return Exit(code=int(self._status) if self._status.isdigit() else 1)

    @property
    def lost(self) -> bool:
        """Whether the output ended before the command did, as far as that is known."""
        return bool(self._form.mark) and self._ended and self._status is None

    @property
    def folder_missing(self) -> bool:
        """Whether nothing ran because the folder is missing."""
        return self._status == NO_FOLDER

    def _without_mark(self, chunk: bytes) -> bytes:
        """Return output that cannot be part of the mark; stop reading after the mark."""
        mark = self._form.mark
        if not mark:
            return chunk
        data = self._held + chunk
        at = data.find(mark)
        if at >= 0:
            status, closed, _ = data[at + len(mark) :].partition(b"\x1e")
            if closed or len(status) > STATUS_BYTES:
                self._status, self._ended, self._held = status, True, b""
                return data[:at]
        else:
            at = _partial(data, mark)
        self._held = data[at:]
        return data[:at]


def _partial(data: bytes, mark: bytes) -> int:
    """Return where a partial mark may begin at the end of `data`, or its length."""
    for at in range(max(len(data) - len(mark) + 1, 0), len(data)):
        if mark.startswith(data[at:]):
            return at
    return len(data)
