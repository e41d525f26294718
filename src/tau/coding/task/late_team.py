"""The agents of a session, made when one is first needed."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tau.coding.task.ports import AgentTeam

LISTING = Path(__file__).parent / "agents" / "listing.txt"
"""The bundled agents as prompts list them, so that a session without others reads nothing else."""


class LateTeam:
    """`made` is None until an agent, or a face that shows them, needs the team.

    `describe` lists the agents that the session may start. `others`: there may be more than the bundled ones.
    """

    def __init__(self, make: "Callable[[], AgentTeam]", *, agent: str = "", others: bool = False) -> None:
        self._make = make
        self.agent = agent
        self._others = others
        self.made: AgentTeam | None = None

    def __call__(self) -> "AgentTeam":
        if self.made is None:
            self.made = self._make()
        return self.made

    async def restore(self, folder: Path | None) -> None:
        """Take over the agents that an earlier process left in the session's folder."""
        if folder is not None and not self.agent and folder.is_dir() and any(folder.glob("*.agent.json")):
            await self().restore()

    def describe(self) -> str:
        if self._others or self.agent:
            return self().describe(self.agent)
        return LISTING.read_text(encoding="utf-8")
