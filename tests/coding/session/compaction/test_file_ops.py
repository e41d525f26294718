"""Which files were read and changed, in every edit mode."""

from typing import Any

import pytest

from tau.agent.call_runner import STOPPED
from tau.ai.wire import AppMessage
from tau.coding.session.compaction.estimate import text_tokens
from tau.coding.session.compaction.file_ops import (
    FileOps,
    earlier_file_ops,
    file_lists,
    file_ops,
    without_file_lists,
)
from tau.coding.tools.ast_edit import AstEditDetails, AstEditFile
from tests.coding.session.compaction.rig import call, result, says, step

PATCH = """*** Begin Patch
*** Update File: src/a.py
@@
-x
+y
*** Add File: src/b.py
+z
*** Update File: src/old.py
*** Move to: src/new.py
@@
-*** Update File: not/a/file.py
*** End Patch"""
DIFF = """diff --git a/src/a.py b/src/a.py
--- a/src/a.py
+++ b/src/a.py
@@ -1 +1 @@
--- not/a/name
+x
--- /dev/null
+++ b/src/new.py\t2026-01-01
@@ -0,0 +1 @@
+y
rename from src/was.py
rename to src/is.py"""
HASHLINE = "¶src/a.py#A1B2\nreplace 1..1:\n+¶src/no.py#AAAA\n+[no.py#AAAA]\n[src/c.py#00FF]\ndelete 3..4"


def ops(
    name: str, *, error: bool = False, text: str = "ok", details: Any = None, **arguments: Any
) -> FileOps:
    made: list[AppMessage] = [says(call("1", name, **arguments), stop="toolUse")]
    return file_ops([*made, result("1", name, text, error=error, details=details)], "/project")


@pytest.mark.parametrize(
    ("name", "arguments", "modified"),
    [
        ("write", {"path": "a.py", "content": "x"}, ["a.py"]),
        ("write", {"file_path": "/project/a.py", "content": "x"}, ["/project/a.py"]),
        ("write", {"path": "local://notes.md", "content": "x"}, []),
        ("edit", {"path": "a.py", "old_text": "x", "new_text": "y"}, ["a.py"]),
        ("edit", {"path": "a.py", "edits": [{"path": "b.py"}, {"old_text": "x"}]}, ["a.py", "b.py"]),
        ("edit", {"input": HASHLINE}, ["src/a.py", "src/c.py"]),
        ("edit", {"input": PATCH}, ["src/a.py", "src/b.py", "src/old.py", "src/new.py"]),
        ("edit", {"input": DIFF}, ["src/a.py", "src/new.py", "src/was.py", "src/is.py"]),
        ("ast_edit", {"ops": [], "paths": ["src/a.py"]}, ["src/a.py"]),
        ("edit", {"path": " ", "edits": [{"path": "b\0.py"}, {"path": "c.py"}]}, ["c.py"]),
        ("bash", {"command": "rm a.py"}, []),
        ("search", {"pattern": "x", "path": "a.py"}, []),
    ],
)
def test_changed_files_come_from_the_call(name: str, arguments: dict[str, Any], modified: list[str]) -> None:
    assert list(ops(name, **arguments).modified) == modified


def test_failed_call_changes_nothing_but_a_stopped_one_may_have() -> None:
    assert ops("write", error=True, path="a.py").modified == ()
    assert ops("write", error=True, text=STOPPED, path="a.py").modified == ("a.py",)
    unfinished = says(call("1", "write", path="b.py"), stop="toolUse")
    assert file_ops([unfinished], "/project").modified == ("b.py",)


def test_results_name_files_too() -> None:
    details = {"path": "/project/a.py", "perFileResults": [{"path": "/project/a.py"}, {"path": "/x/b.py"}]}
    assert ops("edit", details=details, input="?").modified == ("/project/a.py", "/x/b.py")
    assert ops("edit", details=details, path="a.py").modified == ("a.py", "/x/b.py")


@pytest.mark.parametrize(("state", "modified"), [("preview", ()), ("applied", ("a.py",))])
def test_structural_edit_counts_once_applied(state: Any, modified: tuple[str, ...]) -> None:
    file = AstEditFile(path="a.py", replacements=1, added=1, removed=1, diff="")
    details = AstEditDetails(state=state, scope_path=".", replacements=1, files=[file])
    assert ops("resolve", details=details, action="apply").modified == modified
    assert ops("ast_edit", details=details, ops=[], paths="src").modified == modified


def test_resolved_conflict_names_its_file() -> None:
    found = ops("write", path="conflict://1", content="x", text="Resolved.\n¶src/a.py#A1B2")
    assert found.modified == ("src/a.py",)


def test_reads_are_listed_separately_without_line_ranges() -> None:
    assert ops("read", path="src/a.py:10-20").read == ("src/a.py",)
    assert ops("read", path="src/a.py:0-1").read == ("src/a.py:0-1",)
    assert ops("read", path="https://x.org/a").read == ()
    assert ops("read", error=True, path="a.py").read == ()


def test_file_is_named_once_however_it_is_spelled() -> None:
    messages: list[AppMessage] = []
    for number, path in enumerate(["a.py", "./a.py", "/project/a.py", "x/../a.py"]):
        messages += [
            says(
                call(f"r{number}", "read", path=path), call(f"w{number}", "write", path=path), stop="toolUse"
            ),
            result(f"r{number}", "read", "x"),
            result(f"w{number}", "write", "x"),
        ]
    assert file_ops(messages, "/project") == FileOps((), ("a.py",))


def test_files_of_earlier_summaries_are_carried_over() -> None:
    before = [
        earlier_file_ops({"readFiles": ["r.py", "a.py"], "modifiedFiles": ["m.py"]}),
        earlier_file_ops({"readFiles": 3}),
    ]
    messages: list[AppMessage] = [says(call("1", "write", path="a.py"), stop="toolUse")]
    assert file_ops(messages, "/project", before) == FileOps(("r.py",), ("m.py", "a.py"))
    assert (
        earlier_file_ops(None)
        == earlier_file_ops("x")
        == earlier_file_ops({"modifiedFiles": [1, None]})
        == FileOps()
    )


def test_lists_name_every_changed_file_and_the_latest_reads() -> None:
    many = FileOps(tuple(f"r{n}.py" for n in range(50)), tuple(f"src/m{n}.py" for n in range(300)))
    text = file_lists(many, 10_000)
    assert all(path in text.splitlines() for path in many.modified)
    assert 'shown="20" of="50"' in text and "r49.py" in text and "r0.py" not in text.splitlines()
    short = file_lists(many, 1_100)
    assert "src/{m0.py,m1.py," in short and "m299.py}" in short
    assert "more; the session" in file_lists(FileOps((), tuple(f"d{n}/m.py" for n in range(300))), 200)
    assert file_lists(FileOps(), 100) == ""


def test_list_is_abbreviated_only_if_it_does_not_fit() -> None:
    ops = FileOps(("r.py",), ("src/a.py", "src/b.py", "src/c.py"))
    full, by_folder = "\n\n<modified-files>\n{}\n</modified-files>".format, "src/{a.py,b.py,c.py}"
    modified = full("\n".join(ops.modified))
    read = "\n\n<read-files>\nr.py\n</read-files>"
    room = text_tokens(modified) + text_tokens(read)
    assert file_lists(ops, room) == modified + read
    assert file_lists(ops, room - 1) == file_lists(ops, text_tokens(modified)) == modified
    room = text_tokens(full(by_folder))
    assert room < text_tokens(modified)
    assert file_lists(ops, text_tokens(modified) - 1) == file_lists(ops, room) == full(by_folder)
    assert "more; the session file" in file_lists(ops, room - 1)


def test_latest_500_read_files_are_kept() -> None:
    messages: list[AppMessage] = [m for n in range(501) for m in step(f"{n}", "read", "x", path=f"{n}.py")]
    assert file_ops(messages, "/project").read == tuple(f"{n}.py" for n in range(1, 501))


def test_list_too_long_even_by_folder_uses_its_room_and_ends_with_a_count() -> None:
    paths = tuple(f"folder{n}/file" for n in range(100))
    ops = FileOps(modified=paths)
    for fitting in (3, 7):
        room = 40 + sum(text_tokens(path) + 1 for path in paths[:fitting])
        lines = file_lists(ops, room).strip().splitlines()[1:-1]
        assert lines == [*paths[:fitting], f"… and {100 - fitting} more; the session file has all of them"]
        assert len(file_lists(ops, room - 1).strip().splitlines()) == fitting + 2


def test_lists_can_be_stripped_from_a_summary() -> None:
    text = "## Goal\nx" + file_lists(FileOps(("r\n.py",), ("a.py", "b c.py")), 1_000)
    assert without_file_lists(text) == "## Goal\nx"
    assert "r\\n.py" in text
