"""Stacked components."""

from collections.abc import Sequence

from tau.tui.component import CommitBoundary, Component
from tau.tui.widgets.container import Container, Spacer


class Fixed(Component):
    def __init__(self, *rows: str, commit_boundary: CommitBoundary | None = None) -> None:
        self.rows: list[str] = list(rows)
        self.its_seam = commit_boundary
        self.invalidated = 0

    def render(self, width: int) -> Sequence[str]:
        return self.rows

    def invalidate(self) -> None:
        self.invalidated += 1

    def commit_boundary(self) -> CommitBoundary | None:
        return self.its_seam


def test_children_are_stacked() -> None:
    container = Container([Fixed("a", "b"), Spacer(), Fixed("c")])
    assert list(container.render(10)) == ["a", "b", "", "c"]


def test_unchanged_children_return_the_same_rows() -> None:
    child = Fixed("a")
    container = Container([child, Fixed("b")])
    rows = container.render(10)
    assert container.render(10) is rows
    child.rows = ["A"]
    changed = container.render(10)
    assert changed is not rows
    assert list(changed) == ["A", "b"]
    assert list(rows) == ["a", "b"]
    assert container.render(10) is changed


def test_rows_of_a_child_are_shared_not_copied() -> None:
    child = Fixed("a")
    assert Container([child]).render(10).parts[0] is child.rows


def test_children_are_added_and_removed() -> None:
    one, two, three = Fixed("1"), Fixed("2"), Fixed("3")
    container = Container([one])
    container.add(two, three)
    assert list(container.render(10)) == ["1", "2", "3"]
    container.remove(two)
    container.remove(two)
    assert list(container.render(10)) == ["1", "3"]
    container.replace(one, two)
    assert list(container.render(10)) == ["2", "3"]
    container.replace(one, one)
    assert list(container.render(10)) == ["2", "3", "1"]
    container.clear()
    assert list(container.render(10)) == []
    assert container.render(10) is container.render(10)


def test_first_child_with_a_boundary_decides() -> None:
    live = Fixed("c", "d", commit_boundary=CommitBoundary(1, 2))
    container = Container([Fixed("a", "b"), live, Fixed("e", commit_boundary=CommitBoundary(0))])
    container.render(10)
    assert container.commit_boundary() == CommitBoundary(3, 4)
    live.its_seam = CommitBoundary(0)
    assert container.commit_boundary() == CommitBoundary(2, None)
    live.its_seam = None
    assert container.commit_boundary() == CommitBoundary(4, None)
    container.remove(container.children[-1])
    container.render(10)
    assert container.commit_boundary() is None


def test_containers_nest() -> None:
    inner = Container([Fixed("b"), Fixed("c", commit_boundary=CommitBoundary(0))])
    outer = Container([Fixed("a"), inner])
    assert list(outer.render(10)) == ["a", "b", "c"]
    assert outer.commit_boundary() == CommitBoundary(2, None)
    assert outer.render(10) is outer.render(10)


def test_every_child_is_invalidated() -> None:
    children = [Fixed("a"), Fixed("b")]
    container = Container(children)
    rows = container.render(10)
    container.invalidate()
    assert [child.invalidated for child in children] == [1, 1]
    assert container.render(10) == rows
