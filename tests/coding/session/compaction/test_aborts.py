"""An abort at each wait of a compaction: nothing is written, everything is reported."""

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


class WaitCounter:
    """Counts every wait, and acts at one of them."""

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
        self.waits: WaitCounter | None = None

    async def before_compact(self, messages: list[AppMessage], **_: Any) -> bool:
        assert self.waits is not None
        await self.waits.pause()
        return True


def rigged(at: int, action: Callable[[Rig], object], answer: str = GOOD) -> tuple[Rig, WaitCounter]:
    hooks = Asked()
    rig = Rig(split_session(), model=model(100_000), hooks=hooks)
    waits = hooks.waits = WaitCounter(at, lambda: action(rig))

    async def complete(model: Any, request: Any) -> Any:
        await waits.pause()
        await waits.pause()
        return says(answer)

    rig.compactor._complete = complete
    return rig, waits


@pytest.mark.parametrize("answer", [GOOD, "no summary"])
def test_abort_at_any_point_writes_nothing_and_is_reported(answer: str) -> None:
    _, whole = counted(answer)
    assert whole >= 5
    for at in range(1, whole + 1):
        rig, _ = rigged(at, lambda rig: rig.abort.abort(), answer)
        leaf = rig.log.leaf
        assert not rig.make_room()
        rig.check()
        assert rig.log.leaf == leaf
        [end] = rig.events_of(CompactionEnd)
        assert end.aborted and end.result is None and rig.events_of(Compacted) == []


def counted(answer: str) -> tuple[Rig, int]:
    rig, waits = rigged(0, lambda rig: None, answer)
    assert rig.make_room()
    return rig, waits.count


def test_abort_of_a_manual_compaction_raises_and_writes_nothing() -> None:
    for at in range(1, 4):
        rig, _ = rigged(at, lambda rig: rig.abort.abort())
        leaf = rig.log.leaf
        with pytest.raises(Aborted):
            rig.compact()
        assert rig.log.leaf == leaf and rig.events == [] and not rig.compactor.running


def test_abort_of_a_handoff_raises() -> None:
    rig, _ = rigged(1, lambda rig: rig.abort.abort())
    with pytest.raises(Aborted):
        run(rig.compactor.handoff("", rig.abort))
    assert not rig.compactor.running


def test_abort_before_the_start_sends_no_request() -> None:
    rig, waits = rigged(0, lambda rig: None)
    rig.abort.abort()
    assert not rig.make_room()
    rig.check()
    assert waits.count == 0


def test_outside_cancellation_propagates_and_is_reported() -> None:
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
        assert [end.aborted for end in rig.events_of(CompactionEnd)] == [True]


def test_disk_failure_raises_after_the_end_is_reported() -> None:
    rig, _ = rigged(0, lambda rig: None)

    def fail(entry: object) -> str:
        raise SessionError("The session cannot be written.")

    rig.log.append = fail  # type: ignore[method-assign, assignment]
    with pytest.raises(SessionError):
        rig.make_room()
    [start], [end] = rig.events_of(CompactionStart), rig.events_of(CompactionEnd)
    assert start.action == end.action and end.error_message == "The session cannot be written."
    assert not rig.compactor.running


def test_message_sent_meanwhile_stays_after_the_summary() -> None:
    """A user may type while an idle compaction runs."""
    rig, _ = rigged(3, lambda rig: rig.add(user("One more thing.")))
    assert rig.make_room()
    rig.check()
    assert rig.log.messages()[-1] == user("One more thing.")
    assert rig.summary
