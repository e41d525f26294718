"""Empty rows."""

from tau.tui.widgets.spacer import Spacer


def test_a_spacer_is_as_many_empty_rows_and_always_the_same() -> None:
    spacer = Spacer(2)
    rows = spacer.render(1)
    assert rows == ["", ""]
    assert spacer.render(80) is rows
    spacer.set_rows(0)
    assert spacer.render(80) == []
    assert Spacer().render(1) == [""]
    assert Spacer(-1).render(1) == []
