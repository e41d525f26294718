"""Runs agents for a tool call: in the background as jobs, or until they are done."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from tau.agent.output import ToolOutput
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.coding.ports import CodingContext
from tau.coding.task.ports import MAIN, TaskOrder
from tau.coding.task.results import AsyncState, SingleResult, TaskDetails, follow_up, result_text
from tau.coding.task.subagent import Subagent, is_revivable

if TYPE_CHECKING:
    from tau.coding.task.team import Team

workspaces = late("tau.coding.task.workspace")

END_S = 5.0


class Delegation:
    def __init__(self, team: "Team") -> None:
        self._team = team

    async def delegate(self, orders: Sequence[TaskOrder], caller: str, ctx: CodingContext) -> ToolOutput:
        team = self._team
        agent = team.roster.find(caller) if caller else None
        definition = team.spawner.definition(orders[0].agent, agent)
        if definition.isolated or any(order.isolated for order in orders):
            if team.settings.isolation.mode == "none":
                raise ToolError("Isolated agents are off: the setting task.isolation.mode is none.")
            await workspaces.require_repository(ctx.cwd)
        started: list[Subagent] = []
        problems: list[str] = []
        for order in orders:
            try:
                started.append(await team.spawner.spawn(order, agent))
            except ToolError as error:
                problems.append(f"{order.id or f'Item {order.index + 1}'} was not started: {error}")
        if not started:
            raise ToolError("\n".join(dict.fromkeys(problems)))
        if agent is None and team.session.settings.async_.enabled and not definition.blocking:
            return self._start_jobs(started, problems, ctx)
        return await self._run_here(started, problems, agent, ctx)

    def _start_jobs(self, agents: Sequence[Subagent], problems: list[str], ctx: CodingContext) -> ToolOutput:
        ids: list[str] = []
        for agent in agents:
            record = agent.record
            label = (
                f"{record.definition.name}: {record.description or record.assignment.partition(chr(10))[0]}"
            )
            try:
                ctx.jobs.start("task", label, self._job(agent), id=agent.id, queued=True)
            except ToolError as error:
                problems.append(f"Failed to start background task job(s): {agent.id}: {error}")
                self._team.life.abandon(agent, str(error))
                continue
            record.job = True
            self.start(agent)
            ids.append(agent.id)
        if not ids:
            raise ToolError("\n".join(problems))
        if len(ids) == 1:
            text = f"Spawned agent `{ids[0]}` (job `{ids[0]}`). Its result follows when it yields."
        else:
            kind = agents[0].record.definition.name
            head = f"Spawned {len(ids)} background agents using {kind}. Their results follow as they yield."
            text = "\n".join([head, *(f"- `{id}` (job `{id}`)" for id in ids)])
        text += "\nContinue with other work or end your turn. Message them with irc; `job` waits for them."
        details = TaskDetails(
            progress=[agent.progress() for agent in agents], async_=AsyncState("running", ids[0])
        )
        return ToolOutput.text("\n".join([text, *problems]), details)

    async def _run_here(
        self, agents: Sequence[Subagent], problems: list[str], caller: Subagent | None, ctx: CodingContext
    ) -> ToolOutput:
        """Wait for all of them, showing what they do."""
        began = time.monotonic()
        for agent in agents:
            self.start(agent)

        def show() -> None:
            done = [one.record.result for one in agents if one.settled.is_set() and one.record.result]
            progress = [one.progress() for one in agents]
            ctx.update(ToolOutput.text("", TaskDetails(results=done, progress=progress)))

        mine = {agent.id for agent in agents}
        stop_showing = self._team.subscribe(
            lambda change, id, event: show() if change != "event" and id in mine else None
        )
        try:
            with self._team.mail.blocking(MAIN if caller is None else caller.id, tuple(mine)):
                async with self._team.slots.lent(caller):
                    ended = await asyncio.gather(*(self.follow(agent) for agent in agents))
        finally:
            stop_showing()
        for agent in agents:
            self.note_delivered(agent)
        paths = [one.output_path for one in ended if isinstance(one.output_path, str)]
        details = TaskDetails(
            results=list(ended),
            total_duration_ms=round((time.monotonic() - began) * 1000),
            output_paths=paths or UNSET,
            progress=[agent.progress() for agent in agents],
        )
        texts = [
            f"{result_text(one)}\n{follow_up(one, is_revivable=is_revivable(agent))}"
            for agent, one in zip(agents, ended, strict=True)
        ]
        is_error = all(one.outcome != "completed" for one in ended)
        return ToolOutput.text("\n\n".join([*texts, *problems]), details, is_error=is_error)

    async def run_one(self, agent: Subagent, caller: str) -> SingleResult:
        """Start an agent and wait for it, for a program."""
        self.start(agent)
        with self._team.mail.blocking(caller, (agent.id,)):
            async with self._team.slots.lent(self._team.roster.find(caller)):
                result = await self.follow(agent)
        self.note_delivered(agent)
        return result

    def start(self, agent: Subagent) -> None:
        agent.start(self._team.setup.first_prompt(agent))

    async def follow(self, agent: Subagent) -> SingleResult:
        """Wait for its result. If the waiter is cancelled, so is the agent."""
        assert agent.task is not None
        task = agent.task
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            agent.stop("Its caller was stopped.")
            await asyncio.wait((task,), timeout=END_S)
            raise

    def note_delivered(self, agent: Subagent) -> None:
        agent.record.delivered = True
        self._team.roster.save(agent)

    def _job(self, agent: Subagent) -> Callable[[Callable[[str], None]], Coroutine[Any, Any, str]]:
        """The work of a background job; it fails if the agent does."""

        async def work(report: Callable[[str], None]) -> str:
            def listen(change: str, id: str, event: object) -> None:
                if change == "progress" and id == agent.id:
                    report("\n".join(agent.recent))

            stop = self._team.subscribe(listen)
            try:
                result = await self.follow(agent)
            finally:
                stop()
            text = f"{result_text(result)}\n{follow_up(result, is_revivable=is_revivable(agent))}"
            if result.outcome != "completed":
                raise TauError(text)
            return text

        return work
