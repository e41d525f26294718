"""From keys to actions of the screen, and from the editor to the session."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tau.base import log
from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.editing.equip import equip
from tau.modes.interactive.editing.history import Recall
from tau.modes.interactive.editing.interrupts import Interrupts
from tau.modes.interactive.editing.keeping import DraftKeeper
from tau.modes.interactive.editing.modes import Mode, mode_of, show_mode
from tau.modes.interactive.editing.pictures import Pictures
from tau.modes.interactive.editing.sending import Sending
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.render.screen import CONSUMED, Consumed
from tau.tui.widgets.editor.bindings import keys_of

if TYPE_CHECKING:
    from tau.modes.interactive.app import App
    from tau.tui.widgets.autocomplete import Answer
    from tau.tui.widgets.toast import Level

clipboard = late("tau.modes.interactive.editing.clipboard")
completion = late("tau.modes.interactive.editing.completion")
cycle = late("tau.modes.interactive.editing.cycle")
dropped = late("tau.modes.interactive.editing.dropped")
external = late("tau.modes.interactive.editing.external")
past = late("tau.modes.interactive.selectors.history")
toasts = late("tau.tui.widgets.toast")

ANYWHERE = frozenset(("app.suspend", "app.display.reset"))
"""What also works while something else than the editor has the focus."""
MAY_DECLINE = frozenset(("app.interrupt", "app.exit", "app.suspend"))
"""Where the action has nothing to do, these keys are the editor's."""
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
        self.recall = Recall(app)
        self.mode: Mode = ""
        self._pictures = Pictures(app)
        self._keeper = DraftKeeper(app, self._pictures)
        self.sending = Sending(app, self.recall, self._keeper, self._pictures)
        self._interrupts = Interrupts(app, self.sending)
        self._does = self._actions()
        self._by_key = {key: action for action in reversed(self._does) for key in app.keys.keys_of(action)}
        self._tab_keys = frozenset(app.keys.keys_of("tui.input.tab"))
        self._tabbed = False
        self._follows_up = False
        self._had_session = False
        self._completion: Any = None
        self._hints: Any = None

    def attach(self) -> None:
        """Listen to the keys; bring back what was being written."""
        app = self._app
        editor = app.editor
        equip(
            editor,
            history=self.recall,
            completions=self,
            popup_rows=app.settings.interaction.autocomplete_rows,
        )
        editor.completing.on_change = lambda: app.screen.render_component(editor)
        editor.completing.on_error = lambda error: log.warning("A completion failed.", error)
        editor.on_submit = self._submit
        editor.on_change = self._changed
        self.recall.on_loaded = self._walk_on
        app.screen.listen(self._hear)
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
        self._keeper.close()
        if self._completion is not None:
            self._completion.close()
        if self._hints is not None:
            self._hints.clear()

    def hint(self, text: str, level: "Level" = "info", seconds: float | None = None) -> None:
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
        app, interrupts = self._app, self._interrupts
        return {
            "app.interrupt": interrupts.escape,
            "app.clear": interrupts.clear,
            "app.exit": interrupts.leave,
            "app.suspend": interrupts.suspend,
            "app.display.reset": lambda: app.screen.reset_display(),
            "app.thinking.cycle": lambda: self.hint(cycle.next_thinking(app)),
            "app.thinking.toggle": lambda: app.events.toggle_thinking(),
            "app.model.cycleForward": lambda: app.start(cycle.next_model(app, 1)),
            "app.model.cycleBackward": lambda: app.start(cycle.next_model(app, -1)),
            "app.tools.expand": lambda: app.events.toggle_expanded(),
            "app.tools.expandOne": lambda: app.events.expand_one(),
            "app.editor.external": lambda: app.start(external.write_outside(app)),
            "app.message.followUp": self._follow_up,
            "app.message.dequeue": self._dequeue,
            "app.clipboard.pasteImage": lambda: app.start(self._paste()),
            "app.clipboard.copyPrompt": lambda: app.start(self._copy(app.editor.text)),
            "app.clipboard.copyAnswer": lambda: app.start(self._copy(app.events.last_answer())),
            "app.paste.expand": self._expand_paste,
            "app.history.search": lambda: app.start(past.choose_prompt(app)),
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
        if isinstance(event, Paste):
            return CONSUMED if writing and self._drop(event.text) else None
        self._tabbed = event.name in self._tab_keys
        action = self._by_key.get(event.name)
        if action is None or event.kind == "release" or not (writing or action in ANYWHERE):
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
        attached = [self._pictures.attach(path) for path in files]
        return bool(attached) and any(attached)

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

    def _expand_paste(self) -> None:
        keys = keys_of(self._app.keys, "tui.editor.expandPaste")
        if keys:
            self._app.editor.handle_input(Key(keys[0]))

    def _toggle_plan(self) -> None:
        session = self._app.session
        if session is not None:
            on = session.plan.toggle()
            self._app.status_line.refresh()
            self.hint("Plan mode: the agent only looks and plans." if on else "Plan mode is over.")

    def _walk_on(self) -> None:
        """Older prompts are there now: the step that asked for them is made."""
        keys = self._app.keys.keys_of("tui.editor.cursorUp")
        if keys and self._app.screen.focused is self._app.editor:
            self._app.editor.handle_input(Key(keys[0]))
            self._app.screen.request_render()
