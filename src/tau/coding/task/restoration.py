"""Takes over the agents of an earlier process, and delivers what it could not."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec import UNSET

from tau.ai.model import Model
from tau.base.errors import ConfigError, TauError, UsageError
from tau.base.late import late
from tau.coding.task.ports import MAIN
from tau.coding.task.records import AgentRecord, load_records
from tau.coding.task.results import follow_up, result_text
from tau.coding.task.subagent import Subagent, is_revivable

if TYPE_CHECKING:
    from tau.coding.task.team import Team

request_costs = late("tau.coding.cost_report.request_costs")
workspaces = late("tau.coding.task.workspace")


class Restoration:
    def __init__(self, team: "Team") -> None:
        self._team = team

    async def restore(self) -> None:
        """Take over the agents of an earlier process, and deliver what it did not."""
        path = self._team.session.log.path
        if path is not None:
            self._team.earlier = await asyncio.to_thread(request_costs.child_usage, path)
        records = await asyncio.to_thread(lambda: list(load_records(self._team.roster.folder)))
        shown = await asyncio.to_thread(self._delivered_ids, [record.id for record in records])
        for record in records:
            caller = self._team.roster.agents.get(record.parent)
            agent = Subagent(self._team, record, self._team.spawner.meter(record.definition, caller), caller)
            agent.model, agent.custom_tools = await self._restored_model(record), []
            self._team.roster.agents[record.id] = agent
            if not isinstance(record.isolation, type(UNSET)):
                agent.workspace = workspaces.AgentWorkspace(self._team, agent)
            if record.status in ("running", "queued", "idle"):
                record.interrupted = record.interrupted or record.status != "idle"
                record.status = "parked"
            if record.parent == MAIN and not record.delivered and record.id not in shown:
                self._deliver_late(agent)
            self._team.roster.save(agent)

    async def _restored_model(self, record: AgentRecord) -> Model:
        if record.model != self._team.session.model.key:
            with suppress(UsageError, ConfigError):
                model = await self._team.find_model(record.model)
                if model is not None:
                    return model
        return self._team.session.model

    def _delivered_ids(self, ids: Sequence[str]) -> set[str]:
        """The agents whose results the conversation has, on any branch, compacted or not."""
        quoted = {id: f'"{id}"'.encode() for id in ids}
        found: set[str] = set()
        for node in self._team.session.log.nodes():
            if node.type in ("message", "custom_message"):
                line = self._team.session.log.line(node)
                if b'"customType":"job"' in line or (b'"toolResult"' in line and b'"results":[{' in line):
                    found |= {id for id, text in quoted.items() if text in line}
        return found

    def _deliver_late(self, agent: Subagent) -> None:
        record = agent.record
        if record.result is not None:
            text = (
                f"{result_text(record.result)}\n{follow_up(record.result, is_revivable=is_revivable(agent))}"
            )
        elif record.interrupted:
            text = (
                f"[Subagent {record.id} was interrupted: tau ended while it worked. Message it with irc to"
                f" continue; transcript: history://{record.id}. Its assignment: {record.assignment[:500]}]"
            )
        else:
            return
        with suppress(TauError):
            self._team.mail.put_job_text(record.id, record.description or record.definition.name, text)
            record.delivered = True
