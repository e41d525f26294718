"""Differences as rows, and parsing unified diffs."""

import difflib
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.style import StyleSpec, Theme
from tau.tui.text.sgr import strip_escapes
from tau.tui.text.width import visible_width
from tau.tui.widgets.diff import DiffView, changed_words
from tau.tui.widgets.diff_hunks import DiffHunk, DiffLine, diff_texts, parse_unified_diff
from tests.support.palettes import DARK_TOKENS, PLAIN
from tests.support.soak import examples

CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
OLD = "".join(f"line {n} of the file\n" for n in range(1, 31))


def shown(view: DiffView, width: int = 50) -> list[str]:
    return [strip_escapes(row).rstrip() for row in view.render(width)]


def test_changed_lines_have_numbers_and_signs_and_context() -> None:
    new = OLD.replace("line 5 of", "line five of")
    assert shown(DiffView(Theme(PLAIN), OLD, new, context=1)) == [
        "4   line 4 of the file",
        "5 - line 5 of the file",
        "5 + line five of the file",
        "6   line 6 of the file",
    ]


def test_distant_changes_are_separated_and_near_ones_joined() -> None:
    new = OLD.replace("line 5 ", "x ").replace("line 9 ", "y ").replace("line 25 ", "z ")
    rows = shown(DiffView(Theme(PLAIN), OLD, new, context=1))
    assert rows.count("…") == 2
    assert shown(DiffView(Theme(PLAIN), OLD, new, context=2)).count("…") == 1


def test_changed_words_are_marked_in_both_lines() -> None:
    theme = Theme({"diffRemovedWord": StyleSpec(bold=True), "diffAddedWord": StyleSpec(underline=True)})
    rows = DiffView(theme, "a = call(one, two)\n", "a = call(one, three)\n").render(50)
    assert rows == ["1 - a = call(one, \x1b[1mtwo\x1b[22m)", "1 + a = call(one, \x1b[4mthree\x1b[24m)"]


def test_lines_with_little_in_common_are_not_compared_by_word() -> None:
    assert changed_words("completely different", "nothing alike here") is None
    assert changed_words("a b c", "a x c") == ([(2, 3)], [(2, 3)])
    assert changed_words("x " * 600, "y " * 600) is None


def test_new_and_deleted_files() -> None:
    assert shown(DiffView(Theme(PLAIN), "", "a\nb\n")) == ["1 + a", "2 + b"]
    assert shown(DiffView(Theme(PLAIN), "a\n", "")) == ["1 - a"]
    assert shown(DiffView(Theme(PLAIN), "a\n", "a\n")) == ["No differences."]


def test_missing_final_newline_is_a_difference() -> None:
    assert diff_texts("a\nb", "a\nb\n") != []


def test_long_lines_wrap_below_their_text() -> None:
    rows = shown(DiffView(Theme(PLAIN), "", "abcdefghijklmnopqrst\n"), 14)
    assert rows == ["1 + abcdefghij", "    klmnopqrst"]


def test_tabs_and_wide_characters_respect_the_width() -> None:
    view = DiffView(Theme(DARK_TOKENS), "\tx = '漢字'\n", "\tx = '漢字かな交じり'\n")
    for width in range(1, 30):
        assert all(visible_width(row) <= width for row in view.render(width))
    assert "    x" in strip_escapes(view.render(40)[0])


def test_screen_reader_gets_words() -> None:
    view = DiffView(Theme(PLAIN, linear=True), "a\nb\n", "a\nc\n")
    assert shown(view) == ["Line 1: a", "Removed 2: b", "Added 2: c"]


def test_many_rows_are_cut_with_a_count_until_expanded() -> None:
    view = DiffView(Theme(PLAIN), "", "x\n" * 100, max_rows=10)
    rows = shown(view)
    assert len(rows) == 10
    assert rows[-1] == "… 91 more lines"
    view.is_expanded = True
    assert len(view.render(50)) == 100
    assert len(DiffView(Theme(PLAIN), "", "x\n" * 10, max_rows=10).render(50)) == 10


def test_endless_line_is_cut_too() -> None:
    rows = shown(DiffView(Theme(PLAIN), "", "x" * 5000, max_rows=5), 20)
    assert len(rows) <= 5
    assert rows[-1] == "… 1 more line"


def test_huge_difference_is_bounded() -> None:
    view = DiffView(Theme(PLAIN), "a\n" * 30_000, "b\n" * 30_000)
    rows = view.render(40)
    assert len(rows) < 20_001
    assert "more lines" in rows[-1]


def test_rows_are_the_same_object_until_something_changes() -> None:
    view = DiffView(Theme(PLAIN), "a", "b")
    rows = view.render(30)
    assert view.render(30) is rows
    view.set_texts("a", "c")
    assert view.render(30) is not rows
    kinds = [line.kind for hunk in view._hunks for line in hunk.lines]
    assert (kinds.count("added"), kinds.count("removed")) == (1, 1)


GIT = """diff --git a/src/x.py b/src/x.py
index 83db48f..bf2a1c3 100644
--- a/src/x.py
+++ b/src/x.py
@@ -10,4 +10,4 @@ def f():
 a
--- old
+++ new
 b
\\ No newline at end of file
diff --git a/y b/z
similarity index 90%
rename from y
rename to z
--- a/y
+++ b/z
@@ -1 +1,2 @@
 c
+d
"""


def test_git_unified_diff_is_parsed() -> None:
    first, note, second = parse_unified_diff(GIT)
    assert (first.path, first.section) == ("src/x.py", "def f():")
    assert first.lines == (
        DiffLine("same", "a", 10, 10),
        DiffLine("removed", "-- old", 11, None),
        DiffLine("added", "++ new", None, 11),
        DiffLine("same", "b", 12, 12),
        DiffLine("note", "No newline at end of file"),
    )
    assert [line.text for line in note.lines][-1] == "rename to z"
    assert second == DiffHunk((DiffLine("same", "c", 1, 1), DiffLine("added", "d", None, 2)), "", "z")


def test_diff_without_numbers_is_shown_without_them() -> None:
    assert shown(DiffView(Theme(PLAIN), diff="@@ @@\n-a\n+b\n")) == ["- a", "+ b"]
    assert shown(DiffView(Theme(PLAIN), diff="@@ ... @@ f()\n-a\n+b\n")) == ["… f()", "- a", "+ b"]


def test_controls_in_a_diff_are_removed() -> None:
    rows = DiffView(Theme(PLAIN), diff="+++ b/\x1b[2Jx\n@@ -1 +1 @@ \x9b1m\n+\x1b]0;t\x07a\n").render(40)
    assert all(row.isprintable() for row in rows)
    hunk = DiffHunk((DiffLine("added", "\x1b[2Jb\nc"),), "s\x07", "p\x1b")
    assert all(row.isprintable() for row in DiffView(Theme(PLAIN), diff=[hunk]).render(40))


lines = st.lists(st.sampled_from("abcd\n") | st.text(max_size=3), max_size=12).map("\n".join)


@examples(50)
@given(lines, lines, st.integers(0, 4))
def test_our_hunks_match_the_unified_diff(old: str, new: str, context: int) -> None:
    old, new = old.replace("\r", ""), new.replace("\r", "")
    hunks = diff_texts(old + "\n", new + "\n", context)
    removed = [line.text for hunk in hunks for line in hunk.lines if line.kind == "removed"]
    added = [line.text for hunk in hunks for line in hunk.lines if line.kind == "added"]
    before, after = (old + "\n").split("\n")[:-1], (new + "\n").split("\n")[:-1]
    for hunk in hunks:
        for line in hunk.lines:
            if line.old_number is not None:
                assert before[line.old_number - 1] == line.text
            if line.new_number is not None:
                assert after[line.new_number - 1] == line.text
    assert len(before) - len(removed) == len(after) - len(added)
    assert bool(hunks) == (before != after)
    text = "\n".join(difflib.unified_diff(before, after, "x", "y", lineterm="", n=context))
    assert sum(len(hunk.lines) > 0 for hunk in parse_unified_diff(text)) == text.count("\n@@ ")


@examples(50)
@given(st.text(st.sampled_from("@+- \\abd12,\n\x1b\t漢") | st.characters(codec=None)), st.integers(1, 30))
def test_any_text_can_be_shown_as_a_diff(text: str, width: int) -> None:
    rows = DiffView(Theme(DARK_TOKENS), diff=text, max_rows=20).render(width)
    assert len(rows) <= 20
    for row in rows:
        assert visible_width(row) <= width
        assert not CONTROLS.search(strip_escapes(row))


@pytest.mark.parametrize("sign", ["-", "+"])
def test_signs_are_shown_without_colors(sign: str) -> None:
    view = DiffView(Theme(PLAIN, depth="none"), "a\n", "b\n")
    assert any(row.startswith(f"1 {sign}") for row in view.render(20))
