"""A line the user ran, in the shell or Python, with its output."""

import re
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import UNSET

from tau.ai.wire import BashExecutionMessage, PythonExecutionMessage
from tau.modes.interactive.tool_views.command_body import with_colors
from tau.modes.interactive.tool_views.labels import elapsed
from tau.modes.interactive.transcript.block import (
    KEPT_CHARS,
    BlockContext,
    GrowingBlock,
    cut_middle,
    first_lines,
    indent_rows,
    indent_width,
    with_sign,
    wrap_text,
)
from tau.tui.widgets.text import Text

ExecutionKind = Literal["bash", "python"]
Ran = BashExecutionMessage | PythonExecutionMessage

LAST_LINES = 20
_GAP = re.compile(r"^\[… (\d+) lines not shown …\]$", re.MULTILINE)
"""The row that represents omitted output."""
_TAIL_CHARS = 16_000
_CODE_LINES = 8


class UserExecutionBlock(GrowingBlock):
    """`write` output, then `finish` with the recorded result, or `fail` with the reason."""

    def __init__(
        self,
        context: BlockContext,
        kind: ExecutionKind,
        text: str,
        *,
        exclude: bool = False,
        on_change: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(context)
        self.kind: ExecutionKind = kind
        self._command = cut_middle(text)
        self._exclude = exclude
        self._on_change = on_change
        self._output = ""
        self._missing = 0
        """Lines missing from the output, whether or not a file has them."""
        self._message: Ran | None = None
        self._problem = ""
        self._started_at = context.now()
        self._elapsed_s: float | None = None

    @classmethod
    def of(cls, context: BlockContext, message: Ran) -> "UserExecutionBlock":
        """Create the block of a recorded execution."""
        if isinstance(message, BashExecutionMessage):
            block = cls(context, "bash", message.command)
        else:
            block = cls(context, "python", message.code)
        block._take(message)
        return block

    def runs(self, command: str) -> bool:
        """Whether this block belongs to that command."""
        return self._command == cut_middle(command)

    def write(self, chunk: str) -> None:
        """Append output; only the end is kept until it finishes."""
        if not self.is_finished():
            self._output += chunk
            if len(self._output) > 2 * KEPT_CHARS:
                self._missing += self._output.count("\n", 0, -KEPT_CHARS)
                self._output = self._output[-KEPT_CHARS:]
            self._redraw()

    def finish(self, message: Ran | None = None) -> None:
        """Finish with the recorded result; without one, it counts as stopped."""
        if self.is_finished():
            return
        self._elapsed_s = self._context.now() - self._started_at
        if message is None:
            self._problem = "Stopped."
        else:
            self._take(message)
        self._redraw()

    def fail(self, problem: str) -> None:
        """It could not run."""
        if self._message is None:
            self._problem = problem
            self._redraw()

    def is_finished(self) -> bool:
        return self._message is not None or bool(self._problem)

    @property
    def can_expand(self) -> bool:
        return True

    def _take(self, message: Ran) -> None:
        self._message = message
        shown = cut_middle(message.output)
        self._output = with_colors(shown, self._output) if "\x1b[" in self._output else shown
        gap = _GAP.search(message.output) if message.truncated else None
        self._missing = int(gap[1]) if gap is not None else 0
        self._exclude = message.exclude_from_context is True

    def _redraw(self) -> None:
        self._rows = None
        self._on_change()

    def _render_rows(self, width: int) -> Sequence[str]:
        theme = self._theme
        mark = "!" if self.kind == "bash" else "$"
        command, hidden = (self._command, 0) if self.expanded else first_lines(self._command, _CODE_LINES)
        if theme.linear:
            command = f"Ran in {'the shell' if self.kind == 'bash' else 'Python'}: {command.strip()}"
        rows = [theme["accent"](row) for row in wrap_text(command.strip(), width)]
        if hidden:
            rows += [theme["dim"](row) for row in wrap_text(self._context.hint(hidden), width)]
        if not theme.linear:
            rows = with_sign(theme["accent"](mark), rows, width)
        rows += self._shown_output(width)
        for text, token in self._outcome():
            rows += indent_rows([theme[token](row) for row in wrap_text(text, width)], width)
        return rows

    def _shown_output(self, width: int) -> list[str]:
        text = self._output.rstrip()
        if not text:
            return []
        rows: list[str] = []
        if not self.expanded:
            lines = text[-_TAIL_CHARS:].split("\n")
            hidden = text.count("\n") + 1 - min(len(lines), LAST_LINES)
            if self._message is not None and self._missing:
                hidden -= 1  # the row for omitted output is not a line of it
            if hidden or self._missing:
                hint = self._context.hint(hidden, missing=self._missing)
                rows += indent_rows([self._theme["dim"](row) for row in wrap_text(hint, width)], width)
            text = "\n".join(lines[-LAST_LINES:])
        inner = Text(self._theme, text, styled=True).render(max(width - indent_width(width), 1))
        return [*rows, *indent_rows(inner, width)]

    def _outcome(self) -> list[tuple[str, str]]:
        """Remarks below the output, each with its style."""
        if self._problem:
            return [(self._problem, "error" if self._problem != "Stopped." else "warning")]
        message = self._message
        if message is None:
            return []
        notes = []
        if message.cancelled:
            notes.append("stopped")
        elif message.exit_code:
            notes.append(f"exit {message.exit_code}")
        elif not self._output.strip():
            notes.append("no output")
        if self._elapsed_s is not None and (time := elapsed(round(self._elapsed_s * 1000))):
            notes.append(time)
        if self._exclude:
            notes.append("not in the model's context")
        if message.full_output_path is not UNSET and message.truncated:
            notes.append(f"full output: {message.full_output_path}")
        token = "warning" if message.cancelled else "error" if message.exit_code else "dim"
        return [(", ".join(notes), token)] if notes else []
