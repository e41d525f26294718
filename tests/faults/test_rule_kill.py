"""kill -9 at every point of an answer that a rule interrupts: no injection is lost, none comes twice."""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tau.ai.wire import CustomMessage
from tests.coding.session.rig import QUICK_RETRIES, scripted
from tests.faults.rule_kill_points import RULE, wrong
from tests.support.soak import is_soaking

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mode", ["discard", "keep"])
def test_rule_is_injected_once_whenever_tau_was_killed(mode: str, tmp_path: Path) -> None:
    count = "all" if is_soaking() else "14"
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests/faults/rule_kill_points.py"), str(tmp_path), count, mode],
        stdout=subprocess.PIPE,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    points = json.loads(done.stdout)
    assert len(points) > 10
    outcomes = {point: asyncio.run(resumed(tmp_path / str(point), mode)) for point in points}
    assert set(outcomes.values()) <= {1, None}, outcomes
    assert 1 in outcomes.values()


async def resumed(folder: Path, mode: str) -> int | None:
    """How often the model sees the rule once it broke it again; None without a log."""
    paths = list((folder / "sessions").glob("*.jsonl"))
    if not paths:
        return None
    settings = {**QUICK_RETRIES, "ttsr.contextMode": mode}
    opening, _ = scripted(wrong("b.py"), folder, resume=str(paths[0]), rules=(RULE,), settings=settings)
    async with opening as session:
        await session.prompt("again")
        return sum(
            isinstance(message, CustomMessage) and message.custom_type == "ttsr-injection"
            for message in session.log.messages()
        )
