"""A stop in the middle of a compaction, at each of its waits: nothing is written, everything is told."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tau.agent.abort import Aborted
from tau.agent.events import Compacted, CompactionEnd, CompactionStart
from tau.agent.hooks import Hooks
from tau.ai.wire import AppMessage
from tau.base.errors import SessionError
from tests.coding.session.compaction.rig import GOOD, Rig, model, run, says, step, user, words


def split_session() -> list[AppMessage]:
    """One whose compaction asks for two summaries."""
    messages: list[AppMessage] = [
        user("First."),
        *step("a", "bash", words(3_000), command="x"),
        user("Then."),
    ]
    for number in range(60):
        messages += step(f"c{number}", "bash", words(2_000), command="make")
    return messages


class Waits:
    """Counts every wait, and does something at one of them."""

    def __init__(self, at: int, action: Callable[[], object]) -> None:
        self.at = at
        self.action = action
        self.count = 0

    async def pause(self) -> None:
        self.count += 1
        if self.count == self.at:
            self.action()
        await asyncio.sleep(0)


class Asked(Hooks):
    def __init__(self) -> None:
        self.waits: Waits | None = None

    async def before_compact(self, messages: list[AppMessage]) -> bool:
        assert self.waits is not None
        await self.waits.pause()
        return True


def rigged(at: int, action: Callable[[Rig], object], answer: str = GOOD) -> tuple[Rig, Waits]:
    hooks = Asked()
    rig = Rig(split_session(), model=model(100_000), hooks=hooks)
    waits = hooks.waits = Waits(at, lambda: action(rig))

    async def complete(model: Any, request: Any) -> Any:
        await waits.pause()
        await waits.pause()
        return says(answer)

    rig.compactor._complete = complete
    return rig, waits


@pytest.mark.parametrize("answer", [GOOD, "no summary"])
def test_an_abort_at_any_wait_writes_nothing_and_is_told(answer: str) -> None:
    _, whole = counted(answer)
    assert whole >= 5
    for at in range(1, whole + 1):
        rig, _ = rigged(at, lambda rig: rig.abort.abort(), answer)
        leaf = rig.log.leaf
        assert not rig.make_room()
        rig.check()
        assert rig.log.leaf == leaf
        [end] = rig.told(CompactionEnd)
        assert end.aborted and end.result is None and rig.told(Compacted) == []


def counted(answer: str) -> tuple[Rig, int]:
    rig, waits = rigged(0, lambda rig: None, answer)
    assert rig.make_room()
    return rig, waits.count


def test_an_abort_of_a_manual_compaction_is_raised_and_writes_nothing() -> None:
    for at in range(1, 4):
        rig, _ = rigged(at, lambda rig: rig.abort.abort())
        leaf = rig.log.leaf
        with pytest.raises(Aborted):
            rig.compact()
        assert rig.log.leaf == leaf and rig.events == [] and not rig.compactor.running


def test_an_abort_of_a_handoff_is_raised() -> None:
    rig, _ = rigged(1, lambda rig: rig.abort.abort())
    with pytest.raises(Aborted):
        run(rig.compactor.handoff("", rig.abort))
    assert not rig.compactor.running


def test_an_abort_before_it_begins_asks_nobody() -> None:
    rig, waits = rigged(0, lambda rig: None)
    rig.abort.abort()
    assert not rig.make_room()
    rig.check()
    assert waits.count == 0


def test_a_cancellation_from_outside_passes_and_is_told() -> None:
    _, whole = counted(GOOD)
    for at in range(1, whole + 1):
        tasks: list[asyncio.Task[bool]] = []
        rig, _ = rigged(at, lambda rig, tasks=tasks: tasks[0].cancel())  # type: ignore[misc]

        async def main(rig: Rig, tasks: list[asyncio.Task[bool]]) -> None:
            async with asyncio.TaskGroup() as group:
                tasks.append(group.create_task(rig.compactor.make_room(rig.abort)))
            assert tasks[0].cancelled()

        leaf = rig.log.leaf
        run(main(rig, tasks))
        rig.check()
        assert rig.log.leaf == leaf
        assert [end.aborted for end in rig.told(CompactionEnd)] == [True]


def test_a_disk_that_fails_is_raised_after_the_end_is_told() -> None:
    rig, _ = rigged(0, lambda rig: None)

    def fail(entry: object) -> str:
        raise SessionError("The session cannot be written.")

    rig.log.append = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(SessionError):
        rig.make_room()
    [start], [end] = rig.told(CompactionStart), rig.told(CompactionEnd)
    assert start.action == end.action and end.error_message == "The session cannot be written."
    assert not rig.compactor.running


def test_what_is_said_meanwhile_stays_behind_the_summary() -> None:
    """A user may type while an idle compaction is at work."""
    rig, _ = rigged(3, lambda rig: rig.add(user("One more thing.")))
    assert rig.make_room()
    rig.check()
    assert rig.log.messages()[-1] == user("One more thing.")
    assert rig.summary
