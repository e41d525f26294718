"""Notifications that disappear automatically."""

import pytest

from tau.tui.component import Component
from tau.tui.style import Theme
from tau.tui.text.width import visible_width
from tau.tui.widgets.toast import MAX_TOASTS, ToastStack
from tests.support.fake_timer import FakeTimer


class Stage:
    def __init__(self, theme: Theme | None = None) -> None:
        self.timer = FakeTimer()
        self.asked: list[Component] = []
        self.stack = ToastStack(theme or Theme({}), timer=self.timer, request_render=self.asked.append)


def test_toast_comes_and_goes() -> None:
    stage = Stage()
    assert list(stage.stack.render(40)) == []
    stage.stack.show("Saved")
    assert stage.stack.render(40) == ["• Saved"]
    assert stage.asked == [stage.stack]
    stage.timer.advance(3.9)
    assert stage.stack.render(40) == ["• Saved"]
    stage.timer.advance(0.2)
    assert list(stage.stack.render(40)) == []
    assert stage.asked == [stage.stack, stage.stack]
    assert stage.timer.pending == 0


def test_severe_toasts_stay_longer_and_have_their_own_symbols() -> None:
    stage = Stage()
    stage.stack.show("Fine", "success")
    stage.stack.show("Careful", "warning")
    stage.stack.show("Broken", "error")
    assert stage.stack.render(40) == ["✓ Fine", "! Careful", "✗ Broken"]
    stage.timer.advance(5)
    assert stage.stack.render(40) == ["! Careful", "✗ Broken"]
    stage.timer.advance(4)
    assert stage.stack.render(40) == ["✗ Broken"]


def test_toast_without_a_timeout_stays_until_dismissed() -> None:
    stage = Stage()
    toast = stage.stack.show("Stay", seconds=0)
    stage.timer.advance(1000)
    assert stage.stack.render(40) == ["• Stay"]
    stage.stack.dismiss(toast)
    stage.stack.dismiss(toast)
    assert list(stage.stack.render(40)) == []


def test_repeated_toast_restarts_its_timeout() -> None:
    stage = Stage()
    stage.stack.show("Copied")
    stage.timer.advance(3)
    stage.stack.show("Copied")
    assert stage.stack.render(40) == ["• Copied"]
    stage.timer.advance(3)
    assert stage.stack.render(40) == ["• Copied"]
    assert len(stage.stack.toasts) == 1


def test_excess_toasts_are_counted_and_their_number_is_limited() -> None:
    stage = Stage()
    for number in range(MAX_TOASTS + 20):
        stage.stack.show(f"note {number}")
    assert len(stage.stack.toasts) == MAX_TOASTS
    assert stage.stack.render(40) == [f"{MAX_TOASTS - 3} more", "• note 67", "• note 68", "• note 69"]
    assert stage.timer.pending == MAX_TOASTS
    stage.stack.clear()
    assert stage.timer.pending == 0


def test_long_toast_is_wrapped_limited_and_free_of_control_sequences() -> None:
    stage = Stage()
    stage.stack.show("\x1b[2Jone two three four five six seven eight nine ten", seconds=0)
    assert stage.stack.render(12) == ["• one two", "  three four", "  five six", "  …"]
    assert stage.stack.render(12) is stage.stack.render(12)


def test_screen_reader_hears_the_level() -> None:
    stage = Stage(Theme({}, linear=True))
    stage.stack.show("Low on space", "warning")
    assert stage.stack.render(80) == ["Warning: Low on space"]


@pytest.mark.parametrize("width", [1, 2, 4, 5, 9])
def test_rows_never_exceed_the_width(width: int) -> None:
    stage = Stage()
    for level in ("info", "error"):
        stage.stack.show("漢字 and a family 👩‍👩‍👧 of notes", level, 0)  # type: ignore[arg-type]
    assert all(visible_width(row) <= width for row in stage.stack.render(width))
