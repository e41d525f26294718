"""The agents of a session, as one part that tools and faces share."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from tau.agent.events import AgentEvent, JobChanged, MessageEnd
from tau.agent.ports import FileSystem
from tau.ai.model import Model
from tau.ai.wire import UserMessage
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.base.run import Runner
from tau.base.tasks import spawn
from tau.coding.artifacts import FolderArtifacts
from tau.coding.jobs.session_jobs import SessionJobs
from tau.coding.ports import CodingDialogs
from tau.coding.session.stats import ModelUsage
from tau.coding.task.budgets import AgentMeter, ProviderPauses
from tau.coding.task.catalog import AgentCatalog, load_agents
from tau.coding.task.definition import AgentBudget, list_agents
from tau.coding.task.delegation import Delegation
from tau.coding.task.lifecycle import Lifecycle
from tau.coding.task.mailbox import Mailroom
from tau.coding.task.ports import MAIN, TaskOrder
from tau.coding.task.restoration import Restoration
from tau.coding.task.results import AgentProgress, SingleResult
from tau.coding.task.roster import Roster
from tau.coding.task.slots import Slots
from tau.coding.task.spawner import Spawner
from tau.coding.task.subagent_options import AgentSessions
from tau.coding.task.subagent_setup import SubagentSetup

if TYPE_CHECKING:
    from tau.agent.ui import Ui
    from tau.coding.session.session import Session
    from tau.coding.task.workspace import AgentWorkspace

T = TypeVar("T")
workspaces = late("tau.coding.task.workspace")


class Team:
    """One per session that a user or a program drives; its agents share it, at any depth.

    `session` is the main one. `find_model` finds a model by pattern; None if there is none or no key.
    """

    def __init__(
        self,
        session: "Session",
        sessions: AgentSessions,
        artifacts: FolderArtifacts,
        jobs: SessionJobs,
        *,
        find_model: Callable[[str], Awaitable[Model | None]],
        builtin: Sequence[str],
        outside: Runner,
        fs: FileSystem,
        copies: Path,
        ui: "Ui | None" = None,
        dialogs: CodingDialogs | None = None,
        meter: AgentMeter | None = None,
        add_dirs: Sequence[Path] = (),
    ) -> None:
        self.session, self.sessions, self.find_model = session, sessions, find_model
        self.ui, self.dialogs, self.add_dirs = ui, dialogs, tuple(add_dirs)
        self.outside, self.fs, self.copies = outside, fs, copies
        self.settings = session.settings.task
        self.meter = meter or AgentMeter(MAIN, AgentBudget(cost=self.settings.max_total_cost))
        self.closing = False
        self.earlier: list[ModelUsage] = []
        """What agents of earlier processes used."""
        self.roster = Roster(artifacts)
        self.slots, self.pauses = Slots(self.settings.max_concurrency), ProviderPauses()
        self.mail = Mailroom(self, session.settings.irc.timeout_ms)
        self.spawner, self.setup, self.life = Spawner(self, builtin), SubagentSetup(self), Lifecycle(self)
        self.delegation = Delegation(self)
        self.merging, self.copying, self.opening = asyncio.Lock(), asyncio.Lock(), asyncio.Lock()
        self.isolation_modes: dict[Path, tuple[str, str]] = {}
        """The mode that works for a repository, and a notice if it is not the wanted one."""
        self._jobs = jobs
        self._catalog: AgentCatalog | None = None
        self.delegate, self.subscribe = self.delegation.delegate, self.roster.subscribe
        self.log_path, self.unfinished = self.roster.log_path, self.roster.unfinished
        self.dismiss, self.stop_all, self.close = self.life.dismiss, self.life.stop_all, self.life.close
        self.restore = Restoration(self).restore
        self.mark_running, self.cancel_job = jobs.mark_running, jobs.cancel
        session.stats.children = self._usage_parts
        session.subscribe(self._watch_main)
        self._on_delivered = jobs.on_delivered
        jobs.on_delivered = self._job_delivered

    def catalog(self, *, fresh: bool = False) -> AgentCatalog:
        if self._catalog is None or fresh:
            supplies = self.session.supplies

            def discovery() -> Any:
                found = supplies().discovery
                if fresh:
                    found.refresh()
                return found

            self._catalog = load_agents(discovery, self.settings.disabled_agents)
        return self._catalog

    def describe(self, caller: str) -> str:
        agent = self.roster.find(caller) if caller else None
        agents = self.catalog().agents
        return list_agents(
            [one for one in agents if agent is None or agent.record.definition.may_spawn(one.name)]
        )

    async def run(self, order: TaskOrder, caller: str) -> SingleResult:
        agent = await self.spawner.spawn(order, self.roster.find(caller) if caller else None)
        return await self.delegation.run_one(agent, caller or MAIN)

    def rows(self) -> list[AgentProgress]:
        return [agent.progress() for agent in self.roster.agents.values()]

    def row(self, id: str) -> AgentProgress | None:
        agent = self.roster.find(id)
        return None if agent is None else agent.progress()

    def result(self, id: str) -> SingleResult | None:
        agent = self.roster.find(id)
        return None if agent is None else agent.record.result

    def stop(self, id: str) -> bool:
        return self.life.stop(id)

    async def wake(self, id: str) -> None:
        await self.life.revive(self.roster.require(id))

    def _workspace(self, id: str) -> "AgentWorkspace":
        agent = self.roster.require(id)
        if agent.workspace is None:
            raise TauError(f"{agent.id} did not work in a copy; its changes are in the files already.")
        return agent.workspace

    def has_copy(self, id: str) -> bool:
        workspace = self.roster.require(id).workspace
        return workspace is not None and workspace.usable

    async def apply(self, id: str) -> str:
        return await self._workspace(id).apply()

    async def discard(self, id: str) -> str:
        return await self._workspace(id).discard()

    async def diff(self, id: str) -> str:
        return await self._workspace(id).diff()

    def spawn_task(self, work: Coroutine[Any, Any, T], name: str) -> "asyncio.Task[T]":
        if self._jobs.group is None:
            work.close()
            raise ToolError("The session has ended.")
        return spawn(self._jobs.group, work, name=name)

    def tell_main(self, sender: str, label: str) -> None:
        """Something is queued for the main conversation: an idle one starts a turn."""
        self.session.emit(JobChanged(sender, "message", label, 0, queued=True))

    def _usage_parts(self) -> Iterator[ModelUsage]:
        yield from self.earlier
        for agent in list(self.roster.agents.values()):
            for (provider, model), usage in agent.meter.by_model.items():
                yield ModelUsage(provider, model, agent.meter.total_requests, usage)

    def _watch_main(self, event: AgentEvent) -> None:
        if isinstance(event, MessageEnd) and isinstance(event.message, UserMessage):
            self.spawner.spawned = 0

    def _job_delivered(self, job: Any) -> None:
        self._on_delivered(job)
        if (agent := self.roster.agents.get(job.id)) is not None:
            self.delegation.note_delivered(agent)
