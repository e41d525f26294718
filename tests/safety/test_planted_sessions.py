"""Of a session file in a repository, tau uses the conversation, and no files next to it."""

import asyncio
import hashlib
import json
import os
from base64 import b64encode
from pathlib import Path

import pytest

from tau import SessionOptions, create_session
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tests.e2e.program import Program
from tests.safety.test_attack_program import tau as tau

EVIL = b"evil\n"


def plant(tmp_path: Path) -> tuple[Path, Path]:
    """A session of ours in a repository, with files beside it; returns it, and a file outside."""
    outside = Path(os.environ["HOME"]) / ".bash_profile"
    (work := tmp_path / "work").mkdir()

    async def main() -> Path:
        options = SessionOptions(cwd=work, stream=Faux([[Say("hi")]]).stream)
        async with create_session(options) as session:
            await session.prompt("go")
            assert session.log.path is not None
            return session.log.path

    session = work / "talk.jsonl"
    session.write_bytes(asyncio.run(main()).read_bytes())
    history = work / "talk/history"
    (history / "kept").mkdir(parents=True)
    digest = hashlib.sha256(EVIL).hexdigest()
    (history / "kept" / digest).write_bytes(EVIL)
    path = b64encode(os.fsencode(outside)).decode()
    before = {"kind": "file", "hash": digest, "mode": 0o644, "size": len(EVIL)}
    records = [
        {"type": "turn", "id": "t", "timeMs": 1, "prompt": "go"},
        {"type": "intent", "id": "i", "turn": "t", "path": path, "before": before, "after": {}},
        {"type": "outcome", "id": "i", "after": {}},
    ]
    (history / "journal.log").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    (work / "talk/0.bash.log").symlink_to(secret := outside.with_name("secret"))
    secret.write_text("a secret")
    (work / "talk/local").symlink_to(outside.parent)
    return session, outside


@pytest.mark.parametrize("way", ["resume", "fork"])
def test_files_beside_a_planted_session_are_not_used(tmp_path: Path, way: str) -> None:
    session, outside = plant(tmp_path)
    script: list[list[FauxStep]] = [
        [Use("read", path="artifact://0"), Use("write", path="local://x", content="x")],
        [Say("done")],
    ]

    async def main() -> str:
        options = SessionOptions(cwd=session.parent, stream=Faux(script).stream, **{way: str(session)})
        async with create_session(options) as resumed:
            assert resumed.recorder is not None and resumed.recorder.undo.turns() == []
            await resumed.prompt("go")
            found = [one for one in resumed.log.messages() if isinstance(one, ToolResultMessage)]
            return "\n".join(text_of(one.content) for one in found)

    text = asyncio.run(main())
    assert "a secret" not in text
    assert not outside.with_name("x").exists()
    assert not (session.parent / "talk/local/x").exists()


def test_undo_of_a_planted_session_writes_nothing(tmp_path: Path, tau: Program) -> None:
    session, outside = plant(tmp_path)
    ran = tau.run("undo", "--session", str(session), cwd=session.parent)
    assert ran.returncode != 0 and "changed no files" in ran.stderr
    assert not outside.exists()
