"""Viewing and forwarding the ports of servers in the sandbox."""

import asyncio
import re
import shutil
import urllib.request
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tests.modes.interactive.commands.command_rig import run_command
from tests.modes.interactive.rig import rigged, run

SERVE = "python3 -u -m http.server 8765 --bind 127.0.0.1 > log 2>&1 & "
SERVE += "until grep -q Serving log; do sleep 0.01; done"


def test_a_server_in_the_sandbox_is_listed_and_forwarded_until_stopped(tmp_path: Path) -> None:
    if shutil.which("bwrap") is None:
        pytest.skip("bwrap is not installed")
    (tmp_path / "page").write_text("hello from inside")

    def fetch(url: str) -> str:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return str(answer.read().decode())

    async def test() -> None:
        script = [[Use("bash", command=SERVE)], [Say("It runs.")]]
        async with rigged(tmp_path, script, settings={"tools.approvalMode": "yolo"}) as rig:
            await run_command(rig, "/ports", "No sandbox is running")
            await run_command(rig, "serve it", "It runs.")
            await rig.idle()
            shown = await run_command(rig, "/ports", "/ports PORT forwards a port")
            assert "8765" in shown
            shown = await run_command(rig, "/ports 8765", "Port 8765 of the sandbox is at")
            found = re.search(r"http://127\.0\.0\.1:\d+", shown)
            assert found is not None
            assert await asyncio.to_thread(fetch, f"{found[0]}/page") == "hello from inside"
            await run_command(rig, "/ports", found[0])
            await run_command(rig, "/ports 9", "Nothing in the sandbox listens on port 9.")
            rig.front.editor.clear()
            await run_command(rig, "/ports x", "Usage: /ports")
            rig.front.editor.clear()
            await run_command(rig, "/ports stop 8765", "Port 8765 is no longer forwarded.")
            await run_command(rig, "/ports stop 8765", "Port 8765 is not forwarded.")

    run(test)


def test_without_a_sandbox_there_is_nothing_to_forward(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [], settings={"sandbox.mode": "off"}) as rig:
            await run_command(
                rig, "/ports", "No sandbox is running; servers that commands start are on localhost"
            )

    run(test)
