"""Commands that the user runs outside the sandbox."""

import asyncio
import os
from pathlib import Path

import pytest

import tau
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tests.safety.sandbox_rig import require


def test_function_defined_inside_ran_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require("auto")
    programs, work = tmp_path / "bin", tmp_path / "work"
    programs.mkdir()
    work.mkdir()
    (programs / "docker").write_text("#!/bin/sh\necho the real one\n")
    (programs / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    script: list[list[FauxStep]] = [
        [Use("bash", command="docker() { touch ../escaped; }; export PATH=/nowhere:$PATH")],
        [Use("bash", command="docker ps")],
        [Say("ok")],
    ]
    options = tau.SessionOptions(
        cwd=work,
        stream=Faux(script).stream,
        save=False,
        tools=("bash",),
        settings={"tools.approvalMode": "yolo", "sandbox.outside": ["docker *"]},
    )

    async def main() -> str:
        async with tau.create_session(options) as session:
            await session.prompt("go")
            results = [each for each in session.log.messages() if isinstance(each, ToolResultMessage)]
            return text_of(results[-1].content)

    assert "the real one" in asyncio.run(main())
    assert not (tmp_path / "escaped").exists()
