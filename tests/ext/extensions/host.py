"""Sessions with extensions given as source text."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

from tau.agent.events import AgentEvent, ExtensionFault, Notice
from tau.ai.faux import Faux, FauxStep, Say
from tau.coding.session.session import Session
from tau.sdk import SessionOptions, create_session
from tests.support.idle import until
from tests.support.limits import HANG_S


class Rigged:
    """A session, its model and what it reported."""

    def __init__(self, session: Session, faux: Faux) -> None:
        self.session, self.faux = session, faux
        self.events: list[AgentEvent] = []
        session.subscribe(self.events.append)

    @property
    def extensions(self) -> Any:
        assert self.session.extensions is not None
        return self.session.extensions

    @property
    def faults(self) -> list[str]:
        return [f"{one.event}: {one.error}" for one in self.events if isinstance(one, ExtensionFault)]

    @property
    def notices(self) -> list[str]:
        later = [one for one in self.events if isinstance(one, Notice)]
        return [one.message for one in (*self.session.notices, *later)]

    async def until(self, holds: Any, what: str = "it") -> None:
        await until(holds, HANG_S, lambda: f"waited in vain for {what}: {self.notices}")

    def log(self, name: str) -> str:
        """What the extension wrote to its own log."""
        path = self.extensions.options.paths.logs / "extensions" / f"{name}.log"
        return path.read_text() if path.exists() else ""


@asynccontextmanager
async def opened(
    folder: Path, code: str = "", answers: Sequence[Sequence[FauxStep]] = ((Say("ok"),),), **options: Any
) -> AsyncIterator[Rigged]:
    """A session with an extension `e.py`, unless `code` is empty."""
    if code:
        (folder / "e.py").write_text(dedent(code))
        options.setdefault("extensions", ("e.py",))
    faux = Faux([list(answer) for answer in answers])
    settings = {"tools.approvalMode": "yolo", **options.pop("settings", {})}
    wanted = SessionOptions(
        cwd=folder, stream=faux.stream, session_dir=folder / "sessions", settings=settings, **options
    )
    async with create_session(wanted) as session:
        yield Rigged(session, faux)
