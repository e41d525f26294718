"""How long the end of a process group is waited for."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest

from tau.base import process_group
from tau.base.run import LocalRunner


def test_child_that_does_not_die_is_waited_for_only_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_group, "STUCK_S", 0.01)

    async def main() -> None:
        async with await LocalRunner().start(["sleep", "60"], cwd=Path("/")) as process:
            group: Any = process._group  # type: ignore[attr-defined]
            group._gone = asyncio.Event()  # as if the kernel kept it
            await process.kill(grace=0)
            assert group.ended
            await process.wait()

    asyncio.run(main())


def test_pauses_between_looks_for_processes_double_up_to_a_tenth_of_a_second(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found, slept = [[2**22 + 1]] * 8, list[float]()

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(process_group.end_all(lambda: found.pop() if found else [], 60))
    assert slept == pytest.approx([0.005, 0.01, 0.02, 0.04, 0.08, 0.1, 0.1, 0.1])


@pytest.mark.parametrize("exists", [True, False])
def test_group_without_a_process_table_is_asked_by_signal(
    monkeypatch: pytest.MonkeyPatch, exists: bool
) -> None:
    def refuse(path: str) -> None:
        raise FileNotFoundError(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert process_group.group_has_processes(2**22 + 1, signal_group=lambda number: exists) is exists
