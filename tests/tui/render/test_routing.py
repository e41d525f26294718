"""Who gets the keys."""

from tau.tui.component import Component
from tau.tui.input.key import InputEvent, Key, Paste
from tau.tui.render.screen import CONSUMED, Consumed, OverlayOptions
from tests.tui.render.stagehand import Field, Stagehand


class Eager(Field):
    """Wants to know when keys are released."""

    wants_releases = True


def test_keys_and_pastes_reach_the_focused_component() -> None:
    hand = Stagehand().start()
    hand.terminal.type("ab")
    hand.terminal.paste("cd")
    assert hand.field.seen == [Key("a", "a"), Key("b", "b"), Paste("cd")]
    assert hand.field.focused
    assert hand.screen.focused is hand.field


def test_listeners_come_first_and_may_change_or_consume() -> None:
    hand = Stagehand().start()

    def shout(event: InputEvent) -> InputEvent | None:
        return event._replace(text=event.text.upper()) if isinstance(event, Key) else None

    def eat(event: InputEvent) -> Consumed | None:
        return CONSUMED if isinstance(event, Key) and event.text == "X" else None

    unlisten = [hand.screen.listen(shout), hand.screen.listen(eat)]
    hand.terminal.type("axb")
    assert hand.field.text == "AB"
    for stop in (*unlisten, *unlisten):
        stop()
    hand.terminal.type("x")
    assert hand.field.text == "ABx"


def test_releases_go_only_to_those_who_want_them() -> None:
    hand = Stagehand().start()
    release = Key("a", "a", "release")
    hand.screen.on_input([release])
    assert hand.field.seen == []
    eager = Eager()
    hand.screen.root.add(eager)
    hand.screen.focus(eager)
    hand.screen.on_input([release])
    assert eager.seen == [release]


def test_what_means_nothing_to_the_component_goes_to_the_application() -> None:
    hand = Stagehand().start()
    left: list[InputEvent] = []
    hand.screen.on_unhandled = left.append
    hand.terminal.press("ctrl+p", "a")
    assert left == [Key("ctrl+p")]
    hand.screen.focus(None)
    hand.terminal.press("f1")
    assert left[-1] == Key("f1")
    assert not hand.field.focused


def test_an_overlay_takes_the_keys_and_gives_them_back() -> None:
    hand = Stagehand().start()
    first, second = Field(), Field()
    one = hand.screen.show_overlay(first)
    two = hand.screen.show_overlay(second)
    hand.terminal.type("a")
    assert second.text == "a"
    two.hide()
    hand.terminal.type("b")
    one.hide()
    two.hide()
    hand.terminal.type("c")
    assert (first.text, hand.field.text) == ("b", "c")


def test_a_new_overlay_has_the_focus_and_the_cursor_before_any_key() -> None:
    hand = Stagehand().start()
    inside = Field()
    hand.screen.show_overlay(inside, OverlayOptions(width=10, min_width=1, anchor="top-left"))
    hand.pass_time()
    assert hand.screen.focused is inside
    assert (inside.focused, hand.field.focused) == (True, False)
    assert hand.terminal.cursor == (1, 2)


def test_a_new_overlay_that_is_only_read_or_finds_no_room_leaves_the_focus() -> None:
    hand = Stagehand().start()
    for options in (OverlayOptions(takes_focus=False), OverlayOptions(visible=lambda columns, rows: False)):
        note = Field()
        hand.screen.show_overlay(note, options)
        assert hand.screen.focused is hand.field
        assert (note.focused, hand.field.focused) == (False, True)


def test_closing_the_lower_one_first_still_leads_back() -> None:
    hand = Stagehand().start()
    one, two = hand.screen.show_overlay(Field()), hand.screen.show_overlay(Field())
    one.hide()
    two.hide()
    assert hand.screen.focused is hand.field


def test_one_that_is_only_read_takes_no_keys() -> None:
    hand = Stagehand().start()
    hand.screen.show_overlay(Field(), OverlayOptions(takes_focus=False))
    hand.terminal.type("a")
    assert hand.field.text == "a"


def test_keys_do_not_go_to_an_overlay_that_is_out_of_sight() -> None:
    hand = Stagehand().start()
    inside = Field()
    overlay = hand.screen.show_overlay(inside)
    overlay.hidden = True
    hand.terminal.type("a")
    assert hand.field.text == "a"
    overlay.hidden = False
    hand.terminal.type("b")
    assert inside.text == "b"


def test_focus_follows_what_can_be_seen_after_a_resize() -> None:
    hand = Stagehand(30, 8).start()
    inside = Field()
    hand.screen.show_overlay(inside, OverlayOptions(visible=lambda columns, rows: columns >= 30))
    hand.terminal.resize(20, 8)
    hand.terminal.type("a")
    hand.terminal.resize(40, 8)
    hand.terminal.type("b")
    assert (hand.field.text, inside.text) == ("a", "b")


def test_the_application_is_told_what_else_happens() -> None:
    hand = Stagehand().start()
    told: list[object] = []
    hand.screen.on_background_changed = told.append
    hand.screen.on_focus_changed = told.append
    hand.screen.on_terminal_closed = lambda: told.append("closed")
    hand.terminal.background("light")
    hand.terminal.focus(False)
    hand.terminal.close()
    assert told == ["light", False, "closed"]


def test_nothing_is_written_to_a_terminal_that_is_gone() -> None:
    hand = Stagehand().start()
    hand.terminal.close()
    before = hand.terminal.bytes_written
    hand.say(1, 50)
    hand.screen.stop()
    assert hand.terminal.bytes_written == before
    assert isinstance(hand.field, Component)
