"""Makes new agents: which definition, model and tools they get, and whether they may start at all."""

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from tau.agent.tool import Tool, is_named
from tau.ai.model import Model, ThinkingLevel
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, ToolError, UsageError
from tau.base.late import late
from tau.coding.task import agent_ids
from tau.coding.task.budgets import AgentMeter, tightest
from tau.coding.task.definition import AgentBudget, AgentDefinition
from tau.coding.task.ports import MAIN, TaskOrder
from tau.coding.task.records import AgentRecord, taken_ids
from tau.coding.task.subagent import Subagent

if TYPE_CHECKING:
    from typing import Any

    from tau.coding.session.session import Session
    from tau.coding.task.team import Team

workspaces = late("tau.coding.task.workspace")

OWN_TO_CALLER = frozenset(
    {
        *("todo", "checkpoint", "rewind", "ask", "job", "task", "irc", "yield", "report_finding"),
        "search_tool_bm25",
    }
)
PLAN_TOOLS = frozenset({"read", "search", "find", "lsp", "web_search"})
ROLES = ("default", "smol", "slow", "vision", "plan", "task", "commit")


class Spawner:
    """`builtin` are the names of tau's own tools; `spawned` counts the agents of the current prompt."""

    def __init__(self, team: "Team", builtin: Sequence[str]) -> None:
        self._team = team
        self._builtin = builtin
        self._taken: set[str] | None = None
        self.spawned = 0

    async def spawn(self, order: TaskOrder, caller: Subagent | None) -> Subagent:
        """Register a new agent. Raises ToolError with a sentence for the model."""
        await self._team.slots.turn()
        definition = self.definition(order.agent, caller)
        depth = 1 if caller is None else caller.record.depth + 1
        if depth > self._team.settings.max_recursion_depth:
            raise ToolError(
                f"Agents nest {self._team.settings.max_recursion_depth} deep (task.maxRecursionDepth)."
            )
        if self._team.closing:
            raise ToolError("The session is ending; no agent can start.")
        if self._team.settings.max_agents and self.spawned >= self._team.settings.max_agents:
            raise ToolError(
                f"{self.spawned} agents have been started for this prompt, the limit (task.maxAgents). "
                "Work with those you have, or finish without more."
            )
        if (reason := (self._team.meter if caller is None else caller.meter).exhausted()) is not None:
            raise ToolError(reason)
        self.spawned += 1
        owner = self._team.session if caller is None else await caller.open()
        model, thinking, note = await self._pick_model(definition, order.model, owner)
        planning = self._team.session.permissions.mode == "plan"
        tools, custom = self._tools(definition, owner, depth, planning=planning)
        parent = MAIN if caller is None else caller.id
        record = AgentRecord(
            id=self._allocate(order.id, parent),
            definition=definition,
            assignment=order.text,
            context=order.context,
            description=order.description,
            parent=parent,
            depth=depth,
            index=order.index,
            tool_call=order.tool_call,
            tools=tools,
            custom_tools=[tool.name for tool in custom],
            output_schema=order.schema or definition.output,
            model=model.key,
            thinking=thinking,
            cwd=str(owner.cwd),
            started_ms=now_ms(),
        )
        agent = Subagent(self._team, record, self.meter(definition, caller), caller)
        agent.model, agent.custom_tools = model, custom
        if note:
            agent.notes.append(note)
        if order.isolated or definition.isolated:
            agent.workspace = workspaces.AgentWorkspace(self._team, agent)
            record.isolation = {"mode": self._team.settings.isolation.mode}
        self._team.roster.agents[record.id] = agent
        self._team.roster.save(agent)
        self._team.roster.tell("lifecycle", agent.id)
        return agent

    def definition(self, name: str, caller: Subagent | None) -> AgentDefinition:
        """Raises ToolError if it cannot be started by this caller."""
        catalog = self._team.catalog()
        found = catalog.find(name) or self._team.catalog(fresh=True).find(name)
        if found is None:
            problem = next((one.why for one in self._team.catalog().problems if one.name == name), "")
            raise ToolError(
                f'There is no agent "{name}". {problem} There are: {self._team.catalog().names}.'.replace(
                    "  ", " "
                )
            )
        if caller is not None and not caller.record.definition.may_spawn(name):
            allowed = ", ".join(caller.record.definition.spawns) or "none"
            raise ToolError(
                f'{caller.record.definition.name} may not start "{name}"; it may start: {allowed}.'
            )
        return found

    def _allocate(self, wanted: str | None, parent: str) -> str:
        if self._taken is None:
            self._taken = taken_ids(self._team.roster.folder) | {
                job.id.lower() for job in self._team.session.jobs.list()
            }
        id = agent_ids.allocate(wanted, self._taken, parent)
        self._taken.add(id.lower())
        return id

    def meter(self, definition: AgentDefinition, caller: Subagent | None) -> AgentMeter:
        own = self._team.settings
        limits = AgentBudget(
            own.soft_request_budget, own.max_tokens, own.max_cost, -(-own.max_runtime_ms // 1000)
        )
        parent = self._team.meter if caller is None else caller.meter
        return AgentMeter("", tightest(definition.budget, limits), parent)

    async def _pick_model(
        self, definition: AgentDefinition, wanted: str | None, owner: "Session"
    ) -> tuple[Model, ThinkingLevel, str]:
        """The first usable one: asked for, in the settings, of the definition, of the caller."""
        override = self._team.settings.agent_model_overrides.get(definition.name)
        patterns = [one for one in (wanted, override) if one] or list(definition.models)
        level = definition.thinking or owner.thinking
        for pattern in patterns:
            if pattern in ROLES or owner.models.role(pattern).key != owner.models.default.key:
                return (
                    owner.models.role(pattern),
                    definition.thinking or owner.models.level(pattern) or level,
                    "",
                )
            with suppress(UsageError, ConfigError):
                model = await self._team.find_model(pattern)
                if model is not None:
                    return model, level, ""
        note = f"{', '.join(patterns)} cannot be used; {owner.model.key} did the work." if patterns else ""
        return owner.model, level, note

    def _tools(
        self, definition: AgentDefinition, owner: "Session", depth: int, *, planning: bool
    ) -> "tuple[list[str], list[Tool[Any]]]":
        """The names of those it shares with its caller, and custom ones: at most those of its caller."""
        offered = {tool.name: tool for tool in owner.setup().tools}
        wanted = {name for name in offered if is_named(name, definition.tools)}
        wanted -= OWN_TO_CALLER | set(definition.disallowed_tools)
        if planning:
            wanted &= PLAN_TOOLS
        tools = [name for name in self._builtin if name in wanted and name in offered]
        custom = [tool for name, tool in offered.items() if name in wanted and name not in self._builtin]
        tools += [tool.name for tool in custom if tool.origin.kind == "mcp"]
        custom = [tool for tool in custom if tool.origin.kind != "mcp"]
        may_delegate = (
            bool(definition.spawns) and "task" in offered and "task" not in definition.disallowed_tools
        )
        if may_delegate and not planning and depth < self._team.settings.max_recursion_depth:
            tools.append("task")
        if "irc" not in definition.disallowed_tools:
            tools.append("irc")
        return tools, custom
