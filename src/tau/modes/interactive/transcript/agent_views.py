"""What the screen shows of subagents: a panel of those in the background, and conversations."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.transcript.block import BlockContext

if TYPE_CHECKING:
    from tau.coding.task.ports import AgentTeam

agents_panel = late("tau.modes.interactive.status.agents_panel")
agent_transcript = late("tau.modes.interactive.transcript.agent_transcript")


class AgentViews:
    """Loads nothing before the session has a team. `has_block`: a running call shows its agents."""

    def __init__(
        self,
        display: Display,
        has_block: Callable[[str], bool],
        say: Callable[[str], None],
        make_context: Callable[[], BlockContext],
    ) -> None:
        self._display = display
        self._has_block = has_block
        self._say = say
        self._make_context = make_context
        self._session: Session | None = None
        self._panel: agents_panel.AgentsPanel | None = None

    def attach(self, session: Session) -> None:
        self.close()
        self._session = session
        if session.team is not None:
            session.team.watch(lambda team: self._show(team, session))

    def close(self) -> None:
        self._session = None
        if self._panel is not None:
            self._panel.close()
            self._panel = None

    def cover(self, covered: bool) -> None:
        """Hide the panel while something else shows the agents."""
        if self._panel is not None:
            self._panel.cover(covered)

    def transcript(self, team: "AgentTeam", id: str) -> "agent_transcript.AgentTranscript":
        """The conversation of an agent."""
        return agent_transcript.AgentTranscript(self._make_context(), team, id)

    def _show(self, team: "AgentTeam", session: Session) -> None:
        if self._session is session:
            self._panel = agents_panel.AgentsPanel(self._display, team, self._has_block, self._say)
