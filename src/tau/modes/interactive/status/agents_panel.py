"""The agents that work in the background: a summary and a few rows, or spoken lines for a screen reader."""

from collections.abc import Callable

from tau.agent.events import AgentEvent
from tau.coding.task.ports import MAIN, AgentTeam, TeamChange
from tau.coding.task.results import AgentProgress
from tau.modes.agents_report import agent_state, rank
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.tool_views.labels import duration
from tau.modes.interactive.tool_views.task import MAX_ROWS, agent_row, summarize
from tau.tui.component import CachedComponent, LiveComponent
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import truncate
from tau.tui.timer import Handle

HUB = "app.agents.hub"
TICK_S = 1.0
_WORKING = ("pending", "running")


class AgentsPanel(CachedComponent, LiveComponent):
    """Shows agents until the last of them is done. `has_block`: a running call shows those it started.

    Ages and "stalled" advance once a second; no timer runs while no agent works.
    """

    def __init__(
        self,
        display: Display,
        team: AgentTeam,
        has_block: Callable[[str], bool],
        say: Callable[[str], None],
    ) -> None:
        self._display = display
        self._team = team
        self._has_block = has_block
        self._say = say
        self._ids: dict[str, None] = {}
        self._shown: list[AgentProgress] = []
        self._spoken: dict[str, str] = {}
        self._pending: Handle | None = None
        self._tick: Handle | None = None
        self._began_s = display.timer.time()
        self._is_covered = False
        self._unsubscribe = team.subscribe(self._on_change)

    def cover(self, covered: bool) -> None:
        """Hide it while something else shows the agents."""
        self._is_covered = covered
        self._put()

    def close(self) -> None:
        self._unsubscribe()
        for handle in (self._pending, self._tick):
            if handle is not None:
                handle.cancel()
        self._ids, self._shown = {}, []
        self._put()

    def _on_change(self, change: TeamChange, id: str, event: AgentEvent | None) -> None:
        if change == "event":
            return
        if self._display.theme.linear:
            if change == "lifecycle":
                self._speak(id)
            return
        if change == "lifecycle" and id not in self._ids:
            row = self._team.row(id)
            if row is not None and row.parent == MAIN and row.status in _WORKING:
                if not self._ids:
                    self._began_s = self._display.timer.time()
                self._ids[id] = None
        if self._ids and self._pending is None:
            self._pending = self._display.timer.call_soon(self._refresh)

    def _speak(self, id: str) -> None:
        """One line for each change of an agent's state."""
        row = self._team.row(id)
        state = "forgotten" if row is None else agent_state(row)
        if state != "pending" and self._spoken.get(id) != state:
            self._spoken[id] = state
            self._say(f"Agent {id}: {state}.")

    def _refresh(self) -> None:
        self._pending = None
        rows = [row for id in self._ids if (row := self._team.row(id)) is not None]
        if not any(row.status in _WORKING or row.waiting for row in rows):
            self._ids, rows = {}, []
        self._shown = [row for row in rows if not self._has_block(row.tool_call)]
        self._put()
        if self._ids and self._tick is None:
            self._tick = self._display.timer.call_later(TICK_S, self._advance)

    def _advance(self) -> None:
        self._tick = None
        self._refresh()

    def _put(self) -> None:
        box = self._display.layout.agents
        self._rows = None
        is_shown = bool(self._shown) and not self._is_covered
        if is_shown != bool(box.children):
            box.clear()
            if is_shown:
                box.add(self)
        self._display.request_render()

    def _render_rows(self, width: int) -> list[str]:
        theme = self._display.theme
        most = min(MAX_ROWS, max(self._display.terminal.rows // 4, 1))
        age = duration(round((self._display.timer.time() - self._began_s) * 1000))
        key = self._display.keys.label(HUB)
        facts = f"{summarize(self._shown)}, {age}" + (f", {key} opens them" if key else "")
        rows = ["", f"{theme['heading']('Agents')} {theme['dim'](clean_line(facts))}"]
        ranked = sorted(self._shown, key=rank)
        rows += [f"  {agent_row(theme, row, max(width - 2, 1))}" for row in ranked[:most]]
        if len(ranked) > most:
            rows.append(theme["dim"](f"  {theme.symbols.ellipsis} {len(ranked) - most} more"))
        return [truncate(row, width, theme.symbols.ellipsis) for row in rows]
