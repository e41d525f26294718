"""Vim keys: each row is a text with `|` at the cursor, keys in normal mode, and the result."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tau.tui.component import CURSOR_MARKER
from tau.tui.input.key import Key
from tau.tui.style import Theme
from tau.tui.widgets.editor.editor import Editor
from tau.tui.widgets.editor.vim import VimKeys
from tests.support.palettes import DARK_TOKENS
from tests.tui.widgets.editor.editor_rig import cursor, editor, paste, typed

ESC, REDO = "\x1b", "\x12"
CASES = [
    # motions
    ("ab|c", "h", "a|bc"),
    ("|abc", "l", "a|bc"),
    ("|abc", "9l", "ab|c"),
    ("ab|c", "3h", "|abc"),
    ("|one\ntwo", "h", "|one\ntwo"),
    ("|one two.three", "w", "one |two.three"),
    ("|one two.three", "3w", "one two.|three"),
    ("one t|wo", "w", "one tw|o"),
    ("o|ne\n  two", "w", "one\n  |two"),
    ("|one\n\ntwo", "w", "one\n|\ntwo"),
    ("one two |three", "b", "one |two three"),
    ("one two |three", "2b", "|one two three"),
    ("|one two", "e", "on|e two"),
    ("on|e two", "e", "one tw|o"),
    ("  one |two", "0", "|  one two"),
    ("  one |two", "^", "  |one two"),
    ("|one two", "$", "one tw|o"),
    ("one\ntw|o\nthree", "gg", "|one\ntwo\nthree"),
    ("o|ne\ntwo\nthree", "G", "one\ntwo\n|three"),
    ("o|ne\ntwo\nthree", "2G", "one\n|two\nthree"),
    ("o|ne\ntwo\nthree", "jj", "one\ntwo\nt|hree"),
    ("one\ntwo\nt|hree", "2k", "o|ne\ntwo\nthree"),
    # changes
    ("a|bc", "x", "a|c"),
    ("a|bcd", "2x", "a|d"),
    ("ab|c", "x", "a|b"),
    ("ab|c", "X", "a|c"),
    ("one\nt|wo\nthree", "dd", "one\n|three"),
    ("one\ntwo\nth|ree", "dd", "one\n|two"),
    ("o|ne", "dd", "|"),
    ("|one\ntwo\nthree", "2dd", "|three"),
    ("|one\ntwo\nthree", "d2d", "|three"),
    ("|one\ntwo\nthree", "dj", "|three"),
    ("one\ntwo\n|three", "dgg", "|"),
    ("one\nt|wo\nthree", "dG", "|one"),
    ("|one two three", "dw", "|two three"),
    ("|one two three", "2dw", "|three"),
    ("|one two three", "d2w", "|three"),
    ("one |two\nthree", "dw", "one| \nthree"),
    ("one two |three", "db", "one |three"),
    ("|one two", "de", "| two"),
    ("one |two three", "d$", "one| "),
    ("one |two three", "D", "one| "),
    ("one |two", "d0", "|two"),
    ("  one |two", "d^", "  |two"),
    ("|one two", f"cwsix{ESC}", "si|x two"),
    ("|one two", f"2cwsix{ESC}", "si|x"),
    ("one |two three", f"Cx{ESC}", "one |x"),
    ("one\nt|wo\nthree", f"ccx{ESC}", "one\n|x\nthree"),
    ("one\nt|wo\nthree", f"Sx{ESC}", "one\n|x\nthree"),
    ("o|ne", f"sx{ESC}", "o|xe"),
    ("o|ne", "rx", "o|xe"),
    ("|one", "2rx", "x|xe"),
    ("o|ne", f"ix{ESC}", "o|xne"),
    ("o|ne", f"ax{ESC}", "on|xe"),
    ("  o|ne", f"Ix{ESC}", "  |xone"),
    ("o|ne two", f"Ax{ESC}", "one two|x"),
    ("o|ne\ntwo", f"ox{ESC}", "one\n|x\ntwo"),
    ("one\nt|wo", f"Ox{ESC}", "one\n|x\ntwo"),
    # put, undo, repeat
    ("|one\ntwo", "ddp", "two\n|one"),
    ("one\nt|wo", "ddP", "|two\none"),
    ("|one\ntwo", "yyp", "one\n|one\ntwo"),
    ("|one\ntwo", "Yjp", "one\ntwo\n|one"),
    ("|one two", "yw$p", "one twoone| "),
    ("|one two", "dwP", "one| two"),
    ("|ab", "xp", "b|a"),
    ("|ab", "x3p", "baa|a"),
    ("|one two", "dwu", "|one two"),
    ("|one two three", "dw..", "|"),
    ("|one two", f"cwx{ESC}w.", "x |x"),
    ("|a\nb\nc", f"A;{ESC}j.j.", "a;\nb;\nc|;"),
    ("|abcdef", "2x.", "|ef"),
    # visual
    ("|one two", "ved", "| two"),
    ("o|ne two", f"v$cx{ESC}", "o|x"),
    ("|one two", "vey$p", "one twoon|e"),
    ("one tw|o", "vbd", "one| "),
    ("|one\ntwo", "vjx", "|wo"),
    ("|one", f"vl{ESC}x", "o|e"),
    # unfinished and unknown
    ("o|ne", "dz", "o|ne"),
    ("o|ne", f"d{ESC}x", "o|e"),
    ("o|ne", "qZ!", "o|ne"),
    ("|", "x", "|"),
    ("日|本語", "x", "日|語"),
    ("|日本語", "$x", "日|本"),
]


def vim_editor(shown: str, **options: object) -> Editor:
    """An editor in normal mode; `|` is the cursor."""
    edited = editor(**options)
    edited.actions.modal = VimKeys()
    before, _, after = shown.partition("|")
    edited.restore({"parts": [before + after], "cursor": len(before) + 1})
    edited.do("tui.editor.normalMode")
    if not after and not before:
        return edited
    edited.restore({"parts": [before + after], "cursor": len(before)})
    return edited


def play(edited: Editor, keys: str) -> None:
    for key in keys:
        if key == ESC:
            edited.do("tui.editor.normalMode")
        elif key == REDO:
            edited.handle_input(Key("ctrl+r"))
        elif key == "\n":
            edited.handle_input(Key("enter"))
        else:
            typed(edited, key)


def shown(edited: Editor) -> str:
    at = cursor(edited)
    return f"{edited.text[:at]}|{edited.text[at:]}"


@pytest.mark.parametrize(("before", "keys", "after"), CASES)
def test_keys_do_what_they_do_in_vim(before: str, keys: str, after: str) -> None:
    edited = vim_editor(before)
    play(edited, keys)
    assert shown(edited) == after


@pytest.mark.skipif(not shutil.which("vim"), reason="vim is not installed")
def test_vim_itself_agrees(tmp_path: Path) -> None:
    """Each text in its own buffer, the keys by `:normal`, then the cursor and the lines."""
    script = ["set nocompatible noautoindent startofline encoding=utf-8"]
    for number, (before, keys, _) in enumerate(CASES):
        lines = before.replace("|", "").split("\n")
        head = before.partition("|")[0].split("\n")
        script += [
            "enew!",
            f"call setline(1, {json.dumps(lines, ensure_ascii=False)})",
            f"call cursor({len(head)}, {len(head[-1].encode()) + 1})",
            "let &undolevels = &undolevels",
            f"normal! {keys}",
            f"call writefile([line('.') . ' ' . col('.')] + getline(1, '$'), '{tmp_path}/{number}')",
        ]
    (tmp_path / "script.vim").write_text("\n".join([*script, "qa!", ""]), encoding="utf-8")
    argv = ["vim", "-e", "-s", "-N", "-u", "NONE", "-i", "NONE", "-n", "-S", str(tmp_path / "script.vim")]
    subprocess.run(argv, check=False, stdin=subprocess.DEVNULL, capture_output=True, cwd=tmp_path)
    wrong = {}
    for number, (before, keys, after) in enumerate(CASES):
        at, *lines = (tmp_path / str(number)).read_text(encoding="utf-8").splitlines()
        row, column = (int(part) - 1 for part in at.split())
        text = [line.encode() for line in lines]
        text[row] = text[row][:column] + b"|" + text[row][column:]
        found = b"\n".join(text).decode()
        if found != after:
            wrong[before, keys] = (after, found)
    assert wrong == {}


def test_undo_and_redo_go_step_by_step() -> None:
    """In a script, vim undoes all of it at once."""
    edited = vim_editor("|one two three")
    play(edited, f"dwdwuu{REDO}")
    assert shown(edited) == "|two three"


def test_editor_starts_in_insert_mode_and_after_sending_too() -> None:
    sent: list[str] = []
    edited = editor(on_submit=lambda text: bool(sent.append(text)) or None)
    modes: list[str] = []
    keys = VimKeys(lambda: modes.append(keys.mode))
    edited.actions.modal = keys
    typed(edited, "hjkl")
    assert edited.text == "hjkl" and keys.mode == "insert"
    play(edited, f"{ESC}\n")
    assert (sent, keys.mode, modes) == (["hjkl"], "insert", ["normal", "insert"])


def test_escape_leaves_one_thing_at_a_time() -> None:
    edited = vim_editor("o|ne")
    play(edited, "2d")
    assert edited.do("tui.editor.normalMode")
    play(edited, "v")
    assert edited.do("tui.editor.normalMode")
    assert not edited.do("tui.editor.normalMode")


def test_without_vim_keys_escape_has_no_mode_to_leave() -> None:
    assert not editor("x").do("tui.editor.normalMode")


def test_selection_is_inverse() -> None:
    edited = vim_editor("|one two", theme=Theme(DARK_TOKENS), draw_cursor=False)
    play(edited, "wve")
    row = edited.render(20)[1].replace(CURSOR_MARKER, "")
    assert row == "one \x1b[7mtw\x1b[27m\x1b[7mo\x1b[27m"
    play(edited, ESC)
    assert edited.render(20)[1].replace(CURSOR_MARKER, "") == "one two"


def test_paste_and_keys_without_text_work_in_normal_mode() -> None:
    edited = vim_editor("o|ne")
    paste(edited, "TWO")
    assert edited.text == "oTWOne"
    edited.handle_input(Key("end"))
    edited.handle_input(Key("backspace"))
    assert edited.text == "oTWOne"
    edited.handle_input(Key("delete"))
    assert edited.text == "oTWOn"
