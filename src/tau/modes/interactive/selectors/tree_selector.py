"""Moves to another point of the session tree, optionally summarizing the branch left behind."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from tau.agent.abort import Abort
from tau.base.errors import TauError
from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.selectors.panel import CANCEL, CONFIRM, Hint, Panel, ask_line
from tau.modes.interactive.selectors.pick_list import pick
from tau.modes.interactive.selectors.tree_view import FOLD, FORWARD, TreeView
from tau.tui.component import Component
from tau.tui.widgets.loader import CancellableLoader
from tau.tui.widgets.select_list import SelectItem

tree_navigation = late("tau.coding.session.tree_navigation")

LABEL = "app.tree.label"
HINTS = (
    Hint(CONFIRM, "go there"),
    Hint(CANCEL, "close"),
    Hint(FORWARD, "next filter"),
    Hint(LABEL, "label"),
    Hint(FOLD, "fold"),
)
SUMMARIES = (
    SelectItem("none", "No summary"),
    SelectItem("plain", "Summarize"),
    SelectItem("custom", "Summarize with a custom prompt"),
)


class TreeSelection(NamedTuple):
    kind: Literal["go", "label"]
    id: str


class SummaryChoice(NamedTuple):
    """Whether to summarize the branch left behind, with the user's instructions."""

    wanted: bool
    instructions: str | None = None


async def choose_entry(context: CommandContext) -> None:
    """Show the tree until the user moves or leaves."""
    session = context.require_session()
    picker = TreeSelector(context, session)
    while (selection := await context.ask(picker.open)) is not None and context.session is session:
        if selection.kind == "label":
            await picker.label(selection.id)
        elif await picker.go(selection.id):
            return


class TreeSelector:
    """The tree in its panel, kept when the user returns to it."""

    def __init__(self, context: CommandContext, session: Session) -> None:
        self._context = context
        self._session = session
        self.view = TreeView(context.display, session, context.settings.interaction.tree_filter)
        self.panel = Panel(context.display, "Session tree", self.view, hints=HINTS, fit=self.view.fit)
        self.view.on_shown = self._count
        self._count()

    def open(self, done: Callable[[TreeSelection | None], None]) -> Component:
        """The panel, which returns a selection."""

        def label() -> None:
            row = self.view.selected
            if row is not None:
                done(TreeSelection("label", row.id))

        self.view.on_select = lambda id: done(TreeSelection("go", id))
        self.view.on_cancel = lambda: done(None)
        self.panel.actions[LABEL] = label
        self.view.changed()
        return self.panel

    async def label(self, id: str) -> None:
        """Ask for the label of an entry; an empty one removes it."""
        tree = self._session.tree
        text = await ask_line(
            self._context, "Label this entry", tree.labels.get(id, ""), placeholder="empty: no label"
        )
        if text is not None:
            tree.label(id, text)

    async def go(self, id: str) -> bool:
        """Continue from this entry; False returns to the tree."""
        context, session = self._context, self._session
        if session.tree.is_at(id):
            context.say("Already at this point.")
            return True
        summary: SummaryChoice | None = SummaryChoice(False)
        if context.settings.branch_summary.enabled:
            summary = await ask_summary(context)
        if summary is None:
            return False
        try:
            move = await self._move(id, summary)
        except TauError as error:
            self.panel.tell(str(error), "error")
            return False
        if move is None or move.aborted:
            return False
        if move.cancelled:
            context.say("Canceled; the session has not moved.")
        elif move.already_there:
            context.say("Already at this point.")
        else:
            arrive(context, move)
        return True

    async def _move(self, id: str, summary: SummaryChoice) -> "tree_navigation.Move | None":
        """Move at once, or show a cancelable loader while the summary is written."""
        session = self._session
        if not summary.wanted:
            return await session.goto(id)
        with session.activities.begin(run=True) as abort:
            return await self._summarize(id, summary.instructions, abort)

    async def _summarize(
        self, id: str, instructions: str | None, abort: Abort
    ) -> "tree_navigation.Move | None":
        context, tree = self._context, self._session.tree
        loader = CancellableLoader(
            context.display.theme,
            context.display.keys,
            "Summarizing the branch",
            timer=context.display.timer,
            request_render=context.display.screen.render_component,
            on_abort=abort.abort,
            show_elapsed=True,
        )
        problems: list[TauError] = []

        def make(done: Callable[["tree_navigation.Move | None"], None]) -> Component:
            async def run() -> None:
                move = None
                try:
                    move = await tree.goto(id, summarize=True, instructions=instructions, abort=abort)
                except TauError as error:
                    problems.append(error)
                finally:
                    done(move)

            context.start(run())
            loader.start()
            return Panel(context.display, "Session tree", loader)

        try:
            move = await context.ask(make)
        finally:
            loader.stop()
            abort.abort()  # if the dialog was closed, nothing waits for the summary
        if problems:
            raise problems[0]
        return move

    def _count(self) -> None:
        count = self.view.count
        self.panel.set_note(f"{self.view.filter}, {count:,} {'entry' if count == 1 else 'entries'}")


async def ask_summary(context: CommandContext) -> SummaryChoice | None:
    """Whether to summarize the branch; None returns to the tree."""
    while True:
        answer = await pick(context, "Summarize the old branch?", SUMMARIES, filterable=False, verb="choose")
        match answer:
            case None:
                return None
            case "none":
                return SummaryChoice(False)
            case "plain":
                return SummaryChoice(True)
        instructions = await ask_line(
            context, "What should the summary focus on?", placeholder="e.g. the database decisions", verb="go"
        )
        if instructions is not None:
            return SummaryChoice(True, instructions.strip() or None)


def arrive(context: CommandContext, move: "tree_navigation.Move") -> None:
    """Show the conversation there; text to edit goes before the current draft."""
    context.transcript.rebuild()
    context.status_line.refresh()
    if move.editor_text is not None:
        context.sender.load_message(move.editor_text, move.images)
    context.display.request_render()
