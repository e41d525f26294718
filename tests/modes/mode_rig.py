"""A real session with the scripted model, run in a mode."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from tau.agent.ui import Ui
from tau.ai.faux import Faux, FauxStep
from tau.coding.session.session import Session
from tau.modes.output_stream import OutputStream
from tau.sdk import SessionOptions, create_session

Script = Sequence[Sequence[FauxStep]]


class Captured:
    """What a mode returned and wrote, and what the model was asked."""

    def __init__(self, code: int, data: bytes, faux: Faux) -> None:
        self.code = code
        self.data = data
        self.faux = faux

    @property
    def text(self) -> str:
        return self.data.decode()

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [msgspec.json.decode(line) for line in self.data.splitlines()]

    @property
    def types(self) -> list[str]:
        return [line["type"] for line in self.lines]

    @property
    def asked(self) -> list[str]:
        """The user's text in the last request."""
        messages = self.faux.requests[-1].messages
        return [message.content for message in messages if isinstance(message.content, str)]


def show(
    script: Script,
    face: Callable[[Session, OutputStream], Awaitable[int]],
    tmp_path: Path,
    *,
    ui: Ui | None = None,
    **options: Any,
) -> Captured:
    """Run a mode on a new session whose model follows the script; its output goes to a file."""

    async def main() -> int:
        wanted = SessionOptions(cwd=tmp_path, stream=faux.stream, save=False, ui=ui, **options)
        async with create_session(wanted) as session:
            return await face(session, out)

    faux = Faux(script)
    path = tmp_path / "output"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        out = OutputStream(fd)
        code = asyncio.run(main())
    finally:
        os.close(fd)
    return Captured(code, path.read_bytes(), faux)
