"""kill -9 at every point of a session: reported entries exist, queued messages come once, it continues."""

import asyncio
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tau.agent.queue import Prompt, UserExecution, typed_text
from tau.ai.faux import Say
from tau.ai.wire import AppMessage
from tau.coding.session.entries import MessageEntry
from tau.coding.session.session import Session
from tests.coding.session.rig import QUICK_RETRIES, scripted
from tests.support.next_request import problems

ROOT = Path(__file__).parents[2]
ALL_AT_ONCE = {**QUICK_RETRIES, "steeringMode": "all", "followUpMode": "all"}


def test_killed_at_sampled_points(tmp_path: Path) -> None:
    assert len(sweep(tmp_path, "20")) > 20


@pytest.mark.soak
def test_killed_at_every_point(tmp_path: Path) -> None:
    assert len(sweep(tmp_path, "all")) > 300


def sweep(folder: Path, count: str) -> list[int]:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/faults/kill_points.py"), str(folder), count],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    points: list[int] = json.loads(done.stdout)
    for point in points:
        try:
            asyncio.run(resume(folder / str(point)))
        except Exception as error:
            error.add_note(f"killed at point {point} of {folder}")
            raise
    return points


async def resume(folder: Path) -> None:
    report = [json.loads(line) for line in (folder / "report").read_bytes().splitlines()]
    paths = list((folder / "sessions").glob("*.jsonl"))
    if not paths:
        assert report == []
        return
    [path] = paths
    before = [json.loads(line) for line in path.read_bytes().splitlines()]
    opening, faux = scripted([[Say("I see.")]], folder, resume=str(path), settings=ALL_AT_ONCE)
    async with opening as session:
        assert session.log.warnings == []
        assert_valid(session.log.messages())
        outcome = await session.prompt("after the crash")
        assert outcome.error is None
        assert session.queue.unsettled() == []
        for request in faux.requests:
            assert_valid(list(request.messages))
        assert_nothing_lost(report, before, session)
    assert not (path.with_suffix("") / "queue.json").exists()


def assert_nothing_lost(report: list[dict[str, Any]], before: list[dict[str, Any]], session: Session) -> None:
    kept = [entry.get("message") for entry in before]
    assert [note["ended"] for note in report if "ended" in note and note["ended"] not in kept] == []
    spoken = Counter(
        typed_text(entry.message)
        for node in session.log.nodes()
        if isinstance(entry := session.log.decode(node), MessageEntry)
        and isinstance(entry.message, Prompt | UserExecution)
    )
    taken = {note["taking"] for note in report if "taking" in note}
    promised = {text for note in report for kind, text in note.items() if kind in ("queued", "ran")}
    assert {text: spoken[text] for text in promised - taken} == dict.fromkeys(promised - taken, 1)
    assert [text for text, count in spoken.items() if count > 1] == []


def assert_valid(history: list[AppMessage]) -> None:
    assert problems(history) == []
