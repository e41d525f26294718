"""Maps keys to editor actions: commands, typing, jumps, history, completions, submitting."""

from collections.abc import Callable
from typing import Protocol

from tau.tui.input.bindings import Keymap
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.widgets.autocomplete import Autocomplete, EnterMeans
from tau.tui.widgets.editor.bindings import ActionKeys
from tau.tui.widgets.editor.commands import COMMANDS, Jump
from tau.tui.widgets.editor.document import EditorDocument, KillRing, Position
from tau.tui.widgets.editor.input_sanitizer import clean_input
from tau.tui.widgets.editor.layout import WrapLayout
from tau.tui.widgets.editor.model import EditorModel
from tau.tui.widgets.editor.viewport import move_rows

_IN_POPUP = (
    *("tui.select.up", "tui.select.down", "tui.select.pageUp", "tui.select.pageDown", "tui.input.tab"),
    *("tui.select.confirm", "tui.select.cancel"),
)

_FOR_OTHERS = frozenset(("tui.input.submit", "tui.editor.historySearch"))
"""Passed on if nothing accepts the text."""
_NO_KEY = Key("")


class ModalKeys(Protocol):
    """Keys that mean something else depending on the editor's mode, such as Vim's."""

    @property
    def mode(self) -> str: ...
    def claims(self, key: str) -> bool: ...
    def handle(self, key: Key, actions: "Actions") -> bool: ...
    def escape(self, actions: "Actions") -> bool: ...
    def begin(self) -> None: ...
    def selection(self, document: EditorDocument) -> tuple[Position, Position]: ...


class Actions:
    """Turns events into model changes; each method returns whether it handled the event."""

    def __init__(
        self,
        model: EditorModel,
        popup: Autocomplete,
        layout: WrapLayout,
        keys: Keymap,
        submit: Callable[[], bool],
    ) -> None:
        self._model = model
        self._popup = popup
        self._layout = layout
        self._submit = submit
        self._jump = Jump()
        self.page_rows = 10
        self.enter_means: EnterMeans = "accept"
        self.on_history_search: Callable[[str], None] | None = None
        self.modal: ModalKeys | None = None
        """Handles keys first."""
        self._own: dict[str, Callable[[Key], bool]] = {
            "tui.editor.cursorUp": self._up,
            "tui.editor.cursorDown": self._down,
            "tui.editor.pageUp": lambda key: self._page(-1),
            "tui.editor.pageDown": lambda key: self._page(1),
            "tui.editor.jumpForward": lambda key: self._jump.begin("forward"),
            "tui.editor.jumpBackward": lambda key: self._jump.begin("backward"),
            "tui.editor.expandPaste": lambda key: self._fold(),
            "tui.editor.historySearch": lambda key: self._search(),
            "tui.editor.normalMode": lambda key: self.modal is not None and self.modal.escape(self),
            "tui.input.newLine": lambda key: self._new_line(),
            "tui.input.submit": lambda key: self._enter(),
            "tui.input.tab": lambda key: self._tab(),
        }
        self._actions = ActionKeys(keys, (*self._own, *COMMANDS))
        self._popup_actions = ActionKeys(keys, _IN_POPUP)

    @property
    def document(self) -> EditorDocument:
        return self._model.document

    @property
    def kills(self) -> KillRing:
        return self._model.kills

    def handle(self, event: InputEvent) -> bool:
        """Handle an event. Editor keys are always consumed unless the text is empty."""
        if isinstance(event, Paste):
            self._jump.end()
            self._popup.close()
            return self._model.paste(event.text)
        if event.kind == "release":
            return False
        if self.modal is not None and self.modal.handle(event, self):
            self._popup.close()
            return True
        if self._jump.is_waiting and self._jump.handle(event, self._model.document):
            self._popup.close()
            return True
        if self._popup.is_open and self._in_popup(self._popup_actions.get(event.name)):
            return True
        action = self._actions.get(event.name)
        if not action:
            return bool(event.text) and self._type(event.text)
        return self.do(action, event) or (action not in _FOR_OTHERS and not self._model.document.is_empty)

    def do(self, action: str, key: Key = _NO_KEY) -> bool:
        """Perform an action, whatever its key."""
        command = COMMANDS.get(action)
        if command is None:
            return self._own[action](key)
        document = self._model.document
        version = document.buffer.version
        done = command(document)
        if document.buffer.version != version and document.last == "erase":
            self._popup.ask(self._question)
        elif done:
            self._popup.close()
        return done

    def _type(self, text: str) -> bool:
        done = self._model.document.insert(clean_input(text), "type")
        if done:
            self._popup.ask(self._question)
        return done

    def _question(self) -> tuple[str, int]:
        document, pastes = self._model.document, self._model.pastes
        return pastes.mask(document.buffer.text), document.buffer.offset(document.cursor)

    def _up(self, key: Key) -> bool:
        self._popup.close()
        if move_rows(self._model.document, self._layout, -1):
            return True
        # A held key stops at the first row: the user meant to scroll.
        walking = self._model.recall.draft is not None
        if (key.kind != "repeat" or walking) and self._model.older(self._layout):
            return True
        return self._model.document.move(Position(0, 0))

    def _down(self, key: Key) -> bool:
        self._popup.close()
        document = self._model.document
        return (
            move_rows(document, self._layout, 1) or self._model.newer() or document.move(document.buffer.end)
        )

    def _page(self, direction: int) -> bool:
        self._popup.close()
        return move_rows(self._model.document, self._layout, direction * max(self.page_rows - 1, 1))

    def _fold(self) -> bool:
        self._popup.close()
        return self._model.toggle_paste()

    def _new_line(self) -> bool:
        self._popup.close()
        return self._model.document.insert("\n", "type")

    def _search(self) -> bool:
        if self.on_history_search is None:
            return False
        self._popup.close()
        self.on_history_search(self._model.text)
        return True

    def _enter(self) -> bool:
        document = self._model.document
        number, column = document.cursor
        self._popup.close()
        if document.line[:column].endswith("\\"):
            return document.replace(Position(number, column - 1), document.cursor, "\n")
        return self._submit()

    def _tab(self) -> bool:
        if self._popup.completions is None:
            return self._model.document.insert("\t", "type")
        self._popup.ask_now(self._question)
        if self._popup.list is not None and len(self._popup.list.items) == 1:
            self._accept()
        return True

    def _in_popup(self, action: str) -> bool:
        """Handle keys of the open list; False passes the key to the text."""
        popup = self._popup
        match action:
            case "tui.select.up" | "tui.select.down":
                popup.move(-1 if action == "tui.select.up" else 1)
            case "tui.select.pageUp" | "tui.select.pageDown":
                popup.move((-1 if action == "tui.select.pageUp" else 1) * max(popup.max_rows - 2, 2))
            case "tui.select.cancel":
                popup.close()
            case "tui.input.tab":
                popup.settle()
                return popup.is_waiting or self._accept()
            case "tui.select.confirm":
                return self._confirm()
            case _:
                return False
        return True

    def _confirm(self) -> bool:
        """Handle Enter in the list; False if it submits as without a list."""
        popup = self._popup
        popup.settle()
        if popup.list is None or popup.is_waiting:
            return False
        means = popup.list.enter or self.enter_means
        if means == "submit" or (means == "accept+submit" and self._is_other_argument()):
            return False
        if not self._accept():
            return False
        return self._submit() if means == "accept+submit" else True

    def _is_other_argument(self) -> bool:
        """Whether the first item only resembles the argument that was typed, which Enter then submits."""
        popup, document = self._popup, self._model.document
        if popup.list is None or popup.chosen is None or popup.at:
            return False
        start = min(document.buffer.position(popup.list.start), document.cursor)
        typed = f" {document.buffer.between(start, document.cursor)}".casefold()
        texts = (popup.chosen.value, popup.chosen.label, popup.chosen.description)
        return start.column > 0 and not any(typed in f" {text}".casefold() for text in texts)

    def _accept(self) -> bool:
        """Insert the selected item; False if the text already has it."""
        popup, document = self._popup, self._model.document
        suggestions, item = popup.list, popup.chosen
        popup.close()
        if suggestions is None or item is None:
            return False
        start = min(document.buffer.position(suggestions.start), document.cursor)
        value = clean_input(item.value)
        if document.buffer.between(start, document.cursor) == value:
            return False
        done = document.replace(start, document.cursor, value)
        if item.more:
            popup.ask(self._question)
        return done
