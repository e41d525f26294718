"""Work in a thread, and how it learns that its caller is gone."""

import asyncio
import threading

import pytest

from tau.base.threads import StopSignal, ThreadStopped, in_daemon_thread, in_thread
from tests.support.idle import until
from tests.support.limits import HANG_S


def test_result_and_error_of_the_work_reach_the_caller() -> None:
    assert asyncio.run(in_thread(lambda stop: threading.current_thread().name)) != "MainThread"
    with pytest.raises(ZeroDivisionError):
        asyncio.run(in_thread(lambda stop: 1 // 0))


def test_cancelled_caller_stops_the_thread_and_waits_for_it() -> None:
    begun, ended = threading.Event(), threading.Event()

    def work(stop: StopSignal) -> None:
        begun.set()
        try:
            while True:
                stop.check()
        except ThreadStopped:
            assert stop.is_set
            ended.set()
            raise

    async def main() -> None:
        task = asyncio.ensure_future(in_thread(work))
        await asyncio.to_thread(begun.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(main())


def test_blocking_wait_elsewhere_is_interrupted_and_may_have_ended_already() -> None:
    called: list[str] = []

    def interrupt() -> None:
        called.append("interrupt")
        raise OSError("it has ended")

    signal = StopSignal()
    signal.check()
    assert not signal.is_set
    signal.interrupt = interrupt
    signal.set()
    assert called == ["interrupt"] and signal.is_set
    with pytest.raises(ThreadStopped):
        signal.check()


def test_abandoned_thread_ends_alone_and_others_return_their_outcome() -> None:
    release, problems = threading.Event(), list[object]()

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        assert await in_daemon_thread(lambda: 1) == 1
        with pytest.raises(ZeroDivisionError):
            await in_daemon_thread(lambda: 1 // 0)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await in_daemon_thread(lambda: release.wait(HANG_S))
        release.set()
        await until(lambda: "tau-blocking" not in names(), HANG_S, lambda: "the thread did not end")
        await asyncio.sleep(0)
        assert problems == []

    def names() -> list[str]:
        return [thread.name for thread in threading.enumerate()]

    asyncio.run(main())
