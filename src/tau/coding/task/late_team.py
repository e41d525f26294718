"""The agents of a session, made when one is first needed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tau.base.late import late

if TYPE_CHECKING:
    from tau.coding.task.ports import AgentTeam
    from tau.coding.task.results import SingleResult

ports = late("tau.coding.task.ports")

LISTING = Path(__file__).parent / "agents" / "listing.txt"
"""The bundled agents as prompts list them, so that a session without others reads nothing else."""


class LateTeam:
    """`made` is None until an agent, or a face that shows them, needs the team, which `make` makes.

    `agent` is the id of the agent whose session this is; `others`: there may be more than the bundled agents.
    """

    def __init__(self, agent: str = "") -> None:
        self.agent = agent
        self.others = False
        self.make: Callable[[], AgentTeam] | None = None
        self.made: AgentTeam | None = None
        self.meter: Any = None  # of the whole session, if its cost is limited
        self._watchers: list[Callable[[AgentTeam], None]] = []

    def __call__(self) -> "AgentTeam":
        if self.made is None:
            assert self.make is not None
            self.made = self.make()
            watchers, self._watchers = self._watchers, []
            for watcher in watchers:
                watcher(self.made)
        return self.made

    def watch(self, watcher: "Callable[[AgentTeam], None]") -> None:
        """Call it with the team, now or once there is one."""
        if self.made is None:
            self._watchers.append(watcher)
        else:
            watcher(self.made)

    async def spawn(
        self,
        assignment: str,
        *,
        agent: str = "task",
        context: str = "",
        id: str | None = None,
        schema: dict[str, Any] | None = None,
        model: str | None = None,
        isolated: bool = False,
    ) -> "SingleResult":
        """Start an agent for a program, and wait for its result. Raises ToolError."""
        order = ports.TaskOrder(
            agent=agent,
            text=assignment,
            context=context,
            id=id,
            schema=schema,
            model=model,
            isolated=isolated,
        )
        return await self().run(order, self.agent)

    async def restore(self, folder: Path | None) -> None:
        """Take over the agents that an earlier process left in the session's folder."""
        if folder is not None and not self.agent and folder.is_dir() and any(folder.glob("*.agent.json")):
            await self().restore()

    def describe(self) -> str:
        """The agents that the session may start, for a prompt."""
        if self.others or self.agent:
            return self().describe(self.agent)
        return LISTING.read_text(encoding="utf-8")
