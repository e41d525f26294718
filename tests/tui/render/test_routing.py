"""Key routing."""

from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.render.screen import CONSUMED, Consumed, OverlayOptions
from tests.tui.render.render_rig import Field, RenderRig


class Eager(Field):
    """Wants to know when keys are released."""

    wants_releases = True


def test_keys_and_pastes_reach_the_focused_component() -> None:
    rig = RenderRig().start()
    rig.terminal.type("ab")
    rig.terminal.paste("cd")
    assert rig.field.seen == [Key("a", "a"), Key("b", "b"), Paste("cd")]
    assert rig.field.focused
    assert rig.screen.focused is rig.field


def test_listeners_come_first_and_may_change_or_consume() -> None:
    rig = RenderRig().start()

    def shout(event: InputEvent) -> InputEvent | None:
        return event._replace(text=event.text.upper()) if isinstance(event, Key) else None

    def eat(event: InputEvent) -> Consumed | None:
        return CONSUMED if isinstance(event, Key) and event.text == "X" else None

    unlisten = [rig.screen.listen(shout), rig.screen.listen(eat)]
    rig.terminal.type("axb")
    assert rig.field.text == "AB"
    for stop in (*unlisten, *unlisten):
        stop()
    rig.terminal.type("x")
    assert rig.field.text == "ABx"


def test_releases_go_only_to_components_that_want_them() -> None:
    rig = RenderRig().start()
    release = Key("a", "a", "release")
    rig.screen.on_input([release])
    assert rig.field.seen == []
    eager = Eager()
    rig.screen.root.add(eager)
    rig.screen.focus(eager)
    rig.screen.on_input([release])
    assert eager.seen == [release]


def test_unhandled_input_goes_to_the_application() -> None:
    rig = RenderRig().start()
    left: list[InputEvent] = []
    rig.screen.on_unhandled = left.append
    rig.terminal.press("ctrl+p", "a")
    assert left == [Key("ctrl+p")]
    rig.screen.focus(None)
    rig.terminal.press("f1")
    assert left[-1] == Key("f1")
    assert not rig.field.focused


def test_overlay_takes_the_keys_and_gives_them_back() -> None:
    rig = RenderRig().start()
    first, second = Field(), Field()
    one = rig.screen.show_overlay(first)
    two = rig.screen.show_overlay(second)
    rig.terminal.type("a")
    assert second.text == "a"
    two.hide()
    rig.terminal.type("b")
    one.hide()
    two.hide()
    rig.terminal.type("c")
    assert (first.text, rig.field.text) == ("b", "c")


def test_new_overlay_has_focus_and_cursor_before_any_key() -> None:
    rig = RenderRig().start()
    inside = Field()
    rig.screen.show_overlay(inside, OverlayOptions(width=10, min_width=1, anchor="top-left"))
    rig.pass_time()
    assert rig.screen.focused is inside
    assert (inside.focused, rig.field.focused) == (True, False)
    assert rig.terminal.cursor == (1, 2)


def test_new_read_only_or_unshown_overlay_leaves_the_focus() -> None:
    rig = RenderRig().start()
    for options in (OverlayOptions(takes_focus=False), OverlayOptions(visible=lambda columns, rows: False)):
        note = Field()
        rig.screen.show_overlay(note, options)
        assert rig.screen.focused is rig.field
        assert (note.focused, rig.field.focused) == (False, True)


def test_closing_the_lower_overlay_first_still_restores_focus() -> None:
    rig = RenderRig().start()
    one, two = rig.screen.show_overlay(Field()), rig.screen.show_overlay(Field())
    one.hide()
    two.hide()
    assert rig.screen.focused is rig.field


def test_read_only_overlay_takes_no_keys() -> None:
    rig = RenderRig().start()
    rig.screen.show_overlay(Field(), OverlayOptions(takes_focus=False))
    rig.terminal.type("a")
    assert rig.field.text == "a"


def test_hidden_overlay_gets_no_keys() -> None:
    rig = RenderRig().start()
    inside = Field()
    overlay = rig.screen.show_overlay(inside)
    overlay.hidden = True
    rig.terminal.type("a")
    assert rig.field.text == "a"
    overlay.hidden = False
    rig.terminal.type("b")
    assert inside.text == "b"


def test_focus_follows_visibility_after_a_resize() -> None:
    rig = RenderRig(30, 8).start()
    inside = Field()
    rig.screen.show_overlay(inside, OverlayOptions(visible=lambda columns, rows: columns >= 30))
    rig.terminal.resize(20, 8)
    rig.terminal.type("a")
    rig.terminal.resize(40, 8)
    rig.terminal.type("b")
    assert (rig.field.text, inside.text) == ("a", "b")


def test_other_events_reach_the_application() -> None:
    rig = RenderRig().start()
    events: list[object] = []
    rig.screen.on_background_changed = events.append
    rig.screen.on_focus_changed = events.append
    rig.screen.on_terminal_closed = lambda: events.append("closed")
    rig.terminal.background("light")
    rig.terminal.focus(False)
    rig.terminal.close()
    assert events == ["light", False, "closed"]


def test_nothing_is_written_to_a_closed_terminal() -> None:
    rig = RenderRig().start()
    rig.terminal.close()
    before = rig.terminal.bytes_written
    rig.say(1, 50)
    rig.screen.stop()
    assert rig.terminal.bytes_written == before
    assert isinstance(rig.field, Component)
