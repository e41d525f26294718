"""The editor component."""

from collections.abc import Callable, Mapping, Sequence

from tau.tui.component import Component, LiveComponent
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line, clean_row, clean_styled
from tau.tui.timer import Timer
from tau.tui.widgets.autocomplete import Autocomplete, Completions, EnterMeans, Spawn
from tau.tui.widgets.editor.actions import Actions
from tau.tui.widgets.editor.history import History
from tau.tui.widgets.editor.model import EditorDraft, EditorModel
from tau.tui.widgets.editor.view import EditorStyle, EditorView

MAX_ROWS = 12


class Editor(LiveComponent):
    """A multi-line text field with a border above and below.

    It grows with the text up to `max_rows`, then scrolls. A large paste is shown as a marker; `text` and the
    submitted text contain it in full. `on_submit` gets the text when Enter is pressed; the editor is empty by
    then, and gets the text back if `on_submit` returns False or fails. `on_change` is called after every
    change; `first_line` and `is_empty` are cheap there, `text` joins the lines. `input_sanitizer` cleans
    text from outside.
    """

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        *,
        history: History | None = None,
        completions: Completions | None = None,
        timer: Timer | None = None,
        spawn: Spawn | None = None,
        max_rows: int | Callable[[], int] = MAX_ROWS,
        enter_means: EnterMeans = "accept",
        placeholder: str = "",
        prompt: str = "",
        border_token: str = "border",
        draw_cursor: bool = False,
        on_submit: Callable[[str], bool | None] | None = None,
        on_change: Callable[[], None] | None = None,
        on_history_search: Callable[[str], None] | None = None,
        request_render: Callable[[Component], None] | None = None,
    ) -> None:
        self.max_rows = max_rows
        """Maximum number of text rows; a callable is evaluated at every render."""
        self.border_token = border_token
        self.draw_cursor = draw_cursor
        """Whether to draw the cursor, for terminals that hide the real one."""
        self.on_submit = on_submit
        self.on_change = on_change
        self._model = EditorModel(history)
        self._view = EditorView(theme, self._model.pastes)
        redraw = None if request_render is None else lambda: request_render(self)
        self.completing = Autocomplete(completions, timer=timer, spawn=spawn, on_change=redraw)
        """The completion popup and its query state."""
        self.actions = Actions(self._model, self.completing, self._view.layout, keys, self.submit)
        self.actions.enter_means = enter_means
        self.actions.on_history_search = on_history_search
        self._options = EditorStyle(prompt=clean_row(prompt), placeholder=clean_line(placeholder))
        self._notified: tuple[object, int] = (self._model.document, 0)

    @property
    def text(self) -> str:
        """The text with pastes in full; its only control characters are newlines and tabs."""
        return self._model.text

    @property
    def is_empty(self) -> bool:
        return self._model.document.is_empty

    @property
    def first_line(self) -> str:
        """The first line as typed; a paste in it is U+FFFC."""
        return self._model.pastes.mask(self._model.document.buffer.lines[0])

    def set_text(self, text: str) -> None:
        """Replace the text and move the cursor to its end; one undo restores the old text."""
        self._apply_change(lambda: self._model.set_text(text))

    def clear(self) -> None:
        """Clear the text; one undo restores it."""
        self.set_text("")

    def insert(self, text: str) -> None:
        """Insert text at the cursor unchanged; one undo removes it."""
        self._apply_change(lambda: self._model.insert(text))

    def paste(self, text: str, *, fold: bool = True) -> None:
        """Insert pasted text at the cursor; a large paste becomes a marker unless `fold` is False."""
        self._apply_change(lambda: self._model.paste(text, fold=fold))

    def insert_marker(self, label: str, text: str) -> None:
        """Insert one unit at the cursor, like a paste, shown as `label` and submitted as `text`."""
        self._apply_change(lambda: self._model.insert_marker(label, text))

    def draft(self) -> EditorDraft:
        """Return the draft as JSON-compatible data."""
        return self._model.draft()

    def restore(self, draft: Mapping[str, object]) -> bool:
        """Restore a draft; False if the data is not one."""
        return self._apply_change(lambda: self._model.restore(draft))

    def submit(self) -> bool:
        """Submit the text like Enter; False if there is no `on_submit`."""
        if self.on_submit is None:
            return False
        text = self.text
        self._apply_change(self._model.begin_submit)
        refused = True
        try:
            refused = self.on_submit(text) is False
        finally:
            self._apply_change(lambda: self._model.end_submit(refused=refused))
            if self.actions.modal is not None and not refused:
                self.actions.modal.begin()
            self._view.forget()  # the submitted lines are not needed again
        return True

    def do(self, action: str) -> bool:
        """Perform an action, whether or not it has a key; False if it did nothing."""
        return self._apply_change(lambda: self.actions.do(action))

    def set_history(self, history: History | None) -> None:
        """Set the source of earlier prompts."""
        self._model.recall.history = history

    def set_border_text(
        self, left: str = "", right: str = "", shorter: Sequence[tuple[str, str]] = ()
    ) -> None:
        """Set the (styled) texts in the top border. If they do not fit, the first pair of `shorter` that fits
        replaces them; if none fits, the right text of the last pair is dropped.
        """
        pairs = tuple((_styled_line(one), _styled_line(other)) for one, other in ((left, right), *shorter))
        self._options = self._options._replace(border_texts=pairs)

    def set_prompt(self, prompt: str = "", placeholder: str | None = None) -> None:
        """Set the prompt before the first row and, if given, the placeholder of an empty text."""
        self._options = self._options._replace(prompt=clean_row(prompt))
        if placeholder is not None:
            self._options = self._options._replace(placeholder=clean_line(placeholder))

    def render(self, width: int) -> list[str]:
        rows = self.max_rows if isinstance(self.max_rows, int) else self.max_rows()
        height = self.actions.page_rows = max(rows, 1)
        options = self._options
        document, modal = self._model.document, self.actions.modal
        selection = None if modal is None else modal.selection(document)
        wanted = (max(width, 1), height, self.focused, self.draw_cursor, self.border_token, selection)
        if wanted != (
            options.width,
            options.height,
            options.focused,
            options.draw_cursor,
            options.border_token,
            options.selection,
        ):
            options = self._options = options._replace(
                width=wanted[0],
                height=height,
                focused=self.focused,
                draw_cursor=self.draw_cursor,
                border_token=self.border_token,
                selection=selection,
            )
        return self._view.rows(document, self.completing, options)

    def handle_input(self, event: InputEvent) -> bool:
        return self._apply_change(lambda: self.actions.handle(event))

    def invalidate(self) -> None:
        self._view.forget()

    def _apply_change(self, change: Callable[[], object]) -> bool:
        """Apply a change and call `on_change` once if the text changed."""
        done = change()
        document = self._model.document
        now = (document, document.buffer.version)
        if now != self._notified:
            self._notified = now
            if self.on_change is not None:
                self.on_change()
        return bool(done)


def _styled_line(text: str) -> str:
    return clean_styled(text.replace("\r", " ").replace("\n", " "))
