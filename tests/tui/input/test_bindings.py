"""Actions by name: the defaults, the user's keys, and problems with those."""

import pytest

from tau.tui.input.bindings import BINDINGS, Binding, KeyConflict, Keymap
from tau.tui.input.key import Key, Paste
from tau.tui.input.names import label, normalize_key

UNDO = "tui.editor.undo"


def test_defaults_use_canonical_names_and_have_no_conflicts() -> None:
    keymap = Keymap()
    assert keymap.conflicts == []
    assert keymap.problems == []
    for binding in BINDINGS.values():
        assert binding.description
        assert [normalize_key(key) for key in binding.keys] == list(binding.keys)


def test_press_or_repeat_matches_but_release_and_paste_do_not() -> None:
    keymap = Keymap()
    assert keymap.matches(Key("ctrl+w"), "tui.editor.deleteWordBackward")
    assert keymap.matches(Key("up", kind="repeat"), "tui.editor.cursorUp")
    assert not keymap.matches(Key("up", kind="release"), "tui.editor.cursorUp")
    assert not keymap.matches(Paste("up"), "tui.editor.cursorUp")
    assert not keymap.matches(Key("up"), "no.such.action")


def test_user_keys_replace_those_of_the_action() -> None:
    keymap = Keymap({UNDO: ["Control+Z", "shift+ctrl+u"]})
    assert keymap.keys_of(UNDO) == ("ctrl+z", "ctrl+shift+u")
    assert not keymap.matches(Key("ctrl+-"), UNDO)
    assert keymap.matches(Key("ctrl+z"), UNDO)


def test_single_key_need_not_be_a_list() -> None:
    assert Keymap({UNDO: "ctrl+z"}).keys_of(UNDO) == ("ctrl+z",)


def test_empty_list_unbinds_the_action() -> None:
    keymap = Keymap({UNDO: []})
    assert keymap.keys_of(UNDO) == ()
    assert keymap.label(UNDO) == ""
    assert keymap.problems == []


def test_user_key_is_taken_from_the_action_that_had_it_by_default() -> None:
    keymap = Keymap({UNDO: ["ctrl+k"]})
    assert keymap.conflicts == [KeyConflict("ctrl+k", (UNDO, "tui.editor.deleteToLineEnd"), "editor")]
    assert str(keymap.conflicts[0]) == (
        "Ctrl+K is bound to tui.editor.undo and tui.editor.deleteToLineEnd; tui.editor.undo wins."
    )
    assert keymap.matches(Key("ctrl+k"), UNDO)
    assert not keymap.matches(Key("ctrl+k"), "tui.editor.deleteToLineEnd")
    assert keymap.label("tui.editor.deleteToLineEnd") == ""


def test_first_of_two_conflicting_user_bindings_wins() -> None:
    keymap = Keymap({"tui.editor.yank": ["f7"], "tui.editor.cursorUp": ["f7", "f8"]})
    assert str(keymap.conflicts[0]) == (
        "F7 is bound to tui.editor.cursorUp and tui.editor.yank; tui.editor.cursorUp wins."
    )
    assert (keymap.keys_of("tui.editor.cursorUp"), keymap.keys_of("tui.editor.yank")) == (("f7", "f8"), ())


def test_application_key_wins_but_the_editor_keeps_it_where_the_application_does_not_listen() -> None:
    """A field in a dialog has the keys of the editor, without an application listening first."""
    extra = {"app.tools.expand": Binding(("ctrl+o",), "Expand tools")}
    keymap = Keymap({"app.tools.expand": ["home"]}, extra=extra)
    assert str(keymap.conflicts[0]) == (
        "Home is bound to app.tools.expand and tui.editor.cursorLineStart; app.tools.expand wins."
    )
    assert keymap.matches(Key("home"), "tui.editor.cursorLineStart")
    assert keymap.label("tui.editor.cursorLineStart") == "Ctrl+A"


def test_list_scope_includes_the_keys_of_all_lists() -> None:
    extra = {"app.session.rename": Binding(("ctrl+r",), "Rename", scope="sessions")}
    keymap = Keymap({"app.session.rename": ["enter"]}, extra=extra)
    assert str(keymap.conflicts[0]) == (
        "Enter is bound to app.session.rename and tui.select.confirm; app.session.rename wins."
    )
    assert keymap.matches(Key("enter"), "tui.select.confirm")
    keymap = Keymap({"tui.select.up": ["up", "ctrl+r"]}, extra=extra)
    assert str(keymap.conflicts[0]) == (
        "Ctrl+R is bound to tui.select.up and app.session.rename; tui.select.up wins."
    )
    assert keymap.keys_of("app.session.rename") == ()


def test_keys_can_be_replaced_at_any_time() -> None:
    keymap = Keymap({UNDO: ["ctrl+k"], "no.such": ["f5"]})
    version = keymap.version
    keymap.use({UNDO: ["f6"]})
    assert (keymap.problems, keymap.conflicts) == ([], [])
    assert keymap.version != version
    assert keymap.matches(Key("f6"), UNDO) and not keymap.matches(Key("ctrl+k"), UNDO)
    assert keymap.matches(Key("ctrl+k"), "tui.editor.deleteToLineEnd")
    keymap.use({})
    assert keymap.keys_of(UNDO) == BINDINGS[UNDO].keys


def test_same_key_in_two_scopes_is_not_a_conflict() -> None:
    assert Keymap({"tui.select.up": ["ctrl+k"]}).conflicts == []


def test_application_actions_share_the_editor_scope_by_default() -> None:
    extra = {
        "app.tools.expand": Binding(("ctrl+o",), "Expand tools"),
        "app.tree.fold": Binding(("ctrl+o",), "Fold", scope="tree"),
    }
    keymap = Keymap({UNDO: ["ctrl+o"]}, extra=extra)
    assert keymap.conflicts == [KeyConflict("ctrl+o", (UNDO, "app.tools.expand"), "editor")]
    assert keymap.label("app.tools.expand") == ""
    assert keymap.label("app.tree.fold") == "Ctrl+O"


def test_intentionally_shared_default_keys_are_not_reported() -> None:
    extra = {"app.exit": Binding(("ctrl+d",), "Exit when the editor is empty")}
    assert Keymap(extra=extra).conflicts == []
    assert Keymap({"app.exit": ["ctrl+d"]}, extra=extra).conflicts == []


def test_unknown_action_is_named_with_the_nearest_one() -> None:
    keymap = Keymap({"tui.editr.undo": ["ctrl+z"]})
    assert keymap.problems == ["Unknown action 'tui.editr.undo'; did you mean tui.editor.undo?"]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("ctrl+flurb", "'flurb' is not a key name"),
        ("hyper+x", "'hyper' is not a modifier (use ctrl, alt, shift or super)"),
        ("ctrl+", "the key name is missing"),
        ("", "the key name is missing"),
        ("shift+1", "shift with '1' types another character: write that character instead"),
    ],
)
def test_impossible_key_is_reported_and_the_defaults_stay(written: str, reason: str) -> None:
    keymap = Keymap({UNDO: [written]})
    assert keymap.problems == [f"The key {written!r} of {UNDO} is ignored: {reason}."]
    assert keymap.keys_of(UNDO) == BINDINGS[UNDO].keys


def test_non_string_is_reported() -> None:
    keymap = Keymap({UNDO: [7]})  # type: ignore[list-item]
    assert keymap.problems == [f"A key of {UNDO} is not a string; write it like ctrl+k."]


@pytest.mark.parametrize(
    ("written", "name", "shown"),
    [
        ("Control+C", "ctrl+c", "Ctrl+C"),
        ("esc", "escape", "Esc"),
        ("return", "enter", "Enter"),
        ("shift+ctrl+p", "ctrl+shift+p", "Ctrl+Shift+P"),
        ("Super+Alt+Backspace", "alt+super+backspace", "Alt+Super+Backspace"),
        ("cmd + k", "super+k", "Super+K"),
        ("option+Left", "alt+left", "Alt+Left"),
        ("PGUP", "pageUp", "PageUp"),
        ("F5", "f5", "F5"),
        ("ctrl++", "ctrl++", "Ctrl++"),
        ("ctrl+plus", "ctrl++", "Ctrl++"),
        ("+", "+", "+"),
        (" ", "space", "Space"),
        ("shift+space", "space", "Space"),
        ("shift+a", "A", "Shift+A"),
        ("A", "A", "Shift+A"),
        ("a", "a", "A"),
        ("alt+A", "alt+a", "Alt+A"),
        ("ctrl+]", "ctrl+]", "Ctrl+]"),
        ("ctrl+-", "ctrl+-", "Ctrl+-"),
    ],
)
def test_key_names_are_accepted_in_common_spellings(written: str, name: str, shown: str) -> None:
    assert normalize_key(written) == name
    assert normalize_key(name) == name
    assert label(name) == shown
