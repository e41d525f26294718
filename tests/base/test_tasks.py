"""Work that must be finished, and work that has an owner."""

import asyncio

import pytest

from tau.base.tasks import shielded, spawn


def test_shielded_work_returns_its_result_and_its_error() -> None:
    async def good() -> int:
        await asyncio.sleep(0)
        return 7

    async def bad() -> int:
        raise KeyError("x")

    assert asyncio.run(shielded(good())) == 7
    with pytest.raises(KeyError):
        asyncio.run(shielded(bad()))


@pytest.mark.parametrize("cancellations", [1, 3])
def test_shielded_work_ends_before_the_cancellation_takes_effect(cancellations: int) -> None:
    async def main() -> list[str]:
        order: list[str] = []
        release = asyncio.Event()

        async def clean_up() -> None:
            await release.wait()
            order.append("cleaned up")

        async def owner() -> None:
            try:
                await shielded(clean_up())
            finally:
                order.append("left")

        task = asyncio.create_task(owner())
        for _ in range(cancellations):
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
        await asyncio.sleep(0.01)
        assert order == []
        release.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()
        return order

    assert asyncio.run(main()) == ["cleaned up", "left"]


def test_error_of_shielded_work_is_the_cause_of_the_cancellation() -> None:
    async def main() -> BaseException | None:
        async def clean_up() -> None:
            await asyncio.sleep(0.01)
            raise KeyError("x")

        task = asyncio.create_task(shielded(clean_up()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        return caught.value.__cause__

    assert isinstance(asyncio.run(main()), KeyError)


def test_timeout_around_shielded_work_is_still_a_timeout() -> None:
    async def main() -> bool:
        done = False

        async def clean_up() -> None:
            nonlocal done
            await asyncio.sleep(0.03)
            done = True

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.005):
                await shielded(clean_up())
        return done

    assert asyncio.run(main())


def test_spawned_work_belongs_to_its_group() -> None:
    async def main() -> tuple[int, str, bool]:
        async def number() -> int:
            return 7

        async with asyncio.TaskGroup() as group:
            first = spawn(group, number(), "seven")
        with pytest.raises(ExceptionGroup):
            async with asyncio.TaskGroup() as group:
                endless = spawn(group, asyncio.sleep(999))
                spawn(group, shielded(fail()))
        return first.result(), first.get_name(), endless.cancelled()

    async def fail() -> None:
        raise KeyError

    assert asyncio.run(main()) == (7, "seven", True)
