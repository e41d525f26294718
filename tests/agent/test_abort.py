"""An abort against everything else that may happen at the same moment."""

import asyncio

import pytest

from tau.agent.abort import Abort, Aborted


def test_work_in_a_scope_is_stopped() -> None:
    async def main() -> None:
        abort = Abort()
        asyncio.get_running_loop().call_later(0.01, abort.abort)
        with pytest.raises(Aborted):
            async with abort.scope():
                await asyncio.sleep(600)
        await asyncio.sleep(0)  # no cancellation is left in the task

    asyncio.run(main())


def test_work_started_after_the_abort_does_not_begin() -> None:
    async def main() -> None:
        abort = Abort()
        abort.abort()
        with pytest.raises(Aborted):
            async with abort.scope():
                pytest.fail("the body ran")

    asyncio.run(main())


def test_work_that_finished_at_the_same_moment_succeeds() -> None:
    async def main() -> None:
        abort = Abort()
        async with abort.scope():
            abort.abort()  # from inside the task itself, with no await left in the body
        task = asyncio.current_task()
        assert task is not None and task.cancelling() == 0
        await asyncio.sleep(0.001)

    asyncio.run(main())


def test_outside_cancellation_wins() -> None:
    async def main() -> None:
        abort = Abort()

        async def work() -> None:
            async with abort.scope():
                await asyncio.sleep(600)

        for order in ("abort first", "cancel first"):
            abort = Abort()
            task = asyncio.ensure_future(work())
            await asyncio.sleep(0)
            if order == "abort first":
                abort.abort()
            task.cancel()
            abort.abort()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())


def test_one_abort_reaches_all_scopes_and_nested_ones() -> None:
    async def main() -> None:
        abort = Abort()
        stopped = []

        async def work(number: int) -> None:
            try:
                async with abort.scope(), abort.scope():
                    await asyncio.sleep(600)
            except Aborted:
                stopped.append(number)

        async with asyncio.TaskGroup() as group:
            for number in range(3):
                group.create_task(work(number))
            await asyncio.sleep(0)
            abort.abort()
        assert sorted(stopped) == [0, 1, 2]

    asyncio.run(main())


def test_error_of_the_work_is_not_hidden() -> None:
    async def main() -> None:
        abort = Abort()
        with pytest.raises(ValueError, match="mine"):
            async with abort.scope():
                abort.abort()
                raise ValueError("mine")
        await asyncio.sleep(0.001)

    asyncio.run(main())


def test_second_abort_lets_the_work_clean_up() -> None:
    async def main() -> list[str]:
        abort, done = Abort(), []
        with pytest.raises(Aborted):
            async with abort.scope():
                asyncio.get_running_loop().call_soon(abort.abort)
                try:
                    await asyncio.sleep(600)
                finally:
                    abort.abort()
                    await asyncio.sleep(0)
                    done.append("cleaned up")
        return done

    assert asyncio.run(main()) == ["cleaned up"]


def test_work_in_a_cancelled_task_can_be_aborted_separately() -> None:
    async def main() -> None:
        abort = Abort()

        async def work() -> str:
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                asyncio.get_running_loop().call_soon(abort.abort)
                try:
                    async with abort.scope():
                        await asyncio.sleep(600)
                except Aborted:
                    return "stopped"
            return "not stopped"

        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        assert await task == "stopped"

    asyncio.run(main())


def test_sleep_lasts_its_time_or_until_the_abort() -> None:
    async def main() -> None:
        abort = Abort()
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(0.01, passed.set)
        await abort.sleep(0.02)
        assert passed.is_set()
        asyncio.get_running_loop().call_soon(abort.abort)
        with pytest.raises(Aborted):
            await abort.sleep(600)

    asyncio.run(main())
