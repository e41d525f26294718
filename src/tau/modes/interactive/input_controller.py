"""From keys to actions of the screen, and from the editor to the session."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tau.base import log
from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.composer.attachments import Attachments
from tau.modes.interactive.composer.draft_autosave import DraftAutosave
from tau.modes.interactive.composer.interrupts import Interrupts
from tau.modes.interactive.composer.message_sender import MessageSender
from tau.modes.interactive.composer.modes import ComposerMode, mode_of, show_mode
from tau.modes.interactive.composer.prompt_recall import PromptRecall
from tau.modes.interactive.composer.type_ahead import TypeAhead
from tau.tui.input.key import InputEvent, Paste
from tau.tui.render.screen import CONSUMED, Consumed
from tau.tui.widgets.editor.bindings import ActionKeys

if TYPE_CHECKING:
    from tau.modes.interactive.app import App
    from tau.tui.widgets.autocomplete import Answer
    from tau.tui.widgets.toast import ToastLevel

clipboard = late("tau.modes.interactive.composer.clipboard")
completion = late("tau.modes.interactive.composer.completion")
model_cycle = late("tau.modes.interactive.composer.model_cycle")
dropped = late("tau.modes.interactive.composer.dropped")
external_editor = late("tau.modes.interactive.composer.external_editor")
attachments = late("tau.modes.interactive.composer.attachments")
past = late("tau.modes.interactive.selectors.prompt_selector")
toasts = late("tau.tui.widgets.toast")

ANYWHERE = frozenset(("app.suspend", "app.display.reset"))
"""What also works while something else than the editor has the focus."""
MAY_DECLINE = frozenset(("app.interrupt", "app.exit", "app.suspend"))
"""Where the action has nothing to do, these keys are the editor's."""
IN_POPUP = ("tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown")
"""While there is a list of completions, its keys are not those of the screen."""
COMMANDS = {
    "app.model.select": "/model",
    "app.session.new": "/new",
    "app.session.tree": "/tree",
    "app.session.fork": "/fork",
    "app.session.resume": "/resume",
    "app.help.hotkeys": "/hotkeys",
}
"""Keys that do what a command does."""


class InputController:
    """`recall` is what was asked before, `mode` what the text is for: a message, the shell or Python."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self.recall = PromptRecall(app)
        self.mode: ComposerMode = ""
        self.is_outside = False
        """Whether an editor of the person's own has the terminal."""
        self._pictures = Attachments(app)
        self._keeper = DraftAutosave(app, self._pictures)
        self.sending = MessageSender(app, self.recall, self._keeper, self._pictures)
        self.interrupts = Interrupts(app, self.sending, self._keeper)
        self._straying = TypeAhead(app)
        self._does = self._actions()
        self._keys = ActionKeys(app.keys, self._does)
        self._in_popup = ActionKeys(app.keys, IN_POPUP)
        self._tabbed = False
        self._follows_up = False
        self._had_session = False
        self._completion: Any = None
        self._hints: Any = None

    def attach(self) -> None:
        """Listen to the keys; bring back what was being written."""
        app = self._app
        editor = app.editor
        editor.set_history(self.recall)
        editor.completing.completions = self
        editor.completing.max_rows = app.settings.interaction.autocomplete_rows
        editor.completing.on_change = lambda: app.screen.render_component(editor)
        editor.completing.on_error = lambda error: log.warning("A completion failed.", error)
        editor.on_submit = self._submit
        editor.on_change = self._changed
        self.recall.on_loaded = self._walk_on
        app.screen.listen(self._hear)
        app.screen.on_unhandled = self._straying.left_over
        self._changed()
        app.front.timer.call_soon(self._keeper.restore)
        app.start(self._until_the_end())

    def take_early(self) -> None:
        """A session is there: send what was sent before, in order."""
        if self._had_session:
            self.recall.forget()
        self._had_session = True
        early, self._app.front.early = self._app.front.early, []
        self.sending.early(early)

    async def _until_the_end(self) -> None:
        """What is started is cancelled at the end, however that comes."""
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self.detach()

    def detach(self) -> None:
        """The end: keep what is being written, and let go of what still looks for files."""
        self._keeper.save_now()
        if self._completion is not None:
            self._completion.close()
        if self._hints is not None:
            self._hints.clear()

    def hint(self, text: str, level: "ToastLevel" = "info", seconds: float | None = None) -> None:
        """A line below the editor that goes away by itself."""
        app = self._app
        if self._hints is None:
            self._hints = toasts.ToastStack(
                app.theme,
                timer=app.front.timer,
                request_render=lambda component: app.screen.request_render(),
                max_shown=2,
            )
            app.screen.root.add(self._hints)
        for toast in self._hints.toasts:  # the last word counts; what went wrong stays its time
            if toast.level == "info":
                self._hints.dismiss(toast)
        self._hints.show(text, level, seconds)

    def complete(self, text: str, cursor: int) -> "Answer":
        """Implements `Completions`; what it takes is loaded when there is something to complete."""
        tabbed, self._tabbed = self._tabbed, False
        if self._completion is None:
            if not tabbed and text[:1] != "/" and "@" not in text[max(cursor - 1_000, 0) : cursor]:
                return None
            self._completion = completion.Completion(self._app)
        answer: Answer = self._completion.complete(text, cursor, tabbed=tabbed)
        return answer

    def _actions(self) -> dict[str, Callable[[], object]]:
        """What each action does."""
        app, interrupts = self._app, self.interrupts
        return {
            "app.interrupt": interrupts.escape,
            "app.clear": interrupts.clear,
            "app.exit": interrupts.leave,
            "app.suspend": interrupts.suspend,
            "app.display.reset": lambda: app.screen.reset_display(),
            "app.thinking.cycle": lambda: self.hint(model_cycle.next_thinking(app)),
            "app.thinking.toggle": lambda: _toggle_thinking(app),
            "app.model.cycleForward": lambda: app.start(model_cycle.next_model(app, 1)),
            "app.model.cycleBackward": lambda: app.start(model_cycle.next_model(app, -1)),
            "app.tools.expand": lambda: _toggle_expanded(app),
            "app.tools.expandOne": lambda: _expand_one(app),
            "app.editor.external": lambda: app.start(external_editor.edit_externally(app)),
            "app.message.followUp": self._follow_up,
            "app.message.dequeue": self._dequeue,
            "app.clipboard.pasteImage": lambda: app.start(self._paste()),
            "app.clipboard.copyPrompt": lambda: app.start(self._copy(app.editor.text)),
            "app.clipboard.copyAnswer": lambda: app.start(self._copy(app.events.last_answer())),
            "app.paste.expand": lambda: app.editor.do("tui.editor.expandPaste"),
            "app.history.search": lambda: app.start(past.choose_prompt(app)),
            "tui.editor.historySearch": lambda: app.start(past.choose_prompt(app)),
            "app.plan.toggle": self._toggle_plan,
            "app.todo.toggle": lambda: app.events.todo.toggle(),
            **{action: self._running(command) for action, command in COMMANDS.items()},
        }

    def _running(self, command: str) -> Callable[[], object]:
        return lambda: self._app.start(self._app.commands.run(command))

    def _hear(self, event: InputEvent) -> InputEvent | Consumed | None:
        """Every key and paste, before the one who has the focus."""
        app = self._app
        writing = app.screen.focused is app.editor
        if not writing and self._straying.takes(event):
            return CONSUMED
        if writing:
            self._straying.written(event)
        if isinstance(event, Paste):
            return CONSUMED if writing and self._drop(event.text) else None
        self._tabbed = app.keys.matches(event, "tui.input.tab")
        action = self._keys.get(event.name)
        if not action or event.kind == "release" or not (writing or action in ANYWHERE):
            return None
        if writing and app.editor.completing.is_open and self._in_popup.get(event.name):
            return None
        if event.kind == "repeat":  # a key that is held does its work once
            return None if action == "app.exit" and not app.editor.is_empty else CONSUMED
        try:
            if self._does[action]() is False and action in MAY_DECLINE:
                return None
        except TauError as error:
            app.banner.show(str(error))
        except Exception as error:
            log.error(f"The key of {action} failed.", error)
            app.banner.show(f"This went wrong inside tau: {error!r}. The log has the details.")
        return CONSUMED

    def _changed(self) -> None:
        """The text is another one."""
        app = self._app
        mode = mode_of(app.editor.first_line)
        if mode != self.mode:
            self.mode = mode
            show_mode(app, mode)
        self._keeper.changed()

    def _submit(self, text: str) -> bool:
        follow_up, self._follows_up = self._follows_up, False
        return self.sending.send(text, follow_up=follow_up)

    def _follow_up(self) -> None:
        self._follows_up = True
        self._app.editor.completing.close()
        self._app.editor.submit()
        self._follows_up = False

    def _dequeue(self) -> None:
        session = self._app.session
        message = None if session is None else session.queue.take_back()
        if message is None:
            self.hint("Nothing waits to be sent.")
        else:
            self.sending.take_back([message])

    def _drop(self, text: str) -> bool:
        """Files of pictures that were dropped on the terminal become marks."""
        if "." not in text or len(text) > dropped.MAX_CHARS:
            return False
        files = dropped.pictures_in(text, self._app.cwd)
        if not files or not any(map(attachments.is_picture, files)):
            return False
        for path in files:
            if not self._pictures.attach(path):  # its name says picture, its content does not
                self._app.editor.insert(f"{path} ")
        return True

    async def _paste(self) -> None:
        found = await clipboard.Clipboard().read()
        if found.picture:
            await self._pictures.attach_data(found.picture)
        elif found.text:
            self._app.editor.paste(found.text)
            self._app.screen.request_render()
        else:
            self.hint(found.problem or "There is neither a picture nor a text in the clipboard.", "warning")

    async def _copy(self, text: str) -> None:
        self.hint(await clipboard.copied(text, self._app.front.terminal))

    def _toggle_plan(self) -> None:
        session = self._app.session
        if session is not None:
            on = session.plan.toggle()
            self._app.status_line.refresh()
            self.hint("Plan mode: the agent only looks and plans." if on else "Plan mode is over.")

    def _walk_on(self) -> None:
        """Older prompts are there now: the step that asked for them is made."""
        if self._app.screen.focused is self._app.editor:
            self._app.editor.do("tui.editor.cursorUp")
            self._app.screen.request_render()


def _toggle_thinking(app: "App") -> None:
    """What changes may be out of sight, so it is told."""
    hidden = app.events.toggle_thinking()
    app.input.hint("Thinking is hidden." if hidden else "Thinking is shown.", seconds=2)


def _toggle_expanded(app: "App") -> None:
    whole = app.events.toggle_expanded()
    app.input.hint("All output is shown." if whole else "Long output is shortened.", seconds=2)


def _expand_one(app: "App") -> None:
    if not app.events.expand_one():
        app.input.hint("No call has more output than is shown.", seconds=2)
