"""A session's shell in a real sandbox, with a user who answers from a script."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from tau.agent.output import ToolOutput
from tau.ai.wire import text_of
from tau.backends.sandbox.network.addresses import Streams
from tau.backends.shell.session import ShellSession
from tau.base.run import LocalRunner
from tau.coding.sandbox import LateSandbox
from tau.coding.tools.bash import Bash
from tau.config.paths import user_paths
from tau.config.settings import SandboxSettings
from tests.coding.context import CallContext, call, call_context
from tests.safety.network_rig import PUBLIC, Origin


class ScriptedUi:
    """Answers with the option at the given place, 0 being the first; None cancels. Keeps what was asked."""

    def __init__(self, *answers: int | None) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, list[str]]] = []

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self.asked.append((title, list(options)))
        place = self.answers.pop(0) if self.answers else None
        return None if place is None else options[place]

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"not expected: {name}")


class ContainedRig:
    def __init__(self, ctx: CallContext, bash: Bash, sandbox: LateSandbox, stack: AsyncExitStack) -> None:
        self.ctx = ctx
        self.bash = bash
        self.contained = sandbox.commands
        self.origin = Origin()
        self.lookups: list[str] = []
        self.stack = stack
        self.sandbox = sandbox

    async def run(self, command: str, **arguments: Any) -> str:
        return text_of((await self.output(command, **arguments)).content)

    async def output(self, command: str, **arguments: Any) -> ToolOutput:
        return await call(self.bash, self.ctx, command=command, **arguments)

    async def look_up(self, host: str) -> list[str]:
        self.lookups.append(host)
        return [PUBLIC]

    async def connect(self, address: str, port: int) -> Streams:
        return await asyncio.open_connection("127.0.0.1", self.origin.port)


@asynccontextmanager
async def contained_shell(work: Path, ui: ScriptedUi | None, **settings: Any) -> AsyncIterator[ContainedRig]:
    """A bash tool whose commands run in a sandbox; every host leads to one server of ours."""
    wanted = SandboxSettings(**settings)
    async with AsyncExitStack() as stack:
        ctx = stack.enter_context(call_context(work))
        made: Any = ui
        outside = LocalRunner()
        stack.callback(outside.close)
        sandbox = await stack.enter_async_context(LateSandbox((work,), wanted, user_paths(), outside, made))
        runner = LocalRunner(sandbox=sandbox)
        stack.callback(runner.close)
        ctx.helpers = runner
        await ctx.environment.open(stack)
        shell = await stack.enter_async_context(ShellSession(runner, cwd=work))
        rig = ContainedRig(ctx, Bash(shell=shell, sandbox=sandbox), sandbox, stack)
        server = await asyncio.start_server(rig.origin.serve, "127.0.0.1", 0)
        await stack.enter_async_context(server)
        rig.origin.port = server.sockets[0].getsockname()[1]
        rig.contained.reach = (rig.look_up, rig.connect)
        yield rig
