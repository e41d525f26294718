"""Empty rows."""

from tau.tui.widgets.container import Spacer


def test_spacer_returns_the_same_empty_rows() -> None:
    spacer = Spacer(2)
    rows = spacer.render(1)
    assert rows == ["", ""]
    assert spacer.render(80) is rows
    spacer.set_rows(0)
    assert spacer.render(80) == []
    assert Spacer().render(1) == [""]
    assert Spacer(-1).render(1) == []
