"""The user's Python code: what is recorded of it, and when."""

import asyncio
import sys
from pathlib import Path

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from tau.agent.abort import Abort
from tau.agent.hooks import Hooks
from tau.agent.queue import Queue
from tau.backends.kernels.pool import Kernels
from tau.base.errors import TauError
from tau.base.run import LocalRunner
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.user_python import UserPython


def test_code_and_its_output_are_recorded(tmp_path: Path) -> None:
    log, queue, runner = SessionLog.new(None, tmp_path), Queue(), LocalRunner()
    busy = False

    async def main() -> None:
        nonlocal busy
        async with Kernels(runner, python=sys.executable) as kernels:
            python = UserPython(
                kernels=kernels, cwd=tmp_path, log=log, queue=queue, busy=lambda: busy, hooks=Hooks()
            )
            shown: list[str] = []
            ran = await python.run("print('a'); x = 7", abort=Abort(), show=shown.append)
            assert (ran.output, ran.exit_code, ran.cancelled, ran.truncated) == ("a\n", 0, False, False)
            assert "".join(shown) == "a\n" and ran.exclude_from_context is UNSET
            hidden = await python.run("print(x); 1 / 0", exclude=True, abort=Abort())
            assert hidden.output.startswith("7\n") and "ZeroDivisionError" in hidden.output
            assert hidden.exit_code == 1 and hidden.exclude_from_context is True
            assert log.messages() == [ran, hidden]

            busy = True  # recorded after the turn
            fits = await python.run("print('x' * 49_999)", abort=Abort())
            cut = await python.run("print('x' * 50_000)", abort=Abort())
            assert (len(fits.output), fits.truncated) == (50_000, False)
            assert (cut.output, cut.truncated) == ("x" * 50_000, True)
            assert len(log.messages()) == 2
            waiting = [replace(item.message, timestamp=0) for item in queue.waiting()]  # unique in the queue
            assert waiting == [replace(fits, timestamp=0), replace(cut, timestamp=0)]

            abort = Abort()
            stop = lambda text: abort.abort()  # noqa: E731
            stopped = await python.run("print('b'); import time; time.sleep(99)", abort=abort, show=stop)
            assert (stopped.output, stopped.exit_code, stopped.cancelled) == ("b\n", None, True)
            with pytest.raises(TauError, match="no code to run"):
                await python.run(" ", abort=Abort())

    asyncio.run(main())
    runner.close()
