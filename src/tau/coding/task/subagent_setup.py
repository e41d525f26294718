"""Prepares the sessions of agents: prompts, permissions, gates, logs."""

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.agent.events import Notice
from tau.agent.tool import Tool
from tau.ai.model import Model
from tau.base.errors import ConfigError, SessionError, TauError
from tau.coding.prompts.system import HERE as PROMPTS
from tau.coding.prompts.system import fill
from tau.coding.session.storage.log import SessionLog
from tau.coding.task.budgets import RequestGate, is_unpriced
from tau.coding.task.permissions import AgentPermissions, strictest
from tau.coding.task.questions import AgentDialogs, AgentUi
from tau.coding.task.report_finding import ReportFinding
from tau.coding.task.subagent import AgentRules, Subagent
from tau.coding.task.subagent_options import AGENT_SETTINGS, SubagentOptions
from tau.coding.task.yield_result import Yield

if TYPE_CHECKING:
    from tau.coding.approval.session_permissions import SessionPermissions
    from tau.coding.task.team import Team
    from tau.config.settings import ApprovalMode


class SubagentSetup:
    def __init__(self, team: "Team") -> None:
        self._team = team
        self._told_unpriced = False

    def options_for(self, agent: Subagent) -> SubagentOptions:
        record, definition = agent.record, agent.record.definition
        ui = (
            None
            if self._team.ui is None
            else AgentUi(self._team.ui, agent.id, lambda on: self._team.roster.set_waiting(agent, on))
        )
        dialogs = None
        if ui is not None and self._team.dialogs is not None:
            dialogs = AgentDialogs(
                self._team.dialogs, ui, agent.id, lambda: agent.stop("The user dismissed its question.")
            )
        hidden: list[Tool[Any]] = [Yield(record.output_schema, lambda: agent.last_text)]
        if definition.tools is not None and "report_finding" in definition.tools:
            hidden.append(ReportFinding())
        caller, mode, tools = self._rights(agent)
        settings: dict[str, Any] = dict(AGENT_SETTINGS)
        if not definition.read_summarize:
            settings["read.summarize.enabled"] = False
        place = agent.workspace
        cwd = Path(record.cwd) if place is None else place.cwd
        return SubagentOptions(
            id=agent.id,
            kind=definition.name,
            depth=record.depth,
            team=self._team,
            log=lambda: self._open_log(agent, cwd),
            artifacts=self._team.roster.artifacts,
            cwd=cwd,
            model=agent.model,
            thinking=record.thinking,  # type: ignore[arg-type]
            tools=tools,
            add_tools=[*agent.custom_tools, *hidden],
            system=self._role(agent),
            cache_key=f"{self._team.session.log.header.id}-{definition.name}",
            permissions=lambda plan, log, emit: agent.hold(
                AgentPermissions(caller, mode, plan, log, emit, None if place is None else place.folders)
            ),
            gate=RequestGate(
                agent.meter, self._team.pauses, lambda model: self._check(agent, model), self._team.slots.turn
            ).wrap,
            hooks=AgentRules(agent),
            ui=ui,
            dialogs=dialogs,
            trusted=self._team.session.trusted,
            add_dirs=self._team.add_dirs,
            settings=settings,
            wrap_runner=None if place is None else place.wrap_runner,
        )

    def _rights(self, agent: Subagent) -> "tuple[SessionPermissions, ApprovalMode | None, list[str]]":
        """The permissions it is under, its own mode, and its tools.

        What agents above it were limited to holds too if their sessions are closed. Tools that the
        conversation no longer has are gone.
        """
        mode, above = agent.record.definition.mode, agent.caller
        while above is not None and above.session is None:
            if above.record.definition.mode is not None:
                mode = strictest(above.record.definition.mode, mode)
            above = above.caller
        session = self._team.session if above is None or above.session is None else above.session
        offered = {tool.name for tool in self._team.session.setup().tools}
        tools = [name for name in agent.record.tools if name in offered or name == "irc"]
        return session.permissions, mode, tools

    def _role(self, agent: Subagent) -> str:
        """The same for all agents of a call, so that servers can cache it."""
        record = agent.record
        context = f"\n# Context\n\n{record.context.strip()}\n" if record.context.strip() else ""
        if (plan := self._team.session.plan.approved) is not None:
            context += f"\nThe user approved a plan: {plan}. Read it if your assignment is part of it.\n"
        role = record.definition.prompt
        skills = self._team.session.supplies().skills if record.definition.autoload_skills else None
        for name in record.definition.autoload_skills:
            skill = None if skills is None else next((one for one in skills.skills if one.name == name), None)
            if skill is not None:
                with suppress(ConfigError):
                    role += f"\n\n# Skill {name}\n\n{skill.body()}"
        template = (PROMPTS / "agent.md").read_text(encoding="utf-8").strip()
        return fill(template, role=role.strip(), context=context)

    def first_prompt(self, agent: Subagent) -> str:
        record = agent.record
        peers = [
            one.id
            for one in self._team.roster.agents.values()
            if one is not agent and one.record.status in ("running", "queued", "idle")
        ]
        others = f" Other agents: {', '.join(peers[:20])}." if peers and "irc" in record.tools else ""
        place = (
            ""
            if agent.workspace is None
            else " You work in a copy of the repository; your changes are merged when you yield."
        )
        about = f"[You are {agent.id}; {record.parent} started you.{others}{place}]"
        return f"{record.assignment.strip()}\n\n{about}"

    def _open_log(self, agent: Subagent, cwd: Path) -> SessionLog:
        """A new log, or the one the agent has. Raises SessionError for one that is damaged."""
        path = self._team.roster.log_path(agent.id)
        if not path.exists():
            return SessionLog.new(
                self._team.roster.folder, cwd, blobs=self._team.session.log.blobs, name=path.name
            )
        opened = SessionLog.open(path, blobs=self._team.session.log.blobs)
        messages = opened.messages()
        damage = next((warning for warning in opened.warnings if "damaged" in warning), None)
        if damage is not None or not messages or opened.read_only:
            opened.close()
            reason = damage or opened.read_only or "It has no messages."
            raise SessionError(f"The agent {agent.id} cannot be revived from {path}: {reason}")
        return opened

    def _check(self, agent: Subagent, model: Model) -> None:
        if agent.stop_reason or self._team.closing:
            raise TauError(agent.stop_reason or "The session is ending.")
        if not self._told_unpriced and agent.meter.limits_cost and is_unpriced(model):
            self._told_unpriced = True
            text = f"{model.key} has no prices, so limits of cost do not apply to it; limits of tokens do."
            self._team.session.emit(Notice("warning", text))
