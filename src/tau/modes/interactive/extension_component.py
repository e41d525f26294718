"""Contains a component of an extension: its rows are checked, its errors are counted, it is disposed once."""

import re
import time
from collections.abc import Callable, Sequence
from typing import Any

from tau.tui.component import CURSOR_MARKER, Component, LiveComponent
from tau.tui.input.key import InputEvent
from tau.tui.text.clean import clean_styled
from tau.tui.text.cut import truncate
from tau.tui.text.width import visible_width

SLOW_S = 0.008
MAX_SLOW = 3
MAX_ROWS = 500
_ALLOWED = re.compile(r"\x1b\[[0-9;:]*m|\x1b\]8;[^\x07\x1b]*(?:\x1b\\|\x07)")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


class ExtensionComponent(LiveComponent):
    """Calls `fault` once with what is wrong; from then on it shows nothing."""

    def __init__(
        self,
        part: Any,
        fault: Callable[[str, BaseException | None], None],
        guard: Callable[[Callable[..., object]], Callable[..., Any]] = lambda function: function,
    ) -> None:
        self.part = part
        self.is_broken = False
        self._fault = fault
        self._guard = guard
        self._slow = 0
        self._last: tuple[object, int, Sequence[str]] | None = None
        self._is_disposed = False

    @property
    def takes_pasted_keys(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.part, "takes_pasted_keys", True))

    @property
    def wants_releases(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.part, "wants_releases", False))

    @property
    def focused(self) -> bool:
        return bool(getattr(self.part, "focused", False))

    @focused.setter
    def focused(self, value: bool) -> None:
        self.part.focused = value

    def render(self, width: int) -> Sequence[str]:
        if self.is_broken:
            return ()
        began = time.perf_counter()
        try:
            rows = self._guard(self.part.render)(width)
        except BaseException as error:
            self._break("render failed", error)
            return ()
        self._slow = self._slow + 1 if time.perf_counter() - began >= SLOW_S else 0
        if self._slow >= MAX_SLOW:
            self._break(f"render took more than {SLOW_S * 1000:g} ms {MAX_SLOW} times")
            return ()
        if self._last is not None and self._last[0] is rows and self._last[1] == width:
            return self._last[2]
        if problem := row_problem(rows, width):
            self._break(problem)
            return ()
        self._last = (rows, width, rows)
        return rows  # type: ignore[no-any-return]

    def handle_input(self, event: InputEvent) -> bool:
        handle = _method(self.part, "handle_input")
        if self.is_broken or handle is None:
            return False
        try:
            return self._guard(handle)(event) is not False
        except BaseException as error:
            self._break("handle_input failed", error)
            return False

    def invalidate(self) -> None:
        self._last = None
        if not self.is_broken and (invalidate := _method(self.part, "invalidate")) is not None:
            try:
                self._guard(invalidate)()
            except BaseException as error:
                self._break("invalidate failed", error)

    def dispose(self) -> None:
        """Call its `dispose`, once."""
        if self._is_disposed:
            return
        self._is_disposed = True
        if (dispose := _method(self.part, "dispose")) is not None:
            try:
                self._guard(dispose)()
            except BaseException as error:
                self._fault("dispose failed", error)

    def _break(self, problem: str, error: BaseException | None = None) -> None:
        self.is_broken = True
        self._fault(problem, error)


def _method(part: object, name: str) -> Callable[..., object] | None:
    """An optional method of an extension's object."""
    found = getattr(part, name, None)
    return found if callable(found) else None


def row_problem(rows: Any, width: int) -> str:
    """Why rows cannot be shown; empty if they can."""
    if isinstance(rows, str) or not isinstance(rows, Sequence):
        return f"render returned {type(rows).__name__}, not a list of rows"
    if len(rows) > MAX_ROWS:
        return f"render returned {len(rows)} rows; the limit is {MAX_ROWS}"
    for row in rows:
        if not isinstance(row, str):
            return f"render returned a row of type {type(row).__name__}"
        bare = row.replace(CURSOR_MARKER, "")
        if _CONTROL.search(_ALLOWED.sub("", bare)):
            return "render returned control characters; use clean_line or clean_styled"
        if visible_width(bare) > width:
            return f"render returned a row wider than {width} columns; use truncate or wrap"
    return ""


class FixedRows(LiveComponent):
    """Rows that an extension returned instead of a component; they are cleaned and cut."""

    def __init__(self, rows: Sequence[object]) -> None:
        self._rows = [line for row in rows for line in clean_styled(str(row)).split("\n")][:MAX_ROWS]
        self._drawn: tuple[int, Sequence[str]] = (-1, ())

    def render(self, width: int) -> Sequence[str]:
        if self._drawn[0] != width:
            self._drawn = (width, [truncate(row, width) for row in self._rows])
        return self._drawn[1]


def as_component(made: Any) -> Component | None:
    """What a renderer returned: a component, rows or a text; None for the usual view."""
    if made is None:
        return None
    if isinstance(made, str):
        return FixedRows(made.split("\n"))
    if isinstance(made, Sequence):
        return FixedRows(made)
    return made if callable(getattr(made, "render", None)) else None
