"""The observers of the gate: what is written, and what the tree returned for the frame."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tau.tui.component import CommitBoundary, Component
from tests.support.terminal.virtual import VirtualTerminal
from tests.tui.second_opinion.recording import Event


class HeardTerminal(VirtualTerminal):
    """Keeps what was written since the last query."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self._seen_size: tuple[int, int] | None = None
        super().__init__(*args, **options)
        self.recorded: list[str] = []
        self.events: list[Event] | None = None
        """Everything that happened to it, if recorded for replay elsewhere."""

    def write(self, text: str) -> None:
        self.recorded.append(text)
        self.feed(text)

    def feed(self, text: str) -> None:
        """Writes of others are not recorded."""
        if self.events is not None:
            self.events.append(("write", text))
        super().write(text)

    def resize(self, columns: int, rows: int) -> None:
        if self.events is not None:
            self.events.append(("resize", columns, rows))
        super().resize(columns, rows)

    @contextmanager
    def resized_silently(self, columns: int, rows: int) -> Iterator[None]:
        """It has another size from now on, which the engine learns at the end."""
        seen, watcher = (self.columns, self.rows), self.watcher
        self.watcher = None
        self.resize(columns, rows)
        self.watcher, self._seen_size = watcher, seen
        yield
        self._seen_size = None
        if watcher is not None:
            watcher.on_resize()

    @property
    def columns(self) -> int:
        return self._seen_size[0] if self._seen_size else super().columns

    @property
    def rows(self) -> int:
        return self._seen_size[1] if self._seen_size else super().rows

    def take(self) -> list[str]:
        recorded, self.recorded = self.recorded, []
        return recorded


class ComponentRecorder:
    """The rows and the boundary that each child of the root returned last."""

    def __init__(self) -> None:
        self.renders = 0
        self._rows: dict[Component, Sequence[str]] = {}
        self._seams: dict[Component, CommitBoundary | None] = {}

    def watch(self, component: Component) -> None:
        """Record what this component returns from now on."""
        render, seam = component.render, component.commit_boundary

        def watched_render(width: int) -> Sequence[str]:
            self.renders += 1
            self._rows[component] = rows = render(width)
            return rows

        def watched_seam() -> CommitBoundary | None:
            self._seams[component] = found = seam()
            return found

        component.render = watched_render  # type: ignore[method-assign]
        component.commit_boundary = watched_seam  # type: ignore[method-assign]

    def rows_of(self, component: Component) -> Sequence[str]:
        return self._rows.get(component, ())

    def frame(self, children: Sequence[Component]) -> tuple[list[str], int]:
        """All rows in order, and how many of them, from the first, are final."""
        rows: list[str] = []
        boundary = None
        for child in children:
            seam = self._seams.get(child)
            if seam is not None and boundary is None:
                safe = seam.live_start if seam.commit_safe_end is None else seam.commit_safe_end
                boundary = len(rows) + safe
            rows += self._rows.get(child, ())
        return rows, len(rows) if boundary is None else boundary
