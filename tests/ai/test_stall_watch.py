"""Stall detection: what counts is deltas, and outside cancellation always wins."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any

import pytest

from tau.ai.stall_watch import StallWatch
from tau.base.errors import ProviderError

LIMIT_S = 0.04


def watch(
    deltas: AsyncIterator[int], *, first_s: float = LIMIT_S, idle_s: float = LIMIT_S
) -> StallWatch[int]:
    return StallWatch(deltas, first_s=first_s, idle_s=idle_s, what="fake/model")


class Source:
    """Yields numbers, sleeps where asked to, and records that it was closed."""

    def __init__(self, *steps: float) -> None:
        self.steps = steps  # an int is a delta, a float a pause
        self.closed = False

    async def __call__(self) -> AsyncIterator[int]:
        try:
            for step in self.steps:
                if isinstance(step, int):
                    yield step
                else:
                    await asyncio.sleep(step)
        finally:
            self.closed = True


async def collect(deltas: AsyncIterator[int]) -> list[int]:
    return [delta async for delta in deltas]


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def test_deltas_pass_through() -> None:
    async def test() -> None:
        assert await collect(watch(Source(1, 0.001, 2, 3)())) == [1, 2, 3]

    run(test)


@pytest.mark.parametrize(
    ("steps", "got", "message"),
    [
        ((60.0, 1), [], "fake/model stalled: nothing came for 0.04 s before its answer."),
        ((1, 2, 60.0, 3), [1, 2], "fake/model stalled: nothing came for 0.04 s in the middle of its answer."),
    ],
    ids=["at the start", "in the middle"],
)
def test_stall_is_a_retryable_error(steps: tuple[float, ...], got: list[int], message: str) -> None:
    async def test() -> None:
        source = Source(*steps)
        seen = []
        with pytest.raises(ProviderError) as caught:
            async for delta in watch(source()):
                seen.append(delta)
        assert (seen, str(caught.value), caught.value.retryable) == (got, message, True)
        assert source.closed
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # the task is no longer cancelled

    run(test)


def test_both_limits_have_distinct_errors() -> None:
    async def test() -> None:
        assert await collect(watch(Source(0.1, 1)(), first_s=5, idle_s=LIMIT_S)) == [1]
        with pytest.raises(ProviderError, match=r"for 0\.04 s in the middle"):
            await collect(watch(Source(1, 60.0)(), first_s=5, idle_s=LIMIT_S))
        with pytest.raises(ProviderError, match=r"for 0\.04 s before"):
            await collect(watch(Source(60.0, 1)(), first_s=LIMIT_S, idle_s=5))

    run(test)


def test_steady_deltas_never_stall() -> None:
    async def test() -> None:
        steps = [step for number in range(30) for step in (number, LIMIT_S / 8)]
        assert await collect(watch(Source(*steps)())) == list(range(30))

    run(test)


def test_time_the_consumer_takes_does_not_count() -> None:
    async def test() -> None:
        seen = []
        async for delta in watch(Source(1, LIMIT_S / 4, 2, 3)()):
            await asyncio.sleep(LIMIT_S * 3)
            seen.append(delta)
        assert seen == [1, 2, 3]

    run(test)


@pytest.mark.holds_loop
def test_blocked_loop_is_not_a_stall() -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        released = asyncio.Event()

        async def source() -> AsyncIterator[int]:
            await released.wait()
            yield 1

        def block() -> None:
            end = loop.time() + LIMIT_S * 3
            while loop.time() < end:
                pass
            released.set()

        loop.call_soon(block)
        assert await collect(watch(source())) == [1]

    run(test)


def test_outside_cancellation_stays_a_cancellation() -> None:
    async def test() -> None:
        source = Source(1, 60.0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(collect(watch(source(), first_s=5, idle_s=5)))
            await asyncio.sleep(0.01)
            task.cancel()
        assert task.cancelled()
        assert source.closed

    run(test)


def test_outside_cancellation_after_a_withdrawn_stall_stays_a_cancellation() -> None:
    async def test() -> None:
        async def source() -> AsyncIterator[int]:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(600)
            yield 1
            task.cancel()
            await asyncio.sleep(600)

        async with asyncio.TaskGroup() as group:
            task = group.create_task(collect(watch(source())))
        assert task.cancelled()

    run(test)


def test_outside_cancellation_wins_over_a_simultaneous_stall() -> None:
    async def test() -> None:
        async def source() -> AsyncIterator[int]:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:  # ours; the other comes while we clean up
                task.cancel()
                raise
            yield 1

        async with asyncio.TaskGroup() as group:
            task = group.create_task(collect(watch(source())))
        assert task.cancelled()

    run(test)


def test_no_stall_on_a_task_being_cancelled() -> None:
    async def test() -> None:
        async def source() -> AsyncIterator[int]:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                await asyncio.sleep(LIMIT_S * 3)  # slow to clean up
                raise
            yield 1

        async with asyncio.TaskGroup() as group:
            task = group.create_task(collect(watch(source())))
            await asyncio.sleep(LIMIT_S / 4)
            task.cancel()
        assert task.cancelled()

    run(test)


def test_timeout_around_the_stream_still_works() -> None:
    async def test() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await collect(watch(Source(60.0)(), first_s=5, idle_s=5))
        with pytest.raises(ProviderError):
            async with asyncio.timeout(5):
                await collect(watch(Source(60.0)()))

    run(test)


def test_errors_of_the_stream_propagate() -> None:
    async def test() -> None:
        async def source() -> AsyncIterator[int]:
            yield 1
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            await collect(watch(source()))

    run(test)


def test_stream_may_turn_the_stall_into_its_own_error() -> None:
    async def test() -> None:
        async def source() -> AsyncIterator[int]:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                raise ZeroDivisionError from None
            yield 1

        with pytest.raises(ZeroDivisionError):
            await collect(watch(source()))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    run(test)


def test_closing_closes_the_inner_stream_and_leaves_no_timer() -> None:
    async def test() -> None:
        source = Source(1, 2, 3)
        async with aclosing(watch(source())) as deltas:
            async for _ in deltas:
                break
        assert source.closed
        await asyncio.sleep(LIMIT_S * 2)

    run(test)


def test_abandoned_stream_releases_its_timer() -> None:
    async def test() -> None:
        deltas = watch(Source(1, 2)())
        assert await anext(deltas) == 1
        await asyncio.sleep(LIMIT_S)
        assert deltas._timer is None
        await deltas.aclose()

    run(test)


def test_stall_is_reported_only_after_the_whole_limit() -> None:
    async def test() -> None:
        begun = asyncio.get_running_loop().time()
        with pytest.raises(ProviderError):
            await collect(watch(Source(60.0)()))
        assert asyncio.get_running_loop().time() - begun >= LIMIT_S * 0.99

    run(test)
