"""Components one below the other."""

from collections.abc import Iterable, Sequence
from operator import is_

from tau.tui.component import CommitBoundary, Component
from tau.tui.rows import Rows


class Container(Component):
    """Its children in order. Rows that did not change are passed on, never copied."""

    def __init__(self, children: Iterable[Component] = ()) -> None:
        self.children: list[Component] = list(children)
        self._parts: list[Sequence[str]] = []
        self._rows = Rows()
        self._rendered: list[Component] = []

    def add(self, *children: Component) -> None:
        """More children at the end."""
        self.children += children

    def remove(self, child: Component) -> None:
        """One child less; nothing happens if it is not there."""
        if child in self.children:
            self.children.remove(child)

    def replace(self, old: Component, new: Component) -> None:
        """Another child in the place of one that is there; at the end if it is not."""
        if old in self.children:
            self.children[self.children.index(old)] = new
        else:
            self.children.append(new)

    def clear(self) -> None:
        """No children."""
        self.children.clear()

    def render(self, width: int) -> Rows:
        parts = [child.render(width) for child in self.children]
        # Equal length and the same objects: the rows are those handed out last time.
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

    def seam(self) -> CommitBoundary | None:
        """That of the first child that has one, counted from the top of this one."""
        above = 0
        for child, part in zip(self._rendered, self._parts, strict=False):
            seam = child.seam()
            if seam is not None:
                deeper = seam.commit_safe_end
                return CommitBoundary(seam.live_start + above, None if deeper is None else deeper + above)
            above += len(part)
        return None
