"""Rendering of reads, edits and writes."""

from typing import Any

import pytest

from tau.coding.edits.report import EditDetails
from tau.coding.tools.read import DisplayContent, ReadDetails
from tau.coding.tools.write import WriteDetails
from tau.modes.interactive.tool_views import diff_body, registry
from tests.modes.interactive.tool_views.looks import CWD, LOOKS, PLAIN, body, drawn, title, view, whole


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/app.py:10-40", "Read src/app.py:10-40"),
        (f"{CWD}/src/app.py", "Read src/app.py"),
        (str(CWD), "Read ."),
        ("/etc/hosts", "Read /etc/hosts"),
        (f"{CWD}-other/a.py", f"Read {CWD}-other/a.py"),
        ("artifact://3", "Read artifact://3"),
        ("a\nb\x1b[31mc.py", "Read a<U+000A>b<U+001B>[31mc.py"),
        ("", "Read …"),
    ],
)
def test_read_shows_a_readable_path(path: str, shown: str) -> None:
    assert title(drawn("read", {"path": path})) == shown


def test_argument_aliases_are_known() -> None:
    assert title(drawn("read", {"file_path": "a.py"})) == "Read a.py"
    assert title(drawn("bash", {"cmd": "ls"})) == "$ ls"


def test_read_is_one_line_until_expanded() -> None:
    details = ReadDetails(path="/a.py", kind="file", total_lines=2, first_line=1, last_line=2)
    text = "¶a.py#A3F6\n1:import os\n2:\n[a remark]"
    folded = drawn("read", {"path": "a.py"}, text=text, details=details)
    assert (body(folded), folded.note) == ("", "2 lines")
    shown = drawn("read", {"path": "a.py"}, text=text, details=details, expanded=True)
    assert body(shown).split("\n") == ["1  import os", "2", "   [a remark]"]


@pytest.mark.parametrize("text", ["¶a.py#A3F6\n7:\n8:9:30 start\n[a remark]", "\n9:30 start\n[a remark]"])
def test_raw_lines_that_look_numbered_lost_their_start(text: str) -> None:
    details = ReadDetails(path="/a.py", kind="file", display_content=DisplayContent("\n9:30 start", 7))
    shown = drawn("read", {"path": "a.py:raw"}, text=text, details=details, expanded=True)
    assert body(shown).split("\n") == ["7", "8  9:30 start", "   [a remark]"]


def test_long_read_ends_with_what_is_missing() -> None:
    text = "\n".join(f"{number}:x" for number in range(1, 5_001))
    rows = body(drawn("read", {"path": "a.txt"}, text=text, expanded=True)).split("\n")
    assert len(rows) <= 2_001
    assert rows[-1] == "… 3,000 more lines"


def test_code_is_highlighted() -> None:
    found = registry.draw(view("read", {"path": "a.py"}, text="1:import os", expanded=True), LOOKS["dark"])
    (row,) = [row for part in found.body for row in part.render(80)]
    assert LOOKS["dark"]["syntaxKeyword"].open in row


def test_resolved_path_is_shown_without_expanding() -> None:
    expected = "There is no app.py; this is src/app.py, the only match"
    details = ReadDetails(path="/a", kind="file", total_lines=1, suffix_resolution=expected)
    assert body(drawn("read", {"path": "app.py"}, details=details)) == f"{expected}."


def test_reads_in_a_group_are_listed() -> None:
    views = [view("read", {"path": f"src/{name}.py"}) for name in "abc"]
    views[1] = views[1]._replace(state="running")
    found = registry.draw_group(views, PLAIN)
    assert title(found) == "Read 3 files"
    assert body(found).split("\n") == ["├─ src/a.py", "├─ src/b.py", "└─ src/c.py"]
    many = registry.draw_group([views[0]] * 40, PLAIN)
    assert len(body(many).split("\n")) == 21


def edited(**fields: Any) -> EditDetails:
    known = {
        "path": f"{CWD}/a.py",
        "op": "update",
        "diff": "",
        "first_changed_line": 1,
        "added": 3,
        "removed": 1,
    }
    return EditDetails(**{**known, **fields})


def test_edit_shows_file_and_counts() -> None:
    assert title(drawn("edit", {}, details=edited())) == "Edit a.py +3 -1"
    assert title(drawn("edit", {}, details=edited(op="create"))) == "Create a.py +3 -1"
    assert title(drawn("edit", {}, details=edited(op="delete"))) == "Delete a.py +3 -1"
    linear = registry.draw(view("edit", {}, details=edited()), LOOKS["linear"])
    assert title(linear) == "Edit a.py 3 added, 1 removed"


def test_edit_marks_the_changed_words() -> None:
    diff = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-tax = 0.2\n+tax = 0.25\n"
    found = registry.draw(view("edit", {}, details=edited(diff=diff)), LOOKS["dark"])
    rows = [row for part in found.body for row in part.render(80)]
    assert len(rows) == 2
    assert LOOKS["dark"]["diffAddedWord"]("25") in rows[1]


def test_truncated_diff_does_not_swallow_the_next_file() -> None:
    """The counts of a hunk promise more lines than it has."""
    cut = "--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n same\n[… 8 more diff lines not shown]\n"
    other = "--- a/b.py\n+++ b/b.py\n@@ -1 +1 @@\n-old\n+new\n"
    rows = [row.strip() for row in diff_body.diff(PLAIN, [cut, other], 50, named=True).render(80)]
    assert "b.py" in rows
    assert "1 + new" in rows


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("¶src/a.py#A3F6\ndelete 1..2\n¶b.py#0000\n", ("src/a.py", 2)),
        ("*** Begin Patch\n*** Update File: x.py\n@@\n*** Add File: y.py\n", ("x.py", 2)),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n", ("x.py", 1)),
        ("¶src/a", ("src/a", 1)),
        ("nothing", ("", 0)),
        ("", ("", 0)),
    ],
)
def test_files_of_a_patch_are_known_while_streaming(text: str, files: tuple[str, int]) -> None:
    assert diff_body.patch_files(text) == files


def test_streaming_edit_shows_its_last_lines() -> None:
    new = "\n".join(f"line {number}" for number in range(100))
    found = drawn("edit", {"path": "a.py", "old_text": "x", "new_text": new}, "streaming")
    assert title(found) == "Edit a.py"
    assert found.note == "100 lines so far"
    rows = body(found).split("\n")
    assert rows[0] == "… 88 earlier lines"
    assert rows[-1] == "+ line 99"
    only_old = drawn("edit", {"path": "a.py", "old_text": "gone"}, "streaming")
    assert body(only_old) == "- gone"


def test_pending_edit_previews_its_change() -> None:
    found = drawn("edit", {"path": "a.py", "old_text": "one\ntwo\n", "new_text": "one\n2\n"}, "pending")
    assert body(found).split("\n") == ["  one", "- two", "+ 2"]


def test_huge_edit_is_not_diffed() -> None:
    found = drawn("edit", {"path": "a.py", "old_text": "x\n" * 60_000, "new_text": "y\n" * 60_000}, "pending")
    assert body(found).split("\n")[:2] == ["+ y", "+ y"]


def test_new_file_shows_its_first_lines() -> None:
    details = WriteDetails(path=f"{CWD}/a.py", bytes=90, lines=30, created=True, made_executable=True)
    found = drawn("write", {"path": "a.py", "content": "x = 1\n" * 30}, details=details)
    assert title(found) == "Write a.py"
    assert found.note == "new file, 30 lines, 90 bytes, executable"
    rows = body(found).split("\n")
    assert (rows[0], rows[-1], len(rows)) == (" 1  x = 1", "… 18 more lines", 13)


def test_streaming_file_shows_its_last_lines_with_numbers() -> None:
    content = "".join(f"line {number}\n" for number in range(1, 51)) + "half"
    found = drawn("write", {"path": "a.txt", "content": content}, "streaming")
    rows = body(found).split("\n")
    assert found.note == "51 lines so far"
    assert (rows[0], rows[-1]) == ("… 39 earlier lines", "51  half")


def test_write_without_changes_says_so() -> None:
    details = WriteDetails(path="/a", bytes=1, lines=1, created=False, diff="", added=0, removed=0)
    assert "already had this content" in body(drawn("write", {"path": "a"}, details=details))


@pytest.mark.parametrize("tool", ["read", "edit", "write", "search", "find", "todo", "ask", "unknown"])
def test_error_is_shown_prominently(tool: str) -> None:
    found = registry.draw(view(tool, {}, "failed", "It is not there.\nLook elsewhere."), LOOKS["dark"])
    rows = [row for part in found.body for row in part.render(80)]
    assert LOOKS["dark"]["error"]("It is not there.") in rows
    assert "failed" in found.note


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "Stopped before it started."),
        ("The user interrupted this call; it may have done part of its work.", "Stopped; it may have partly"),
        ("Not run: the user interrupted before this call began.", "Stopped before it started."),
        ("Not run: the user sent a new message, which comes next.", "your new message comes first"),
        ("half of it", "half of it\nStopped here."),
    ],
)
def test_stopped_call_shows_what_is_known(text: str, expected: str) -> None:
    for tool in ("read", "bash", "edit", "write", "unknown"):
        assert expected in whole(drawn(tool, {}, "aborted", text)), tool
