"""When agents come and go: idle, parked, woken, stopped, forgotten."""

import asyncio
from typing import TYPE_CHECKING

from tau.base.clock import now_ms
from tau.base.errors import TauError, UsageError
from tau.coding.task.results import SingleResult, result_text
from tau.coding.task.subagent import Subagent, is_revivable

if TYPE_CHECKING:
    from tau.coding.session.session import Session
    from tau.coding.task.team import Team

MAX_IDLE = 16
"""Sessions of idle agents that stay open; the oldest is parked first."""
CLOSE_S = 5.0


class Lifecycle:
    def __init__(self, team: "Team") -> None:
        self._team = team
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def finish(self, agent: Subagent, result: SingleResult, *, is_wake: bool) -> None:
        """Called once when its work ends, before anyone hears of the result."""
        record = agent.record
        if not is_wake or agent.ending is not None:
            record.result = result
        record.ended_ms = now_ms()
        agent.waiting = False
        if is_wake and agent.ending is not None:
            self._team.mail.relay(agent, result_text(result))
        is_gone = result.outcome == "aborted"
        self._team.roster.set_status(agent, "aborted" if is_gone else "idle")
        self._team.mail.stopped(agent)
        if is_gone:
            self._team.spawn_task(agent.release(), f"end {agent.id}")
            return
        if agent.workspace is not None and not is_wake:
            self._team.spawn_task(self.park(agent), f"park {agent.id}")
        elif agent.session is not None and agent.session.queue.waiting():
            self.wake(agent)  # a message came during the last turn
        else:
            self._arm(agent)

    def _arm(self, agent: Subagent) -> None:
        """Park it when it has been idle for a while; of many idle agents, the oldest now."""
        ttl_ms = self._team.settings.agent_idle_ttl_ms
        if ttl_ms > 0 and not self._team.closing:
            self._disarm(agent)
            loop = asyncio.get_running_loop()
            self._timers[agent.id] = loop.call_later(ttl_ms / 1000, self._park_later, agent)
            idle = [
                one
                for one in self._team.roster.agents.values()
                if one.record.status == "idle" and one.session is not None
            ]
            for old in sorted(idle, key=lambda one: one.record.ended_ms)[: max(len(idle) - MAX_IDLE, 0)]:
                self._park_later(old)

    def _disarm(self, agent: Subagent) -> None:
        if (timer := self._timers.pop(agent.id, None)) is not None:
            timer.cancel()

    def _park_later(self, agent: Subagent) -> None:
        self._disarm(agent)
        if not self._team.closing and not agent.busy and agent.record.status == "idle":
            self._team.spawn_task(self.park(agent), f"park {agent.id}")

    async def park(self, agent: Subagent) -> None:
        """Close its session; a message revives it."""
        if agent.busy or agent.record.status == "aborted":
            return
        if any(child.busy for child in self._team.roster.children(agent.id)):
            self._arm(agent)
            return
        self._team.roster.set_status(agent, "parked")
        await agent.release()
        if agent.workspace is not None and not agent.busy:
            await agent.workspace.close()

    def wake(self, agent: Subagent) -> None:
        """Work on what is queued for it."""
        self._disarm(agent)
        if not agent.busy and not self._team.closing:
            agent.start(None)

    async def revive(self, agent: Subagent) -> "Session":
        """Open the session of a parked agent. Raises TauError."""
        if agent.record.status == "aborted":
            raise TauError(f"{agent.id} was aborted; its transcript is history://{agent.id}.")
        if not is_revivable(agent):
            raise TauError(
                f"{agent.id} worked in a copy that has been merged and removed; start a new agent."
            )
        self._disarm(agent)
        session = await agent.open()
        if agent.record.status == "parked":
            self._team.roster.set_status(agent, "idle")
            self._arm(agent)
        return session

    def stop(self, id: str, reason: str = "The user stopped it.") -> bool:
        """Stop an agent and those it started. False if it was not working."""
        agent = self._team.roster.require(id)
        for child in self._team.roster.children(agent.id):
            self.stop(child.id, reason)
        was_busy = agent.busy
        agent.stop(reason)
        return was_busy

    def abandon(self, agent: Subagent, reason: str) -> None:
        """End an agent that never started."""
        agent.stop_reason = reason
        self._team.roster.set_status(agent, "aborted")

    def stop_all(self, reason: str = "The user stopped it.") -> int:
        running = self._team.roster.running()
        for agent in running:
            agent.stop(reason)
        return len(running)

    async def dismiss(self, id: str) -> None:
        """Forget an agent that does not work; its files stay. Raises UsageError."""
        agent = self._team.roster.require(id)
        if agent.busy:
            raise UsageError(f"{agent.id} is working; stop it first.")
        self._disarm(agent)
        await agent.release()
        self._team.roster.set_status(agent, "aborted")
        del self._team.roster.agents[agent.id]

    async def close(self) -> None:
        """End all agents with the session; those that worked can be revived later."""
        self._team.closing = True
        for timer in self._timers.values():
            timer.cancel()
        self._team.roster.close()
        interrupted = self._team.roster.running()
        for agent in interrupted:
            agent.stop("The session ended.")
            self._team.cancel_job(agent.id)  # reported when the session is resumed
        tasks = [agent.task for agent in interrupted if agent.task is not None]
        if tasks:
            await asyncio.wait(tasks, timeout=CLOSE_S)
        for agent in interrupted:
            agent.record.interrupted, agent.record.result = True, None
            agent.record.status = "parked"
            self._team.roster.save(agent)
        agents = list(self._team.roster.agents.values())
        await asyncio.gather(*(agent.release() for agent in agents), return_exceptions=True)
        places = [agent.workspace for agent in agents if agent.workspace is not None]
        await asyncio.gather(*(place.close() for place in places), return_exceptions=True)
