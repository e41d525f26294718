"""Sessions with MCP servers: real ones from npm, and the one of `faux_server.py`."""

import json
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tau.coding.session.session import Session
from tau.sdk import SessionOptions, create_session
from tau.sdk.servers import LateServers

FAUX_SERVER = Path(__file__).with_name("faux_server.py")


def faux_server(**options: Any) -> dict[str, Any]:
    """The definition of a server; `fault` and others are for the program, `server_*` for the definition."""
    fields = {
        name.removeprefix("server_"): options.pop(name) for name in list(options) if name[:7] == "server_"
    }
    return {"command": sys.executable, "args": ["-S", str(FAUX_SERVER), json.dumps(options)], **fields}


@asynccontextmanager
async def session_with(
    folder: Path,
    servers: dict[str, dict[str, Any]],
    script: Sequence[Sequence[FauxStep]] = (),
    **options: Any,
) -> AsyncIterator[tuple[Session, Faux]]:
    """A session whose model follows `script`; nothing asks unless the options say so."""
    faux = Faux(script or [[Say("Done.")]])
    settings = {"tools.approvalMode": "yolo", "sandbox.mode": "off", **options.pop("settings", {})}
    wanted = SessionOptions(
        cwd=folder,
        stream=faux.stream,
        session_dir=folder / "sessions",
        mcp_servers=servers,
        settings=settings,
        **options,
    )
    async with create_session(wanted) as session:
        yield session, faux


async def connected(session: Session) -> LateServers:
    """Wait for all servers."""
    late = session.servers
    assert isinstance(late, LateServers)
    await late.wait_settled()
    return late


def results(session: Session) -> list[ToolResultMessage]:
    return [message for message in session.log.messages() if isinstance(message, ToolResultMessage)]


def result_text(session: Session) -> str:
    return text_of(results(session)[-1].content)


def call_script(tool: str, **arguments: Any) -> list[list[FauxStep]]:
    return [[Use(tool, **arguments)], [Say("Done.")]]
