"""Maps keys to actions, and sends the editor's text to the session."""

from collections.abc import Callable, Sequence

from tau.agent.ui import NoticeLevel
from tau.base import log
from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.command_context import CommandContext
from tau.modes.interactive.composer.composer import Composer
from tau.modes.interactive.composer.input_kinds import ComposerMode, mode_of, show_mode, use_vim_keys
from tau.modes.interactive.composer.type_ahead import TypeAhead
from tau.tui.input.key import InputEvent, Paste
from tau.tui.render.screen import CONSUMED, Consumed
from tau.tui.widgets.autocomplete import Answer, Suggestions
from tau.tui.widgets.editor.bindings import ActionKeys

clipboard = late("tau.modes.interactive.composer.clipboard")
completion = late("tau.modes.interactive.composer.completion")
model_cycle = late("tau.modes.interactive.composer.model_cycle")
dropped = late("tau.modes.interactive.composer.dropped_images")
attachments = late("tau.modes.interactive.composer.attachments")
permissions_report = late("tau.modes.permissions_report")
past = late("tau.modes.interactive.selectors.prompt_selector")

ANYWHERE = frozenset(("app.suspend", "app.display.reset"))
"""Actions available even without editor focus."""
MAY_DECLINE = frozenset(("app.interrupt", "app.exit", "app.suspend", "app.jobs.background"))
"""Keys the editor gets if the action has nothing to do."""
IN_POPUP = ("tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown")
"""Actions disabled while a completion list is open."""
TWICE_S = 0.4
"""Between two presses of Left that open the Agent Hub."""
COMMANDS = {
    "app.model.select": "/model",
    "app.tools.expand": "/transcript",
    "app.session.new": "/new",
    "app.session.tree": "/tree",
    "app.session.fork": "/fork",
    "app.session.resume": "/resume",
    "app.help.hotkeys": "/hotkeys",
    "app.agents.hub": "/hub",
    "app.memory.open": "/memory",
}
"""Keys that run a command."""


class InputController:
    """Each action has a function; its keys come from the keymap."""

    def __init__(
        self,
        context: CommandContext,
        composer: Composer,
        complete_command: Callable[[str, int], Suggestions | None],
    ) -> None:
        display = context.display
        self._context = context
        self._display = display
        self._editor = display.editor
        self._composer = composer
        self._complete_command = complete_command
        self._mode: ComposerMode = ""
        self._type_ahead = TypeAhead(display, context.dialogs, context.notices)
        self._actions_by_name = self._actions()
        self._keys = ActionKeys(display.keys, self._actions_by_name)
        self._in_popup = ActionKeys(display.keys, IN_POPUP)
        self._tabbed = False
        self._left_at = float("-inf")
        self._follows_up = False
        self._had_session = False
        self._completion: completion.Completion | None = None

    def attach(self) -> None:
        """Listen for keys and restore the draft."""
        editor, screen = self._editor, self._display.screen
        editor.set_history(self._composer.recall)
        editor.completing.completions = self
        editor.completing.max_rows = self._context.settings.interaction.autocomplete_rows
        editor.completing.on_change = lambda: screen.render_component(editor)
        editor.completing.on_error = lambda error: log.warning("A completion failed.", error)
        editor.on_submit = self._submit
        editor.on_change = self._on_change
        use_vim_keys(
            self._display, self._context.settings.interaction.vim_keys, self._context.status_line.refresh
        )
        screen.listen(self._on_input)
        screen.on_unhandled = self._type_ahead.keep_paste
        self._on_change()
        self._display.timer.call_soon(self._composer.drafts.restore)

    def begin_session(self, early: Sequence[str]) -> None:
        """Send what was sent before the session existed, in order."""
        if self._had_session:
            self._composer.recall.forget()
        self._had_session = True
        self._composer.sender.send_early(early)

    def detach(self) -> None:
        """Save the draft and stop searching for files."""
        self._composer.drafts.save_now()
        if self._completion is not None:
            self._completion.close()
        self._context.notices.clear_hints()

    def complete(self, text: str, cursor: int) -> Answer:
        """Implements `Completions`; loads its parts on first use."""
        tabbed, self._tabbed = self._tabbed, False
        if self._completion is None:
            if not tabbed and text[:1] != "/" and "@" not in text[max(cursor - 1_000, 0) : cursor]:
                return None
            context = self._context
            self._completion = completion.Completion(
                self._display, context.current, context.tasks, self._complete_command
            )
        return self._completion.complete(text, cursor, tabbed=tabbed)

    def _actions(self) -> dict[str, Callable[[], object]]:
        """The function of each action."""
        context, interrupts = self._context, self._composer.interrupts
        start, transcript = context.start, context.transcript
        return {
            "app.interrupt": interrupts.escape,
            "app.clear": interrupts.clear,
            "app.exit": interrupts.leave,
            "app.suspend": interrupts.suspend,
            "app.display.reset": lambda: self._display.screen.reset_display(),
            "app.thinking.cycle": lambda: self._hint(model_cycle.next_thinking(context)),
            "app.thinking.toggle": lambda: _toggle_thinking(context),
            "app.model.cycleForward": lambda: start(model_cycle.next_model(context, 1)),
            "app.model.cycleBackward": lambda: start(model_cycle.next_model(context, -1)),
            "app.jobs.background": lambda: _move_to_background(context),
            "app.editor.external": lambda: start(self._open_external_editor()),
            "app.message.followUp": self._follow_up,
            "app.message.dequeue": self._dequeue,
            "app.clipboard.pasteImage": lambda: start(self._paste()),
            "app.clipboard.copyPrompt": lambda: start(self._copy(self._editor.text)),
            "app.clipboard.copyAnswer": lambda: start(self._copy(transcript.last_answer())),
            "app.paste.expand": lambda: self._editor.do("tui.editor.expandPaste"),
            "app.history.search": lambda: start(past.choose_prompt(context)),
            "tui.editor.historySearch": lambda: start(past.choose_prompt(context)),
            "app.plan.toggle": self._toggle_plan,
            "app.permissions.cycle": lambda: _cycle_permissions(context),
            "app.todo.toggle": lambda: transcript.todo.toggle(),
            **{action: self._command_action(command) for action, command in COMMANDS.items()},
        }

    def _command_action(self, command: str) -> Callable[[], object]:
        return lambda: self._context.actions.run_command(command)

    def _on_input(self, event: InputEvent) -> InputEvent | Consumed | None:
        """Handle every key and paste before the focused component."""
        editor = self._editor
        writing = self._display.screen.focused is editor
        if not writing and self._type_ahead.redirect(event):
            return CONSUMED
        if writing:
            self._type_ahead.note_editor_key(event)
        if isinstance(event, Paste):
            return CONSUMED if writing and self._attach_dropped(event.text) else None
        if writing and event.name == "left" and event.kind == "press" and self._pressed_left_twice():
            self._context.actions.run_command("/hub")
            return CONSUMED
        self._tabbed = self._display.keys.matches(event, "tui.input.tab")
        action = self._keys.get(event.name)
        if not action and writing and event.kind == "press" and self._run_shortcut(event.name):
            return CONSUMED
        if not action or event.kind == "release" or not (writing or action in ANYWHERE):
            return None
        if writing and editor.completing.is_open and self._in_popup.get(event.name):
            return None
        modal = editor.actions.modal
        if writing and modal is not None and modal.claims(event.name):
            return None
        if event.kind == "repeat":  # a held key acts once
            return None if action == "app.exit" and not editor.is_empty else CONSUMED
        try:
            if self._actions_by_name[action]() is False and action in MAY_DECLINE:
                return None
        except TauError as error:
            self._context.notices.show_error(str(error))
        except Exception as error:
            log.error(f"The {action} key failed.", error)
            self._context.notices.show_error(f"Internal error: {error!r}. See the log for details.")
        return CONSUMED

    def _pressed_left_twice(self) -> bool:
        """On an empty editor, while there are agents to look at."""
        session, now = self._context.session, self._display.timer.time()
        before, self._left_at = self._left_at, now
        if not self._editor.is_empty or session is None or session.team is None or session.team.made is None:
            self._left_at = float("-inf")
            return False
        return now - before < TWICE_S and bool(session.team.made.rows())

    def _run_shortcut(self, key: str) -> bool:
        """Run an extension's shortcut, for a key that is not tau's; False if there is none."""
        session = self._context.session
        if session is None or session.extensions is None:
            return False
        for shortcut in session.extensions.shortcuts():
            if shortcut.key == key:
                self._context.start(shortcut.run())  # type: ignore[arg-type]
                return True
        return False

    def _on_change(self) -> None:
        """The text changed."""
        mode = mode_of(self._editor.first_line)
        if mode != self._mode:
            self._mode = mode
            show_mode(self._display, mode)
        self._composer.drafts.text_changed()

    def _submit(self, text: str) -> bool:
        follow_up, self._follows_up = self._follows_up, False
        return self._composer.sender.send(text, follow_up=follow_up)

    def _follow_up(self) -> None:
        self._follows_up = True
        self._editor.completing.close()
        self._editor.submit()
        self._follows_up = False

    def _dequeue(self) -> None:
        session = self._context.session
        message = None if session is None else session.queue.take_back()
        if message is None:
            self._hint("The queue is empty.")
        else:
            self._composer.sender.return_to_editor([message])

    def _attach_dropped(self, text: str) -> bool:
        """Turn image files dropped on the terminal into placeholders."""
        if "." not in text or len(text) > dropped.MAX_CHARS:
            return False
        files = dropped.find_images(text, self._context.cwd)
        if not files or not any(map(attachments.is_image, files)):
            return False
        for path in files:
            if not self._composer.attachments.attach(path):  # named like an image, but not one
                self._editor.insert(f"{path} ")
        return True

    def _hint(self, text: str, level: NoticeLevel = "info", seconds: float | None = None) -> None:
        self._context.notices.hint(text, level, seconds)

    async def _open_external_editor(self) -> None:
        """Let the user edit the text in an external editor; on failure it stays unchanged."""
        before = self._editor.text
        after = await self._composer.external_editor.edit(before)
        if after != before:
            self._editor.set_text(after)

    async def _paste(self) -> None:
        clip = await clipboard.Clipboard().read()
        if clip.picture:
            await self._composer.attachments.attach_data(clip.picture)
        elif clip.text:
            self._editor.paste(clip.text)
            self._display.request_render()
        else:
            self._hint(clip.problem or "The clipboard has no image or text.", "warning")

    async def _copy(self, text: str) -> None:
        self._hint(await clipboard.copy_text(text, self._display.terminal))

    def _toggle_plan(self) -> None:
        session = self._context.session
        if session is not None:
            on = session.plan.toggle()
            self._hint("Plan mode on: the agent makes no changes." if on else "Plan mode off.")


def _cycle_permissions(context: CommandContext) -> None:
    session = context.session
    if session is not None:
        mode = session.permissions.cycle_mode()
        context.notices.hint(permissions_report.describe_mode(mode))


def _toggle_thinking(context: CommandContext) -> None:
    """Say so, since nothing on the screen may change: rows that are final stay as they are."""
    hidden = context.transcript.toggle_thinking()
    key = context.display.keys.label("app.tools.expand")
    where = f"; {key} shows all of it" if key and not context.display.theme.linear else ""
    context.notices.hint(f"Thinking is {'hidden' if hidden else 'shown'} from now on{where}.")


def _move_to_background(context: CommandContext) -> bool:
    """Turn running commands into jobs; the key moves the cursor if there are none."""
    session = context.session
    if session is None or not session.jobs.foreground.move_to_background():
        return False
    context.notices.hint("Moved to the background; /jobs shows it.", seconds=3)
    return True
