"""The pager with the conversation of an agent, while it goes on."""

from collections.abc import Callable

from tau.agent.events import AgentEvent
from tau.base.text import quantity
from tau.coding.task.ports import AgentTeam, TeamChange
from tau.modes.agents_report import agent_state
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.dialogs.pager import Pager, PagerAction, waiting_question
from tau.modes.interactive.tool_views.labels import duration
from tau.modes.interactive.transcript.agent_transcript import AgentTranscript

LETTERS = {
    "m": ("message", "message"),
    "s": ("stop", "stop"),
    "r": ("revive", ""),
    "d": ("diff", "diff"),
    "a": ("apply", "apply"),
    "x": ("discard", "discard"),
}


class AgentPager(Pager):
    """`asked` is the action that closed it, if one did."""

    def __init__(
        self,
        context: CommandContext,
        team: AgentTeam,
        id: str,
        transcript: AgentTranscript,
        on_close: Callable[[], None],
    ) -> None:
        self.asked = ""
        self._context = context
        self._team = team
        self._id = id
        self._transcript = transcript
        self._is_loading = False

        def ask(kind: str) -> Callable[[], None]:
            def close() -> None:
                self.asked = kind
                on_close()

            return close

        has_copy = team.has_copy(id)
        shown = {letter: one for letter, one in LETTERS.items() if has_copy or letter in "msr"}
        super().__init__(
            context.display,
            id,
            context.transcript.pager_blocks(transcript.blocks),
            does=[PagerAction(letter, words, ask(kind)) for letter, (kind, words) in shown.items()],
            empty="Nothing yet.",
            waiting=lambda: waiting_question(context),
            tasks=context.tasks,
            on_close=on_close,
        )
        self._set_title()
        self._unsubscribe = team.subscribe(self.on_change)

    def stop(self) -> None:
        self._unsubscribe()
        super().stop()

    def on_change(self, change: TeamChange, id: str, event: AgentEvent | None) -> None:
        if id != self._id:
            return
        if event is not None:
            self._transcript.take(event)
            if self._transcript.is_long and not self._is_loading:
                self._is_loading = True
                self._context.start(self._load_again())
        else:
            self._set_title()
        self._display.request_render()

    def _set_title(self) -> None:
        row = self._team.row(self._id)
        if row is None:
            return
        if row.state not in ("queued", "running"):
            self._transcript.settle()
        facts = [agent_state(row), quantity(row.requests, "request"), f"{row.tokens:,} tokens"]
        facts += [f"${row.cost:.2f}"] if row.cost else []
        self.title = f"{self._id}: {', '.join([*facts, duration(row.duration_ms)])}"

    async def _load_again(self) -> None:
        try:
            await self._transcript.load()
        finally:
            self._is_loading = False
