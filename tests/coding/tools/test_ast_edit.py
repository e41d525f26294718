"""ast_edit and resolve: a preview that writes nothing, then all of it or a clear reason why not."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.base.errors import ToolError
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.pending_changes import PendingChange, PendingChanges
from tau.coding.tools import ast_edit as module
from tau.coding.tools.ast_edit import AstEdit, AstEditParams, Rewrite
from tau.coding.tools.registry import create_tools
from tau.coding.tools.resolve import Resolve, ResolveParams
from tests.coding.context import CallContext, call_context, call_now, text_of


class Pair:
    """The two tools sharing one store of pending changes."""

    def __init__(self, ctx: CallContext) -> None:
        self.ctx = ctx
        self.previews = PendingChanges()

    def edit(self, *ops: tuple[str, str], paths: str | list[str] = ".") -> ToolOutput:
        named = [{"pat": pat, "out": out} for pat, out in ops]
        return call_now(AstEdit(self.previews), self.ctx, ops=named, paths=paths)

    def resolve(self, action: str = "apply", **more: Any) -> ToolOutput:
        return call_now(Resolve(self.previews), self.ctx, action=action, **more)

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.ctx.cwd / name).write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.ctx.cwd / name).read_bytes().decode()


@pytest.fixture
def pair(ctx: CallContext) -> Pair:
    return Pair(ctx)


def test_large_source_file_held_the_event_loop(pair: Pair) -> None:
    """A fixture of all tests measures how long; it does not judge the first call, which imports modules."""
    source = "class C:\n    def m(self):\n        return 1\n\n"
    pair.write({"small.py": source, "large.py": source * 9_000})
    pair.edit(("return $A", "return -$A"), paths="small.py")
    output = pair.edit(("return $A", "return -$A"), paths="large.py")
    assert output.details.replacements == 9_000


def test_preview_shows_the_change_and_writes_nothing(pair: Pair) -> None:
    pair.write({"a.py": "x = 1\nfoo(x, 2)\ny = 3\n", "b.py": "bar()\n"})
    output = pair.edit(("foo($A, $B)", "bar($B, $A)"))
    assert text_of(output) == (
        "Preview of 1 replacement in 1 file. Nothing is written yet; call resolve to apply or discard it.\n\n"
        "--- a/a.py\n+++ b/a.py\n@@ -1,3 +1,3 @@\n x = 1\n-foo(x, 2)\n+bar(2, x)\n y = 3"
    )
    assert pair.read("a.py") == "x = 1\nfoo(x, 2)\ny = 3\n"
    details = output.details
    assert (details.state, details.replacements, details.files_searched) == ("preview", 1, 2)
    assert [(file.path, file.added, file.removed) for file in details.files] == [("a.py", 1, 1)]


def test_apply_writes_all_files_and_keeps_every_other_byte(pair: Pair) -> None:
    pair.write({"a.py": "\ufeffé = foo(1)\r\n\r\nx\t\r\n", "b.py": "foo(2)", "c.js": "foo(3);\n"})
    pair.edit(("foo($A)", "bar($A)"))
    output = pair.resolve(reason="looks right")
    assert text_of(output) == "Applied 3 replacements in 3 files."
    assert output.details.state == "applied"
    assert pair.read("a.py") == "\ufeffé = bar(1)\r\n\r\nx\t\r\n"
    assert (pair.read("b.py"), pair.read("c.js")) == ("bar(2)", "bar(3);\n")


def test_discard_changes_nothing_and_drops_the_preview(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    pair.edit(("foo($A)", "bar($A)"))
    output = pair.resolve("discard", reason="wrong place")
    assert text_of(output) == "Discarded: structural edit, 1 replacement in 1 file. Nothing was changed."
    assert output.details.reason == "wrong place"
    assert pair.read("a.py") == "foo(1)\n"
    with pytest.raises(ToolError, match="There is no pending preview"):
        pair.resolve()


def test_preview_is_applied_once(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    pair.edit(("foo($A)", "foo($A, 1)"))
    pair.resolve()
    with pytest.raises(ToolError, match="There is no pending preview"):
        pair.resolve()
    assert pair.read("a.py") == "foo(1, 1)\n"


def test_newer_preview_replaces_the_previous_one(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    pair.edit(("foo($A)", "bar($A)"))
    output = pair.edit(("foo($A)", "baz($A)"))
    assert "[The previous preview was dropped: structural edit, 1 replacement in 1 file]" in text_of(output)
    pair.resolve()
    assert pair.read("a.py") == "baz(1)\n"


def test_file_changed_meanwhile_is_refused_and_the_others_are_written(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n", "b.py": "foo(2)\n", "c.py": "foo(3)\n"})
    pair.edit(("foo($A)", "bar($A)"))
    pair.write({"a.py": "foo(1)  # mine\n"})
    (pair.ctx.cwd / "c.py").unlink()
    output = pair.resolve()
    assert text_of(output) == (
        "Applied 1 replacement in 1 file. Not changed, because modified since the preview: "
        "a.py, c.py. Run ast_edit again."
    )
    assert output.details.refused == ["a.py", "c.py"]
    assert (pair.read("a.py"), pair.read("b.py")) == ("foo(1)  # mine\n", "bar(2)\n")
    assert not (pair.ctx.cwd / "c.py").exists()


def test_error_if_every_file_was_changed_meanwhile(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    pair.edit(("foo($A)", "bar($A)"))
    pair.write({"a.py": "foo(1)  # mine\n"})
    with pytest.raises(ToolError, match="Nothing was written"):
        pair.resolve()


class FailingFileSystem(LocalFileSystem):
    """Fails to write one file with the given exception."""

    def __init__(self, name: str, error: BaseException) -> None:
        self.name = name
        self.error = error

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        if path.name == self.name:
            raise self.error
        return await super().write(path, data, expect=expect)


def test_failed_write_rolls_back_earlier_ones(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n", "b.py": "foo(2)\n", "c.py": "foo(3)\n"})
    pair.ctx.use_disk(FailingFileSystem("c.py", OSError(28, "No space left on device")))
    pair.edit(("foo($A)", "bar($A)"))
    with pytest.raises(
        ToolError, match=r"Cannot edit c\.py: No space left on device\. .*nothing has changed\."
    ):
        pair.resolve()
    assert [pair.read(name) for name in ("a.py", "b.py", "c.py")] == ["foo(1)\n", "foo(2)\n", "foo(3)\n"]


def test_interrupted_write_rolls_back_earlier_ones(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n", "b.py": "foo(2)\n"})
    pair.ctx.use_disk(FailingFileSystem("b.py", asyncio.CancelledError()))
    pair.edit(("foo($A)", "bar($A)"))
    with pytest.raises(asyncio.CancelledError):
        pair.resolve()
    assert [pair.read(name) for name in ("a.py", "b.py")] == ["foo(1)\n", "foo(2)\n"]


def test_written_file_counts_as_seen(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    pair.edit(("foo($A)", "bar($A)"))
    pair.resolve()
    path = pair.ctx.cwd / "a.py"
    assert pair.ctx.snapshots.last_seen(path) == asyncio.run(pair.ctx.fs.stat(path))


def test_no_match_leaves_an_earlier_preview_alone(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    pair.edit(("foo($A)", "bar($A)"))
    output = pair.edit(("nothing($A)", "x"))
    assert text_of(output) == "No matches found" and output.details.state == "unchanged"
    pair.resolve()
    assert pair.read("a.py") == "bar(1)\n"


def test_change_that_breaks_the_code_is_reported(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n", "b.py": "(\nfoo(2)\n"})
    output = pair.edit(("foo($A)", "bar($A"))
    assert "[After this, a.py would have a syntax error; check it]" in text_of(output)
    assert [file.broken for file in output.details.files] == [True, False]


def test_nested_matches_are_reported(pair: Pair) -> None:
    pair.write({"a.py": "foo(foo(1))\n"})
    output = pair.edit(("foo($A)", "bar($A)"))
    assert "[1 nested matches are unchanged; run it again for them]" in text_of(output)


def test_distant_changes_are_separate_hunks(pair: Pair) -> None:
    lines = ["x = 1"] * 5000
    lines[10] = lines[12] = "foo(1)"
    lines[4000] = "if x: foo(2)"
    pair.write({"a.py": "\n".join(lines)})
    diff = pair.edit(("foo($A)", "bar($A,\n  3)")).details.files[0].diff
    assert diff.count("@@ ") == 2 and "@@ -8,9 +8,11 @@" in diff and "@@ -3998,7 +4000,8 @@" in diff
    assert "+if x: bar(2,\n+  3)\n" in diff


def test_last_line_may_lack_its_newline(pair: Pair) -> None:
    pair.write({"a.py": "x\nfoo(1)"})
    diff = pair.edit(("foo($A)", "bar($A)")).details.files[0].diff
    assert diff.endswith("-foo(1)\n\\ No newline at end of file\n+bar(1)\n\\ No newline at end of file\n")


def test_long_preview_is_truncated_with_a_note(pair: Pair) -> None:
    pair.write({f"f{n:03}.py": f"foo({'1' * 400})\n" for n in range(80)})
    output = pair.edit(("foo($A)", "bar($A)"))
    assert len(text_of(output)) < 60_000 and "resolve applies all of it" in text_of(output)
    assert text_of(pair.resolve()) == "Applied 80 replacements in 80 files."


def test_invalid_calls_are_explained(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    pair.write({"a.py": "foo(1)\nbar(2)\n", "b.py": "foo(1)\n"})
    wrong = [
        ([("foo(", "x")], "not valid python"),
        ([("", "x")], "is empty"),
        ([("foo($A)", "bar($B)")], r"uses \$B, which `pat` does not have"),
        ([("foo($A)", "x"), ("foo($A) ", "y")], "occurs twice"),
        ([(f"f{n}($A)", "y") for n in range(60)], "the limit is 50"),
    ]
    for ops, message in wrong:
        with pytest.raises(ToolError, match=message):
            pair.edit(*ops)
    with pytest.raises(ToolError, match="ops"):
        pair.edit()
    monkeypatch.setattr(module, "MAX_CHANGED_FILES", 1)
    with pytest.raises(ToolError, match="more than 1 files"):
        pair.edit(("foo($A)", "x"))


def test_preview_only_reads_and_apply_writes(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n"})
    params = AstEditParams([Rewrite("foo($A)", "x")], "a.py")
    path = pair.ctx.cwd / "a.py"
    assert AstEdit(pair.previews).effects(params, pair.ctx.cwd) == Effects(reads=(path,))
    resolve = Resolve(pair.previews)
    assert AstEdit.exclusive and resolve.exclusive  # they share the pending change
    assert resolve.effects(ResolveParams("apply"), pair.ctx.cwd) == Effects()
    pair.edit(("foo($A)", "bar($A)"))
    preview = ("preview", "structural edit, 1 replacement in 1 file (number 1)")
    wanted = Effects(writes=(path,), details=(preview,))
    assert resolve.effects(ResolveParams("apply"), pair.ctx.cwd) == wanted
    assert resolve.effects(ResolveParams("discard"), pair.ctx.cwd) == Effects()


def test_any_tool_can_propose_a_pending_change() -> None:
    async def apply(ctx: Any) -> ToolOutput:
        return ToolOutput.text("done")

    previews = PendingChanges()
    first = PendingChange(title="first", paths=(), apply=apply)
    second = PendingChange(title="second", paths=(), apply=apply)
    assert previews.propose(first) is None
    assert previews.propose(second) is first
    assert previews.pending is second
    assert previews.take() is second
    assert previews.take() is None


@settings(max_examples=30)
@given(
    st.lists(
        st.sampled_from(["foo(1)", "é\r\n", "\n", "x = ", "'\ud83d'", "𝄞", "# foo(2)\n", "foo(foo(3))\r\n"])
    )
)
def test_bytes_outside_the_matches_are_the_same_on_disk(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("work").resolve()
    data = "".join(pieces).encode(errors="replace")
    (folder / "a.py").write_bytes(data)
    with call_context(folder) as ctx:
        pair = Pair(ctx)
        output = pair.edit(("foo($A)", "FOO[$A]"))
        if output.details.state == "preview":
            pair.resolve()
    after = (folder / "a.py").read_bytes()
    assert after.replace(b"FOO[", b"foo(").replace(b"]", b")") == data


def test_generated_files_are_skipped_with_a_note(pair: Pair) -> None:
    pair.write({"a.py": "foo(1)\n", "b.py": "# @generated\nfoo(2)\n"})
    [_, tool, *_] = create_tools(["ast_grep", "ast_edit", "resolve"])

    shown = text_of(call_now(tool, pair.ctx, ops=[{"pat": "foo($A)", "out": "bar($A)"}], paths="."))

    assert "a/a.py" in shown and "a/b.py" not in shown
    assert "b.py looks generated" in shown
