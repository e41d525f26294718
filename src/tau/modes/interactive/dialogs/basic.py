"""Basic dialogs: choose one, yes or no, a line of text, a longer text."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from tau.modes.interactive.composer.external_editor import ExternalEditor
from tau.modes.interactive.dialogs.dialog_widgets import (
    ChoiceRows,
    DialogChoice,
    DialogFrame,
    FocusDelegate,
    Window,
    long_text,
)
from tau.modes.interactive.screen_protocols import Display, Tasks
from tau.tui.component import Component
from tau.tui.input.key import InputEvent
from tau.tui.text.wrap import wrap
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.select_list import SelectItem, SelectList
from tau.tui.widgets.text import Text

T = TypeVar("T")
_Done = Callable[[T | None], None]

MAX_OPTIONS = 1_000
NUMBERED_OPTIONS = 9
HEADING_CHARS = 70
"""Questions up to this length go into the frame, longer ones below it."""
UP, DOWN = "tui.select.up", "tui.select.down"
PAGE_UP, PAGE_DOWN = "tui.select.pageUp", "tui.select.pageDown"
CONFIRM, CANCEL = "tui.select.confirm", "tui.select.cancel"


class ChoicePanel(DialogFrame):
    """A text and its answers. A digit or letter answers at once; Enter takes the highlighted one."""

    takes_pasted_keys = False

    def __init__(
        self,
        display: Display,
        title: str,
        text: str | Component,
        choices: Sequence[DialogChoice],
        done: Callable[[Any], None],
        *,
        at: int = 0,
        ends: bool = True,
        cancels: str = "cancels",
    ) -> None:
        super().__init__(display, title)
        self.choices = ChoiceRows(display.theme, choices, at=at)
        self.done = done
        self._cancels = cancels
        inside = Text(display.theme, long_text(text)) if isinstance(text, str) else text
        self.window = Window(display.theme, inside, self._window_rows, self._scroll_keys(), ends=ends)
        self._below_rows = 0

    def handle_input(self, event: InputEvent) -> bool:
        matches = self.keys.matches
        if (place := self.choices.place_of(event)) is not None:
            self.choices.at = place
            self.choose(self.choices.chosen)
        elif matches(event, UP) or matches(event, DOWN):
            self.choices.move(-1 if matches(event, UP) else 1)
        elif matches(event, PAGE_UP) or matches(event, PAGE_DOWN):
            self.window.scroll(-1 if matches(event, PAGE_UP) else 1)
        elif matches(event, CONFIRM):
            self.choose(self.choices.chosen)
        elif matches(event, CANCEL):
            self.done(None)
        else:
            return False
        return True

    def choose(self, choice: DialogChoice) -> None:
        self.done(choice.value)

    def invalidate(self) -> None:
        self.window.invalidate()

    def body(self, width: int) -> Sequence[str]:
        below = self.below(width)
        self._below_rows = len(below)
        above = list(self.window.render(width))
        gap = [""] if above and not self.theme.linear else []
        return [*above, *gap, *below]

    def below(self, width: int) -> list[str]:
        """The answers and key hints."""
        rows = self.choices.rows(width, max(self.display.terminal.rows // 2, 4))
        return [*rows, *self.hint_rows(self._hints(), width)]

    def _hints(self) -> list[str]:
        count = min(len(self.choices.choices), NUMBERED_OPTIONS)
        at_once = "A letter or " if self.choices.lettered else f"1-{count} or " if count > 1 else ""
        return [at_once + self.key(CONFIRM, "selects"), self.key(CANCEL, self._cancels)]

    def _window_rows(self) -> int:
        return self.room(self._below_rows)

    def _scroll_keys(self) -> tuple[str, ...]:
        up, down = self.keys.label(PAGE_UP), self.keys.label(PAGE_DOWN)
        return (up, down) if up and down else ()


class ListPanel(FocusDelegate, DialogFrame):
    """A text, then a long list that narrows as you type."""

    def __init__(
        self, display: Display, title: str, text: str, options: Sequence[str], done: _Done[int]
    ) -> None:
        super().__init__(display, title)
        self._window = Window(
            display.theme, Text(display.theme, long_text(text)), lambda: self.room(display.terminal.rows // 2)
        )
        items = [SelectItem(number, option) for number, option in enumerate(options[:MAX_OPTIONS])]
        rows = max(5, min(15, display.terminal.rows // 2 - 4))
        choices = SelectList(display.theme, display.keys, items, rows, on_cancel=lambda: done(None))
        choices.on_select = lambda item: done(item.value)
        self.inside = choices
        self._left_out = max(len(options) - MAX_OPTIONS, 0)
        self._announced = False

    def invalidate(self) -> None:
        super().invalidate()
        self._window.invalidate()

    def body(self, width: int) -> Sequence[str]:
        rows = list(self._window.render(width))
        if self.theme.linear and not self._announced:
            # A screen reader announces only the selection, so add the question first.
            self._announced = True
            self.display.timer.call_soon(self.display.request_render)
        else:
            rows += self.inside.render(width)
        if self._left_out:
            rows += wrap(self.theme["warning"](f"{self._left_out:,} more options not shown."), width)
        return [*rows, *self.hint_rows([self.key(CANCEL, "cancels")], width)]


class LinePanel(FocusDelegate, DialogFrame):
    """A text, then a single-line field."""

    def __init__(
        self,
        display: Display,
        title: str,
        text: str,
        done: _Done[str],
        *,
        placeholder: str = "",
        prefill: str = "",
        mask: bool = False,
        validate: Callable[[str], str | None] | None = None,
    ) -> None:
        super().__init__(display, title)
        self._window = Window(display.theme, Text(display.theme, long_text(text)), lambda: self.room(6))
        self.inside = InputField(
            display.theme,
            display.keys,
            prefill,
            prompt=f"{display.theme.symbols.pointer} ",
            placeholder=placeholder,
            mask=mask,
            validate=validate,
            on_submit=done,
            on_cancel=lambda: done(None),
        )

    def invalidate(self) -> None:
        super().invalidate()
        self._window.invalidate()

    def body(self, width: int) -> Sequence[str]:
        hints = [self.key("tui.input.submit", "confirms"), self.key(CANCEL, "cancels")]
        return [*self._window.render(width), *self.inside.render(width), *self.hint_rows(hints, width)]


class TextPanel(FocusDelegate, DialogFrame):
    """A longer text in an editor whose border is the frame."""

    framed = False

    def __init__(
        self,
        display: Display,
        tasks: Tasks,
        external_editor: ExternalEditor,
        title: str,
        prefill: str,
        done: _Done[str],
    ) -> None:
        super().__init__(display, "")
        self._tasks = tasks
        self._external_editor = external_editor
        self._done = done
        self._title = Window(display.theme, Text(display.theme, long_text(title), "accent"), lambda: 6)
        self.inside = self.editor = Editor(
            display.theme,
            display.keys,
            max_rows=lambda: max(3, display.terminal.rows // 2),
            border_token="borderActive",
            on_submit=done,
        )
        if prefill:
            self.editor.set_text(prefill)

    def handle_input(self, event: InputEvent) -> bool:
        if self.keys.matches(event, CANCEL):
            self._done(None)
        elif self.keys.matches(event, "app.editor.external"):
            self._tasks.start(self._open_external_editor())
        else:
            return super().handle_input(event)
        return True

    def invalidate(self) -> None:
        super().invalidate()
        self._title.invalidate()

    def body(self, width: int) -> Sequence[str]:
        hints = [
            self.key("tui.input.submit", "confirms"),
            self.key("tui.input.newLine", "adds a line"),
            self.key("app.editor.external", "opens your editor"),
            self.key(CANCEL, "cancels"),
        ]
        return [*self._title.render(width), *self.editor.render(width), *self.hint_rows(hints, width)]

    async def _open_external_editor(self) -> None:
        text = await self._external_editor.edit(self.editor.text)
        if text != self.editor.text:
            self.editor.set_text(text)
        self.display.request_render()


def ask_choice(
    display: Display, title: str, options: Sequence[str], *, at: int = 0
) -> Callable[[_Done[str]], Component]:
    """Make the dialog of `Ui.select`."""
    first, _, text = long_text(title).partition("\n")
    if len(first) > HEADING_CHARS:
        first, text = "", long_text(title)
    choices = [DialogChoice(option, option) for option in options]

    def make(done: _Done[str]) -> Component:
        if not choices:
            done(None)
        if len(choices) > NUMBERED_OPTIONS:
            return ListPanel(
                display, first, text, options, lambda at: done(None if at is None else options[at])
            )
        nothing = [DialogChoice("", "Nothing to choose from")]
        return ChoicePanel(display, first, text, choices or nothing, done, at=at)

    return make
