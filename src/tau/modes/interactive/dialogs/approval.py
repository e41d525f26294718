"""The approval dialog: what a call would do, in full, and the possible answers."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tau.base.late import late
from tau.base.sizes import KIB
from tau.base.text import NotText, decode, is_binary, reveal
from tau.coding.approval.request import ApprovalDecision, ApprovalRequest
from tau.modes.interactive.composer.type_ahead import TYPING_HINT
from tau.modes.interactive.dialogs.basic import CANCEL, ChoicePanel
from tau.modes.interactive.dialogs.dialog_widgets import DialogChoice
from tau.modes.interactive.screen_protocols import Display, Notices
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import CachedComponent, Component
from tau.tui.input.key import InputEvent, Key
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.wrap import wrap, wrap_hard
from tau.tui.widgets.container import Container
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.text import Text

request_text = late("tau.coding.approval.request_text")
diffs = late("tau.tui.widgets.diff")
highlighting = late("tau.tui.widgets.highlight")
rendering = late("tau.modes.interactive.tool_views.registry")

MAX_COLORED_CHARS = 20_000
MAX_COMPARED_BYTES = 256 * KIB
MAX_VIEW_CHARS = 4_000
MAX_VIEW_LINES = 40
"""The view of a tool shows arguments up to this size in full."""
NO, WHY = "no", "why"
CYCLE = "app.permissions.cycle"
IGNORE_KEYS_S = 0.3
"""Ignore keys this long, so that one meant for the previous dialog cannot answer an unread one."""
IGNORE_LETTERS_S = 0.4
"""Ignore letters this long; the editor gets those typed when the dialog opened."""
_LANGUAGES = {"bash": "bash", "ssh": "bash", "eval": "python"}


class ApprovalPanel(ChoicePanel):
    """Highlights "No" first. A refusal can carry a reason for the agent.

    Nothing can be allowed before its end was on the screen. `answered_at` is when the previous dialog was
    answered; `cycle_mode` changes the permission mode, which may answer the question.
    """

    def __init__(
        self,
        display: Display,
        notices: Notices,
        request: ApprovalRequest,
        done: Callable[[ApprovalDecision | None], None],
        answered_at: float,
        cycle_mode: Callable[[], None] = lambda: None,
    ) -> None:
        choices = _choices(request)
        super().__init__(
            display,
            request_text.heading(request),
            Container(_describe(display.theme, request)),
            choices,
            done,
            at=[choice.value for choice in choices].index(NO),
            cancels="stops the agent",
        )
        self._notices = notices
        self._cycle_mode = cycle_mode
        self._why = InputField(
            display.theme,
            display.keys,
            prompt="No, because: ",
            placeholder="tell the agent why",
            on_submit=lambda text: done(ApprovalDecision("no", text)),
            on_cancel=self._back,
        )
        self._is_commenting = False
        now = display.timer.time()
        self._ignore_keys_until = now + IGNORE_KEYS_S if now - answered_at < IGNORE_KEYS_S else now
        self._ignore_letters_until = now + IGNORE_LETTERS_S

    def handle_input(self, event: InputEvent) -> bool:
        if self._is_commenting:
            return self._why.handle_input(event)
        now = self.display.timer.time()
        if now < self._ignore_keys_until and not self.keys.matches(event, CANCEL):
            return True
        if self.keys.matches(event, CYCLE):
            self._cycle_mode()
            return True
        if (
            now < self._ignore_letters_until
            and isinstance(event, Key)
            and event.text
            and event.kind != "release"
        ):
            self._ignore_letters_until = now + IGNORE_LETTERS_S
            self.display.editor.handle_input(event)
            self._notices.hint(TYPING_HINT)
            return True
        return super().handle_input(event)

    def below(self, width: int) -> list[str]:
        if not self._is_commenting:
            return super().below(width)
        self._why.focused = self.focused
        hints = [self.key("tui.input.submit", "declines"), self.key(CANCEL, "goes back")]
        return [*self._why.render(width), *self.hint_rows(hints, width)]

    def choose(self, choice: DialogChoice) -> None:
        if choice.value == WHY:
            self._is_commenting = True
        elif choice.value != NO and not self.window.was_read:
            self.window.scroll(1)
            self._notices.hint("Scroll to the end of the request before you allow it.")
        else:
            self._notices.clear_hints()
            self.done(ApprovalDecision(choice.value))

    def _hints(self) -> list[str]:
        return [*super()._hints(), self.key(CYCLE, "changes the mode")]

    def _back(self) -> None:
        self._is_commenting = False


def _choices(request: ApprovalRequest) -> list[DialogChoice]:
    """Each answer always has the same letter."""
    refusals = [DialogChoice(NO, "No", key="n"), DialogChoice(WHY, "No, and tell the agent why", key="w")]
    keys = {"once": "y", "session": "s", "always": "a"}
    allowing = [
        DialogChoice(choice.value, choice.label, choice.about, key=keys[choice.value])
        for choice in request_text.allowing_choices(request)
    ]
    return [*allowing, *refusals]


def _describe(theme: Theme, request: ApprovalRequest) -> Iterator[Component]:
    """What the call would do: each command in full, each effect in words, the change if known."""
    language = _LANGUAGES.get(request.tool, "")
    for question in request.questions:
        if question.kind == "run":
            yield CodePreview(theme, question.subject, language)
            if question.reason.startswith("run: "):
                yield Text(theme, _how(request), "muted")
            else:
                yield _sentence(theme, f"It would {question.reason.partition(': ')[0]}.", "warning")
        else:
            token = "text" if question.patterned else "warning"
            yield _sentence(theme, f"It would {question.reason}.", token)
    for note in dict.fromkeys(note for question in request.questions for note in question.notes):
        yield _sentence(theme, note, "warning")
    for name, value in request_text.fact_rows(request):
        yield _sentence(theme, f"{name}: {value}", "warning" if name.startswith("variable ") else "text")
    if request_text.size_chars(request) > request_text.MAX_SHOWN_CHARS:
        size = f"{request_text.size_chars(request):,} characters"
        yield Text(theme, f"It is too long to show in full ({size}), so you cannot allow it here.", "error")
    elif any(question.kind == "write" for question in request.questions):
        yield from _change(theme, request)
    elif all(question.kind != "run" for question in request.questions):
        yield from _arguments(theme, request)


def _sentence(theme: Theme, text: str, token: str) -> Component:
    return Text(theme, reveal(text), token)


def _how(request: ApprovalRequest) -> str:
    how = "in the sandbox," if request.contained else "with your permissions"
    return reveal(f"It would run {how} in {request.cwd}.").replace("\n", "<U+000A>")


def _change(theme: Theme, request: ApprovalRequest) -> Iterator[Component]:
    """The change the call describes, compared with the file's current content if it exists."""
    old, new = _old_and_new(request)
    if old is not None:
        yield diffs.DiffView(theme, reveal(old), reveal(new))
        return
    texts = [text for _, text in request_text.argument_rows(request)]
    if sum(map(len, texts)) > MAX_VIEW_CHARS or sum(text.count("\n") for text in texts) > MAX_VIEW_LINES:
        yield from _arguments(theme, request)
        return
    view = ToolCallView(request.tool, request.arguments, "pending", request.cwd, expanded=True)
    yield from rendering.draw(view, theme).body


def _arguments(theme: Theme, request: ApprovalRequest) -> Iterator[Component]:
    """All arguments in full."""
    for name, text in request_text.argument_rows(request):
        yield _sentence(theme, f"{name}:", "muted")
        yield CodePreview(theme, text, "")


def _old_and_new(request: ApprovalRequest) -> tuple[str | None, str]:
    content = request.arguments.get("content")
    targets = [Path(question.subject) for question in request.questions if question.kind == "write"]
    if request.tool != "write" or not isinstance(content, str) or len(targets) != 1:
        return None, ""
    if len(content) > MAX_COMPARED_BYTES:
        return None, ""
    try:
        fd = os.open(targets[0], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(fd, "rb") as file:
            data = file.read(MAX_COMPARED_BYTES + 1)
        return (None if len(data) > MAX_COMPARED_BYTES or is_binary(data) else decode(data).text), content
    except (OSError, NotText):
        return None, ""


class CodePreview(CachedComponent):
    """A command or piece of code in full, highlighted unless it is too long."""

    def __init__(self, theme: Theme, text: str, language: str) -> None:
        self._theme = theme
        self._language = language
        self._text = clean(reveal(text[: request_text.MAX_SHOWN_CHARS])).strip("\n")

    def _render_rows(self, width: int) -> Sequence[str]:
        return [row for line in self._lines() for row in self._wrap(line, width)]

    def _lines(self) -> list[str]:
        colored = self._language and self._theme.depth != "none" and len(self._text) <= MAX_COLORED_CHARS
        if not colored:
            return self._text.split("\n")
        return highlighting.highlight(self._text, self._language, self._theme)

    def _wrap(self, line: str, width: int) -> list[str]:
        """Prefix each row, so that a command's text cannot pass for tau's own."""
        if self._theme.linear or width < 8:
            return wrap(line, width)
        mark = self._theme["borderActive"](self._theme.symbols.quote)
        return [f"{mark} {row}" for row in wrap_hard(line, width - 2)]
