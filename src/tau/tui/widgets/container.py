"""A vertical stack of components, and empty rows between them."""

from collections.abc import Iterable, Sequence
from operator import is_

from tau.tui.component import CommitBoundary, Component
from tau.tui.rows import Rows


class Container(Component):
    """Stacks its children. Unchanged rows are shared, never copied."""

    def __init__(self, children: Iterable[Component] = ()) -> None:
        self.children: list[Component] = list(children)
        self._parts: list[Sequence[str]] = []
        self._rows = Rows()
        self._rendered: list[Component] = []

    def add(self, *children: Component) -> None:
        self.children += children

    def remove(self, child: Component) -> None:
        """Remove a child, if present."""
        if child in self.children:
            self.children.remove(child)

    def replace(self, old: Component, new: Component) -> None:
        """Replace a child; append the new one if the old one is missing."""
        if old in self.children:
            self.children[self.children.index(old)] = new
        else:
            self.children.append(new)

    def clear(self) -> None:
        self.children.clear()

    def render(self, width: int) -> Rows:
        parts = [child.render(width) for child in self.children]
        # Equal length and the same objects: reuse the last result.
        if len(parts) != len(self._parts) or not all(map(is_, parts, self._parts)):
            self._parts = parts
            self._rows = Rows(parts)
        self._rendered = list(self.children)
        return self._rows

    def invalidate(self) -> None:
        self._parts = []
        self._rows = Rows()
        for child in self.children:
            child.invalidate()

    def commit_boundary(self) -> CommitBoundary | None:
        """Return the first child's boundary, relative to the top of the container."""
        above = 0
        for child, part in zip(self._rendered, self._parts, strict=False):
            boundary = child.commit_boundary()
            if boundary is not None:
                deeper = boundary.commit_safe_end
                return CommitBoundary(boundary.live_start + above, None if deeper is None else deeper + above)
            above += len(part)
        return None


class Spacer(Component):
    """Some empty rows."""

    def __init__(self, rows: int = 1) -> None:
        self._rows = [""] * max(rows, 0)

    def set_rows(self, rows: int) -> None:
        if rows != len(self._rows):
            self._rows = [""] * max(rows, 0)

    def render(self, width: int) -> list[str]:
        return self._rows
