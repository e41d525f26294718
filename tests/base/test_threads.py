"""Work in a thread, and how it learns that its caller is gone."""

import asyncio
import threading

import pytest

from tau.base.threads import StopSignal, ThreadStopped, in_thread


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
