"""`RpcClient` with agents that die, do not start or answer in an unusual order."""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest

from tau.modes.rpc.client import RpcClient
from tau.modes.rpc.connection import RpcError
from tests.e2e.program import Program
from tests.e2e.test_rpc_program import drive
from tests.support.limits import HANG_S


def test_death_of_the_server_rejects_pending_requests(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(_outcome(client.bash("echo begun; sleep 60")))
            await client.get_state()
            os.kill(client.connection.pid, signal.SIGKILL)
            error = await waiting
        assert error.code == "gone"
        with pytest.raises(RpcError):
            await client.get_state()

    drive(tau, work)


async def _outcome(work: Awaitable[Any]) -> RpcError:
    with pytest.raises(RpcError) as caught:
        await work
    return caught.value


def test_agent_that_cannot_start_is_reported_with_its_stderr(tmp_path: Path) -> None:
    async def main() -> None:
        script = "import sys; print('no key', file=sys.stderr); sys.exit(3)"
        with pytest.raises(RpcError, match="no key"):
            await RpcClient(command=[sys.executable, "-c", script], cwd=tmp_path).start()
        with pytest.raises(RpcError, match="cannot be started"):
            await RpcClient(command=["/does/not/exist"], cwd=tmp_path).start()

    asyncio.run(main())


def test_client_is_not_idle_between_an_aborted_run_and_the_next(tmp_path: Path) -> None:
    """The end of the first run arrives with the answer, and the next run begins only later."""
    answer = (
        'print(\'{"type":"response","success":true,"id":"req_%d","data":{"disposition":"started"}}\','
        " flush=True)"
    )
    settled = 'print(\'{"type":"agent_settled"}\', flush=True)'
    read = "sys.stdin.readline()"
    ready = 'import sys; print(\'{"type":"ready"}\', flush=True)'
    lines = (ready, read, answer % 1, read, settled, answer % 2, read, answer % 3, settled, read)

    async def main() -> None:
        async with RpcClient(command=[sys.executable, "-c", "\n".join(lines)], cwd=tmp_path) as client:
            await client.prompt("one")
            await client.abort_and_prompt("two")
            idle = asyncio.ensure_future(client.wait_for_idle())
            await asyncio.sleep(0)
            assert not idle.done()
            await client.abort_retry()
            await idle

    asyncio.run(main())


def test_nobody_waits_for_an_agent_that_died_with_two_prompts_pending(tmp_path: Path) -> None:
    script = 'print(\'{"type":"ready"}\', flush=True); input(); input()'

    async def main() -> None:
        async with RpcClient(command=[sys.executable, "-c", script], cwd=tmp_path) as client:
            prompts = (client.prompt("one"), client.steer("two"))
            outcomes = await asyncio.gather(*prompts, return_exceptions=True)
            assert [getattr(one, "code", "") for one in outcomes] == ["gone", "gone"]
            with pytest.raises(RpcError):
                await client.wait_for_idle(HANG_S)

    asyncio.run(main())
