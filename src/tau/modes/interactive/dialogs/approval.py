"""The approval dialog: what a call would do, in full, and the possible answers."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tau.base.late import late
from tau.base.sizes import KIB
from tau.base.text import NotText, decode, is_binary
from tau.coding.approval.hook import ApprovalDecision, ApprovalRequest
from tau.coding.approval.policy import ApprovalItem
from tau.modes.interactive.composer.type_ahead import GOES_ON
from tau.modes.interactive.dialogs.basic import CANCEL, ChoicePanel
from tau.modes.interactive.dialogs.parts import DialogChoice
from tau.modes.interactive.tool_views.view import ToolCallView
from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Key
from tau.tui.style import Theme
from tau.tui.text.clean import clean
from tau.tui.text.wrap import wrap, wrap_hard
from tau.tui.widgets.container import Container
from tau.tui.widgets.input_field import InputField
from tau.tui.widgets.text import Text

if TYPE_CHECKING:
    from tau.modes.interactive.ports import Display, Notices

diffs = late("tau.tui.widgets.diff")
highlighting = late("tau.tui.widgets.highlight")
rendering = late("tau.modes.interactive.tool_views.registry")

MAX_COMMAND_CHARS = 200_000
MAX_COLORED_CHARS = 20_000
MAX_COMPARED_BYTES = 256 * KIB
NO, WHY = "no", "why"
DEAF_S = 0.3
"""Ignore keys this long, so that one meant for the previous dialog cannot answer an unread one."""
LETTERS_DEAF_S = 0.4
"""Ignore letters this long; the editor gets those typed when the dialog opened."""
_LANGUAGES = {"bash": "bash", "ssh": "bash", "eval": "python"}
_REQUESTS = {"run": "command", "write": "write", "connect": "connection"}


def heading(request: ApprovalRequest) -> str:
    """What the user is asked to allow."""
    kinds = list(dict.fromkeys(question.kind for question in request.questions))
    return f"Allow this {' and '.join(_REQUESTS[kind] for kind in kinds)}?"


def approval(
    display: "Display", notices: "Notices", request: ApprovalRequest, answered_at: float = float("-inf")
) -> Callable[[Callable[[ApprovalDecision | None], None]], Component]:
    """Make the dialog; `answered_at` is when the previous one was answered."""
    return lambda done: ApprovalPanel(display, notices, request, done, answered_at)


class ApprovalPanel(ChoicePanel):
    """Highlights "No" first. A refusal can carry a reason for the agent."""

    def __init__(
        self,
        display: "Display",
        notices: "Notices",
        request: ApprovalRequest,
        done: Callable[[ApprovalDecision | None], None],
        answered_at: float,
    ) -> None:
        choices = _choices(request)
        super().__init__(
            display,
            heading(request),
            Container(_shown(display.theme, request)),
            choices,
            at=[choice.value for choice in choices].index(NO),
            cancels="stops the agent",
            on_answer=self._answer,
            on_cancel=lambda: done(None),
        )
        self._notices = notices
        self._done = done
        self._why = InputField(
            display.theme,
            display.keys,
            prompt="No, because: ",
            placeholder="tell the agent why",
            on_submit=lambda text: done(ApprovalDecision("no", text)),
            on_cancel=self._back,
        )
        self._writes = False
        now = display.timer.time()
        self._deaf_until = now + DEAF_S if now - answered_at < DEAF_S else now
        self._letters_from = now + LETTERS_DEAF_S

    def handle_input(self, event: InputEvent) -> bool:
        if self._writes:
            return self._why.handle_input(event)
        now = self.display.timer.time()
        if now < self._deaf_until and not self.keys.matches(event, CANCEL):
            return True
        if now < self._letters_from and isinstance(event, Key) and event.text and event.kind != "release":
            self._letters_from = now + LETTERS_DEAF_S
            self.display.editor.handle_input(event)
            self._notices.hint(GOES_ON)
            return True
        return super().handle_input(event)

    def below(self, width: int) -> list[str]:
        if not self._writes:
            return super().below(width)
        self._why.focused = self.focused
        hints = [self.key("tui.input.submit", "declines"), self.key(CANCEL, "goes back")]
        return [*self._why.render(width), *self.hint_rows(hints, width)]

    def _answer(self, choice: DialogChoice) -> None:
        if choice.value == WHY:
            self._writes = True
        else:
            self._done(ApprovalDecision(choice.value))

    def _back(self) -> None:
        self._writes = False


def _choices(request: ApprovalRequest) -> list[DialogChoice]:
    """Each answer always has the same letter."""
    found = [DialogChoice("once", "Allow once", key="y")]
    if request.for_session:
        found.append(
            DialogChoice("session", "Allow for this session", _for_session(request.questions), key="s")
        )
    if request.patterns:
        kept = "Saved to tools.allow in your settings; matching calls will not ask again."
        found.append(DialogChoice("always", f"Always allow {', '.join(request.patterns)}", kept, key="a"))
    return [*found, DialogChoice(NO, "No", key="n"), DialogChoice(WHY, "No, and tell the agent why", key="w")]


def _for_session(questions: Sequence[ApprovalItem]) -> str:
    """What "for this session" covers."""
    parts: dict[str, None] = {}
    for question in questions:
        match question.kind, question.patterned:
            case "run", _:
                parts["this exact command"] = None
            case "write", True:
                parts[f"files in {Path(question.subject).parent}"] = None
            case "write", False:
                parts["this file"] = None
            case "connect", _:
                parts[f"connections to {question.subject}"] = None
    return f"Covers {', '.join(parts)}."


def _shown(theme: Theme, request: ApprovalRequest) -> Iterator[Component]:
    """What the call would do: each command in full, each effect in words, the change if known."""
    language = _LANGUAGES.get(request.tool, "")
    for question in request.questions:
        if question.kind == "run":
            yield CodePreview(theme, question.subject, language)
            if question.reason.startswith("run: "):
                yield Text(theme, f"It would run with your permissions in {request.cwd}.", "muted")
            else:
                yield Text(theme, f"It would {question.reason.partition(': ')[0]}.", "warning")
        else:
            yield Text(theme, f"It would {question.reason}.", "text" if question.patterned else "warning")
    if any(question.kind == "write" for question in request.questions):
        yield from _change(theme, request)


def _change(theme: Theme, request: ApprovalRequest) -> Iterator[Component]:
    """The change the call describes, compared with the file's current content if it exists."""
    old, new = _replaced(request)
    if old is not None:
        yield diffs.DiffView(theme, old, new)
        return
    view = ToolCallView(request.tool, request.arguments, "pending", request.cwd, expanded=True)
    yield from rendering.draw(view, theme).body


def _replaced(request: ApprovalRequest) -> tuple[str | None, str]:
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


class CodePreview(Component):
    """A command or piece of code in full, highlighted unless it is too long."""

    def __init__(self, theme: Theme, text: str, language: str) -> None:
        self._theme = theme
        self._language = language
        left_out = len(text) - MAX_COMMAND_CHARS
        if left_out > 0:
            half = MAX_COMMAND_CHARS // 2
            text = f"{text[:half]}\n[{left_out:,} characters not shown]\n{text[-half:]}"
        self._text = clean(text).strip("\n")
        self._width = -1
        self._rows: list[str] = []

    def invalidate(self) -> None:
        self._width = -1

    def render(self, width: int) -> Sequence[str]:
        if width != self._width:
            self._width = width
            self._rows = [row for line in self._lines() for row in self._wrapped(line, max(width, 1))]
        return self._rows

    def _lines(self) -> list[str]:
        colored = self._language and self._theme.depth != "none" and len(self._text) <= MAX_COLORED_CHARS
        if not colored:
            return self._text.split("\n")
        return highlighting.highlight(self._text, self._language, self._theme)

    def _wrapped(self, line: str, width: int) -> list[str]:
        """Prefix each row, so that a command's text cannot pass for tau's own."""
        if self._theme.linear or width < 8:
            return wrap(line, width)
        mark = self._theme["borderActive"](self._theme.symbols.quote)
        return [f"{mark} {row}" for row in wrap_hard(line, width - 2)]
