"""Which agents there are, and who hears of them."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from tau.agent.events import AgentEvent
from tau.base import log
from tau.base.errors import UsageError
from tau.coding.artifacts import FolderArtifacts
from tau.coding.task.ports import TeamChange, TeamListener
from tau.coding.task.records import save_record

if TYPE_CHECKING:
    from tau.coding.task.results import AgentStatus
    from tau.coding.task.subagent import Subagent

PROGRESS_S = 0.15


class Roster:
    """All agents by id, in the order in which they were started; each change is saved, then reported."""

    def __init__(self, artifacts: FolderArtifacts) -> None:
        self.agents: dict[str, Subagent] = {}
        self.artifacts = artifacts
        self._listeners: list[TeamListener] = []
        self._progress: dict[str, None] = {}
        self._timer: asyncio.TimerHandle | None = None

    @property
    def folder(self) -> Path:
        return self.artifacts.folder()

    def log_path(self, id: str) -> Path:
        return self.folder / f"{id}.jsonl"

    def unfinished(self, id: str) -> Sequence[AgentEvent]:
        agent = self.find(id)
        return () if agent is None else tuple(agent.unfinished)

    def find(self, id: str) -> "Subagent | None":
        """Ids match without regard to case."""
        if id in self.agents:
            return self.agents[id]
        return next((agent for known, agent in self.agents.items() if known.lower() == id.lower()), None)

    def require(self, id: str) -> "Subagent":
        agent = self.find(id)
        if agent is None:
            raise UsageError(f'There is no agent "{id}".')
        return agent

    def running(self) -> "list[Subagent]":
        return [agent for agent in self.agents.values() if agent.busy]

    def children(self, id: str) -> "list[Subagent]":
        return [agent for agent in self.agents.values() if agent.record.parent == id]

    def subscribe(self, listener: TeamListener) -> Callable[[], None]:
        self._listeners.append(listener)

        def stop() -> None:
            with suppress(ValueError):
                self._listeners.remove(listener)

        return stop

    def save(self, agent: "Subagent") -> None:
        try:
            save_record(self.folder, agent.record)
        except OSError as error:
            log.error(f"The record of the agent {agent.id} could not be saved.", error)

    def set_status(self, agent: "Subagent", status: "AgentStatus") -> None:
        agent.record.status = status
        # A file that says queued or idle means the same to the next process.
        if status != "parked" and (status != "running" or agent.record.result is not None):
            self.save(agent)
        self.tell("lifecycle", agent.id)

    def set_waiting(self, agent: "Subagent", on: bool) -> None:
        agent.waiting = on
        self.tell("lifecycle", agent.id)

    def note(self, agent: "Subagent", event: AgentEvent) -> None:
        """Report an event of its session, and its progress a little later, once for many events."""
        if not self._listeners:
            return
        self.tell("event", agent.id, event)
        self._progress[agent.id] = None
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(PROGRESS_S, self._flush)

    def _flush(self) -> None:
        self._timer = None
        changed, self._progress = self._progress, {}
        for id in changed:
            self.tell("progress", id)

    def tell(self, change: TeamChange, id: str, event: AgentEvent | None = None) -> None:
        for listener in tuple(self._listeners):
            try:
                listener(change, id, event)
            except Exception as error:
                log.error("A listener of agents failed.", error)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._listeners.clear()
