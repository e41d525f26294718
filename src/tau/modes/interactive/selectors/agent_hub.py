"""The Agent Hub: the agents of the session as a tree, what each does and costs, and what can be done."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tau.agent.events import AgentEvent
from tau.base.errors import TauError
from tau.base.text import quantity
from tau.coding.task.ports import MAIN, USER, AgentTeam, TeamChange
from tau.coding.task.results import AgentProgress
from tau.modes.agents_report import agent_activity, agent_state
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.dialog_widgets import FocusDelegate
from tau.modes.interactive.dialogs.pager import TextPager, show_pager
from tau.modes.interactive.screen_protocols import Display
from tau.modes.interactive.selectors.agent_pager import AgentPager
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, ask_line
from tau.modes.interactive.selectors.pick_list import PickList, pick
from tau.modes.interactive.tool_views.labels import duration, one_line
from tau.modes.interactive.tool_views.task import summarize
from tau.tui.component import Component
from tau.tui.text.cut import truncate
from tau.tui.timer import Handle
from tau.tui.widgets.select_items import SelectItem

REFRESH_S = 0.5
ABOUT_ROWS = 3
ROWS_FOR_ABOUT = 18
ACTIONS = {
    "message": "Send a message",
    "stop": "Stop it and those it started",
    "stopAll": "Stop all agents",
    "revive": "Open it again",
    "release": "Forget it; its transcript stays",
}
COPY_ACTIONS = {
    "diff": "Show what it changed in its copy",
    "apply": "Merge what it changed in its copy",
    "discard": "Throw its copy away; the patch stays",
}
QUESTION = "A question is waiting; {key} closes this and shows it."


class HubRequest(NamedTuple):
    """What to do with which agent."""

    kind: str
    id: str


async def open_hub(context: CommandContext) -> None:
    """Show the agents until the user leaves. Raises TauError."""
    session = context.require_session()
    if session.team is None:
        raise TauError("This session has no agents.")
    hub = AgentHub(context, session.team())
    context.transcript.agents.cover(True)
    try:
        while (request := await context.ask(hub.open)) is not None and context.session is session:
            await hub.act(request)
    finally:
        context.transcript.agents.cover(False)
        hub.close()


class AgentHub:
    """The dialog's state. Rows keep their order; they are drawn again at most twice a second."""

    def __init__(self, context: CommandContext, team: AgentTeam) -> None:
        self._context = context
        self._display = context.display
        self._team = team
        self._list: PickList[str] = PickList(
            context.display, empty_text="No agents yet. The model starts them, or ask it to."
        )
        self._body = HubBody(context.display, self._list, self._about)
        self._panel = Panel(context.display, "Agents", self._body, hints=self._hints, fit=self._body.fit)
        self._is_open = False
        self._timer: Handle | None = None
        self._unsubscribe = team.subscribe(self._on_change)

    def close(self) -> None:
        self._unsubscribe()
        self._stop_timer()

    def open(self, done: Callable[[HubRequest | None], None]) -> Component:
        """The panel, which returns a request."""

        def request(kind: str) -> Callable[[], None]:
            def send() -> None:
                item = self._list.selected
                if item is not None:
                    self._stop_timer()
                    done(HubRequest(kind, item.value))

            return send

        def leave() -> None:
            self._stop_timer()
            done(None)

        self._list.on_select = lambda item: request("open")()
        self._list.on_cancel = leave
        self._panel.actions |= {
            f"app.agents.{kind}": request(kind) for kind in (*ACTIONS, *COPY_ACTIONS, "actions")
        }
        self._panel.actions |= {"app.agents.stop": self._stop, "app.agents.stopAll": self._stop_all}
        self._panel.actions["app.agents.hub"] = leave
        self._is_open = True
        self._refresh()
        return self._panel

    def _stop_timer(self) -> None:
        self._is_open = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _on_change(self, change: TeamChange, id: str, event: AgentEvent | None) -> None:
        if change == "lifecycle" and self._is_open and not self._display.theme.linear:
            self._stop_timer()
            self._is_open = True
            self._timer = self._display.timer.call_later(0.05, self._refresh)

    def _refresh(self) -> None:
        """Read the agents again; a screen reader hears of changes elsewhere, and of the list on a key."""
        self._timer = None
        rows = self._team.rows()
        self._list.set_items(self._item(row, depth) for row, depth in in_tree(rows))
        working = [row for row in rows if row.state in ("queued", "running")]
        self._panel.set_note(summarize(working) if working else quantity(len(rows), "agent"))
        if self._context.dialogs.queued:
            key = self._display.keys.label(CANCEL)
            self._panel.tell(QUESTION.format(key=key))
        self._body.refresh()
        self._display.request_render()
        if self._is_open and working and not self._display.theme.linear:
            self._timer = self._display.timer.call_later(REFRESH_S, self._refresh)

    def _item(self, row: AgentProgress, depth: int) -> SelectItem[str]:
        state = agent_state(row)
        if row.status not in ("pending", "running") and row.state in ("idle", "parked"):
            state = f"{state}, {row.state}"
        unread = self._team.mail.unread(row.id)
        hint = [f"{unread} unread"] if unread else []
        hint += [f"${row.cost:.2f}"] if row.cost else []
        words = f"{state}, {duration(row.duration_ms)}: {one_line(agent_activity(row), 200)}"
        return SelectItem(row.id, f"{'  ' * depth}{row.id}", words, "", ", ".join(hint))

    def _about(self) -> Sequence[str]:
        """More about the highlighted agent."""
        item = self._list.selected
        row = None if item is None else self._team.row(item.value)
        if row is None:
            return ()
        facts = [row.agent, row.model.rpartition("/")[2], quantity(row.requests, "request")]
        facts += [f"{row.tokens:,} tokens", *([f"${row.cost:.4f}"] if row.cost else [])]
        by = f", started by {row.parent}" if row.parent != MAIN else ""
        last = row.recent_output[-1] if row.recent_output else ""
        return [f"{', '.join(facts)}{by}", one_line(row.description or row.task, 400), one_line(last, 400)]

    def _hints(self) -> list[Hint]:
        keys = {"actions": "actions", "message": "message", "stop": "stop", "stopAll": "stop all"}
        hints = [Hint(CONFIRM, "transcript"), Hint(CANCEL, "close")]
        return hints + [Hint(f"app.agents.{name}", text) for name, text in keys.items()]

    def _stop(self) -> None:
        item = self._list.selected
        if item is not None:
            stopped = self._team.stop(item.value)
            self._panel.tell(
                f"Stopping {item.value}." if stopped else f"{item.value} is not working.", "info"
            )

    def _stop_all(self) -> None:
        count = self._team.stop_all()
        self._panel.tell(f"Stopping {quantity(count, 'agent')}." if count else "No agent is working.", "info")

    async def act(self, request: HubRequest) -> None:
        """Do it; the panel says how it went."""
        try:
            if request.kind == "open":
                await self._show_transcript(request.id)
            elif request.kind == "actions":
                possible = ACTIONS | (COPY_ACTIONS if self._team.has_copy(request.id) else {})
                items = [SelectItem(kind, words) for kind, words in possible.items()]
                kind = await pick(self._context, request.id, items, verb="do it", filterable=False)
                if kind is not None:
                    await self.act(HubRequest(kind, request.id))
            elif words := await self._do(request.kind, request.id):
                self._panel.tell(words, "info")
        except TauError as error:
            self._panel.tell(str(error), "error")

    async def _do(self, kind: str, id: str) -> str:
        """What to tell the user. Raises TauError."""
        team = self._team
        match kind:
            case "message":
                return await self._message(id)
            case "stop":
                return f"Stopping {id}." if team.stop(id) else f"{id} is not working."
            case "stopAll":
                return f"Stopping {quantity(team.stop_all(), 'agent')}."
            case "revive":
                await team.wake(id)
                return f"{id} is open; a message makes it work."
            case "release":
                await team.dismiss(id)
                return f"Forgot {id}; its transcript stays."
            case "diff":
                return await self._show_diff(id)
            case "apply":
                return await team.apply(id)
            case _:
                return await self._discard(id)

    async def _message(self, id: str) -> str:
        row = self._team.row(id)
        if row is not None and row.state == "aborted":
            raise TauError(f"{id} was aborted, so it reads no messages; start a new agent.")
        text = await ask_line(self._context, f"Message to {id}", verb="send")
        if text is None or not text.strip():
            return ""
        receipt = await self._team.mail.send(USER, id, text.strip())
        if receipt.outcome == "failed":
            raise TauError(str(receipt.error))
        words = {"injected": "sees it after the current step", "woken": "works on it"}
        return f"{id} {words.get(receipt.outcome, 'was opened again and works on it')}."

    async def _show_diff(self, id: str) -> str:
        text = await self._team.diff(id)
        if not text.strip():
            return f"{id} has changed no files."
        await show_pager(
            self._context,
            lambda close: TextPager(
                self._context, f"Changes of {id}", lambda: text, empty="No changes.", on_close=close
            ),
        )
        return ""

    async def _discard(self, id: str) -> str:
        choices = [SelectItem(False, "Keep", "change nothing"), SelectItem(True, "Throw away", "for good")]
        title = f"Throw away the copy of {id}?"
        if not await pick(self._context, title, choices, verb="confirm", filterable=False):
            return ""
        return await self._team.discard(id)

    async def _show_transcript(self, id: str) -> None:
        """The live transcript, again after an action chosen there."""
        words = ""
        while self._team.row(id) is not None:
            asked = await self._show_pager(id, words)
            if not asked:
                return
            try:
                words = await self._do(asked, id)
            except TauError as error:
                words = str(error)

    async def _show_pager(self, id: str, words: str) -> str:
        """Returns the action that closed it."""
        transcript = self._context.transcript.agents.transcript(self._team, id)
        pager: list[AgentPager] = []

        def make(close: Callable[[], None]) -> AgentPager:
            pager.append(AgentPager(self._context, self._team, id, transcript, close))
            pager[0].say(words)
            return pager[0]

        def take(change: TeamChange, changed: str, event: AgentEvent | None) -> None:
            if changed == id and event is not None:
                transcript.take(event)

        stop_taking = self._team.subscribe(take)
        try:
            await transcript.load()
        except OSError as error:
            raise TauError(f"The transcript of {id} cannot be read: {error.strerror or error}") from None
        finally:
            stop_taking()  # the pager takes over, without a step between
        await show_pager(self._context, make)
        return pager[0].asked


class HubBody(FocusDelegate):
    """The list, and below it more about the highlighted agent."""

    def __init__(self, display: Display, agents: PickList[str], about: Callable[[], Sequence[str]]) -> None:
        self._display = display
        self.inside = self._agents = agents
        self._about = about
        self._rows: list[str] = []
        self._drawn_for: tuple[Any, ...] = ()
        self._listed: Sequence[str] = ()

    def refresh(self) -> None:
        self._drawn_for = ()

    @property
    def _below(self) -> int:
        roomy = self._display.terminal.rows >= ROWS_FOR_ABOUT and not self._display.theme.linear
        return ABOUT_ROWS + 1 if roomy else 0

    def fit(self, rows: int, width: int) -> None:
        self._agents.fit(max(rows - self._below, 1), width)

    def invalidate(self) -> None:
        self._drawn_for = ()
        super().invalidate()

    def render(self, width: int) -> Sequence[str]:
        listed = self._agents.render(width)
        state = (width, self._below)
        if listed is not self._listed or state != self._drawn_for:
            self._listed = listed
            theme = self._display.theme
            about = self._about() if self._below else ()
            below = [theme["muted"](truncate(text, width, theme.symbols.ellipsis)) for text in about if text]
            self._rows = [*listed, *([""] if below else []), *below]
            self._drawn_for = state
        return self._rows


def in_tree(rows: Sequence[AgentProgress]) -> list[tuple[AgentProgress, int]]:
    """Each agent after the one that started it, with its depth; those of one caller as they were started."""
    known = {row.id for row in rows}
    below: dict[str, list[AgentProgress]] = {}
    for row in rows:
        below.setdefault(row.parent if row.parent in known else MAIN, []).append(row)
    found: list[tuple[AgentProgress, int]] = []
    pending = [(row, 0) for row in reversed(below.get(MAIN, []))]
    while pending:
        row, depth = pending.pop()
        found.append((row, depth))
        pending += [(child, depth + 1) for child in reversed(below.get(row.id, []))]
    return found
