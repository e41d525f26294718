"""The patch envelope: what it supports, what it tolerates, and how it refuses the rest."""

import asyncio
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.edits import apply_patch
from tau.coding.edits.change import summary
from tau.coding.edits.multi_file_patch import apply_patch as apply_sections
from tau.coding.edits.placement import patched
from tau.coding.edits.splices import spliced
from tau.coding.edits.transaction import WrittenChange
from tests.coding.context import CallContext

CODE = """class Alpha:
    def run(self):
        prepare()
        return 1

    def stop(self):
        return 1


class Beta:
    def run(self):
        prepare()
        return 1

    def stop(self):
        return 1
"""


def patch(ctx: CallContext, text: str) -> list[WrittenChange]:
    return asyncio.run(apply_sections(apply_patch.parse(text, ctx.cwd), ctx))


def envelope(body: str) -> str:
    return f"*** Begin Patch\n{body}*** End Patch\n"


def updated(ctx: CallContext, text: str, hunks: str, *, wrap: bool = True) -> tuple[str, str]:
    """The file after an update with these hunks, and the report."""
    path = ctx.cwd / "a.py"
    path.write_bytes(text.encode())
    body = f"*** Update File: a.py\n{hunks}"
    written = patch(ctx, envelope(body) if wrap else body)
    return path.read_bytes().decode(), summary(written[0].change)


def refused(ctx: CallContext, text: str, hunks: str) -> str:
    with pytest.raises(ToolError) as raised:
        updated(ctx, text, hunks)
    assert (ctx.cwd / "a.py").read_bytes() == text.encode()
    return str(raised.value)


def test_envelope_supports_every_operation(ctx: CallContext) -> None:
    (ctx.cwd / "up.txt").write_text("one\ntwo\nthree\n")
    (ctx.cwd / "gone.txt").write_text("gone\n")
    (ctx.cwd / "from.txt").write_text("from\n")
    (ctx.cwd / "as-is.bin").write_bytes(b"\0\xff")
    written = patch(
        ctx,
        envelope(
            "*** Add File: new/file.txt\n+first\n+\n+  third\n"
            "*** Update File: up.txt\n@@\n one\n-two\n+2\n three\n"
            "*** Delete File: gone.txt\n"
            "*** Update File: from.txt\n*** Move to: to/there.txt\n@@\n-from\n+to\n"
            "*** Update File: as-is.bin\n*** Move to: moved.bin\n"
        ),
    )
    files = {str(p.relative_to(ctx.cwd)): p.read_bytes() for p in ctx.cwd.rglob("*") if p.is_file()}
    assert files == {
        "new/file.txt": b"first\n\n  third\n",
        "up.txt": b"one\n2\nthree\n",
        "to/there.txt": b"to\n",
        "moved.bin": b"\0\xff",
    }
    assert [summary(one.change) for one in written] == [
        "Created new/file.txt (+3 -0 lines).",
        "Edited up.txt (+1 -1 lines, first at line 2).",
        "Deleted gone.txt (+0 -1 lines).",
        "Moved from.txt to to/there.txt (+1 -1 lines, first at line 1).",
        "Moved as-is.bin to moved.bin.",
    ]
    assert "--- a/from.txt\n+++ b/to/there.txt\n" in written[3].change.diff


def test_hunks_without_context_apply_in_sequence(ctx: CallContext) -> None:
    text = "foo\nbar\nbaz\nqux\n"
    assert updated(ctx, text, "@@\n-bar\n+BAR\n@@\n-qux\n+QUX\n")[0] == "foo\nBAR\nbaz\nQUX\n"
    assert updated(ctx, text, " foo\n+more\n bar\n")[0] == "foo\nmore\nbar\nbaz\nqux\n"


def test_nested_headers_name_the_scope(ctx: CallContext) -> None:
    lines = CODE.split("\n")
    result, report = updated(
        ctx, CODE, "@@ class Beta:\n@@     def stop(self):\n-        return 1\n+        return 2\n"
    )
    assert result.split("\n")[15] == "        return 2"
    assert result.split("\n")[:15] == lines[:15]
    assert report == "Edited a.py (+1 -1 lines, first at line 16)."
    shorter = "@@ class Alpha\n@@ def run\n         prepare()\n+        check()\n"
    assert updated(ctx, CODE, shorter)[0].split("\n")[2:4] == ["        prepare()", "        check()"]


def test_header_equal_to_a_line_is_not_taken_for_the_beginning_of_a_longer_one(ctx: CallContext) -> None:
    text = "def run_all:\n    x\n  def run\n    x\n"
    result, _ = updated(ctx, text, "@@ def run\n-    x\n+    y\n")
    assert result == "def run_all:\n    x\n  def run\n    y\n"


def test_ambiguous_hunk_is_refused_with_number_count_and_lines(ctx: CallContext) -> None:
    message = refused(ctx, CODE, "@@\n         prepare()\n-        return 1\n+        return 2\n")
    assert "Hunk 1 fits a.py 2 times, at lines 3, 12." in message
    message = refused(ctx, CODE, "@@ class Alpha:\n-        return 1\n+        return 2\n")
    assert "Hunk 1 fits a.py 2 times, at lines 4, 7." in message
    message = refused(ctx, CODE, "@@     def stop(self):\n-        return 1\n+        return 2\n")
    assert "fits a.py 2 times, at lines 7, 16." in message


def test_order_of_hunks_resolves_ambiguity(ctx: CallContext) -> None:
    both = "@@\n prepare()\n-one()\n+1\n"
    text = "prepare()\none()\nprepare()\none()\n"
    assert updated(ctx, text, both + both)[0] == "prepare()\n1\nprepare()\n1\n"
    assert updated(ctx, "x\nmark\nx\n", "@@\n-mark\n+MARK\n@@\n-x\n+y\n")[0] == "x\nMARK\ny\n"
    assert updated(ctx, "x\nmark\nx\n", "@@\n-x\n+y\n@@\n-mark\n+MARK\n")[0] == "y\nMARK\nx\n"
    assert "fits a.py 3 times" in refused(ctx, "x\nx\nx\n", "@@\n-x\n+y\n@@\n-x\n+z\n")


def test_unordered_hunks_apply_if_each_is_unambiguous(ctx: CallContext) -> None:
    result, report = updated(ctx, "one\ntwo\nthree\n", "@@\n-three\n+3\n@@\n-one\n+1\n")
    assert result == "1\ntwo\n3\n"
    assert "out of order" in report


def test_hunks_may_share_context_but_not_lines_that_change(ctx: CallContext) -> None:
    hunks = "@@\n one\n-two\n+2\n three\n@@\n three\n-four\n+4\n"
    assert updated(ctx, "one\ntwo\nthree\nfour\n", hunks)[0] == "one\n2\nthree\n4\n"
    message = refused(ctx, "one\ntwo\n", "@@\n-one\n+1\n@@\n-one\n+eins\n")
    assert "change the same lines" in message


def test_unchanged_lines_are_never_rewritten(ctx: CallContext) -> None:
    text = "def f():  \n\treturn “one”\u00a0+ x\n\tend\n"
    result, report = updated(ctx, text, '@@\n def f():\n \treturn "one" + x\n-\tend\n+\tstop\n')
    assert result == "def f():  \n\treturn “one”\u00a0+ x\n\tstop\n"
    assert "Hunk 1 matched approximately at lines 1-3: look-alike characters" in report
    result, report = updated(ctx, "def f():  \n    end\n", "@@\n def f():\n-    end\n+    stop\n")
    assert result == "def f():  \n    stop\n"
    assert "trailing whitespace differ" in report


def test_end_of_file_marker_picks_the_last_match(ctx: CallContext) -> None:
    text = "x\nmiddle\nx\n"
    assert updated(ctx, text, "@@\n-x\n+y\n*** End of File\n")[0] == "x\nmiddle\ny\n"
    assert updated(ctx, text, "@@\n x\n+y\n*** End of File\n")[0] == "x\nmiddle\nx\ny\n"
    result, report = updated(ctx, "only\nrest\n", "@@\n-only\n+1\n*** End of File\n")
    assert result == "1\nrest\n"
    assert "is not at the end of the file, despite the patch" in report


def test_insert_only_hunk_goes_below_its_header_or_to_the_end(ctx: CallContext) -> None:
    result, report = updated(ctx, "def f():\n    pass\n", "@@ def f():\n+    start()\n")
    assert result == "def f():\n    start()\n    pass\n"
    assert "its lines follow line 1" in report
    result, report = updated(ctx, "a\nb", "@@\n+c\n")
    assert result == "a\nb\nc"
    assert "added at the end of the file" in report
    assert updated(ctx, "", "@@\n+c\n")[0] == "c\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one\ntwo", "one\n2"),
        ("one\r\ntwo\r\n", "one\r\n2\r\n"),
        ("one\r\ntwo\nx\r\n", "one\r\n2\nx\r\n"),
        ("one\rtwo\r", "one\r2\r"),
        ("\ufeffx\none\ntwo\n", "\ufeffx\none\n2\n"),
    ],
)
def test_line_endings_and_final_newline_are_kept(ctx: CallContext, text: str, expected: str) -> None:
    assert updated(ctx, text, "@@\n one\n-two\n+2\n")[0] == expected


@pytest.mark.parametrize(
    "wrapped",
    [
        "{}",
        "```\n{}```\n",
        "```diff\n{}\n```",
        "<<'EOF'\n{}EOF\n",
        "apply_patch <<'EOF'\n{}EOF",
        "apply_patch << EOF\n{}EOF\n",
        '<<"PATCH"\n{}PATCH\n',
        "\n\n{}\n\n",
        "cat <<'EOF' | apply_patch\n{}EOF\n",
    ],
)
@pytest.mark.parametrize("marks", ["both", "none", "end"])
def test_text_around_a_patch_is_ignored(ctx: CallContext, wrapped: str, marks: str) -> None:
    (ctx.cwd / "a.py").write_text("one\ntwo\n")
    body = "*** Update File: a.py\n@@\n one\n-two\n+2\n"
    text = {"both": envelope(body), "none": body, "end": body + "*** End Patch\n"}[marks]
    patch(ctx, wrapped.format(text))
    assert (ctx.cwd / "a.py").read_text() == "one\n2\n"


@pytest.mark.parametrize(
    "hunks",
    [
        "\n@@\n one\n-two\n+2\n\n",
        "@@\n one\n-two\n+2\n\n\n\n",
        "@@\n \n one\n-two\n+2\n",
        "diff --git a/a.py b/a.py\nindex 1..4\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n one\n-two\n+2\n",
        "--- a/a.py\n+++ b/a.py\n one\n-two\n+2\n",
        "@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
        "@@ ... @@\n one\n-two\n+2\n",
        "@@ @@\n-two\n+2\n\\ No newline at end of file\n",
        "@@   \n one\n-two\n+2\n",
        "@@\n one  \n-two\n+2\n",
        "@@ no such line\n one\n-two\n+2\n",
        "@@\n one\n-two\n+2\n@@\n three\n",
    ],
)
def test_small_mistakes_are_tolerated(ctx: CallContext, hunks: str) -> None:
    assert updated(ctx, "one\ntwo\nthree\n", hunks)[0] == "one\n2\nthree\n"


def test_patch_with_carriage_returns_applies(ctx: CallContext) -> None:
    for text, expected in [("one\ntwo\n", "one\n2\n"), ("one\r\ntwo\r\n", "one\r\n2\r\n")]:
        (ctx.cwd / "a.py").write_bytes(text.encode())
        body = envelope("*** Update File: a.py\n@@\n one\n-two\n+2\n*** Add File: new.txt\n+x\n")
        patch(ctx, body.replace("\n", "\r\n"))
        assert (ctx.cwd / "a.py").read_bytes() == expected.encode()
        assert (ctx.cwd / "new.txt").read_bytes() == b"x\n"
        (ctx.cwd / "new.txt").unlink()


def test_sections_for_one_file_build_on_each_other(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("one\ntwo\nthree\n")
    [written] = patch(
        ctx,
        envelope(
            "*** Update File: a.txt\n@@\n-one\n+1\n*** Update File: a.txt\n@@\n 1\n-two\n+2\n three\n+four\n"
        ),
    )
    assert (ctx.cwd / "a.txt").read_text() == "1\n2\nthree\nfour\n"
    assert (written.change.added, written.change.removed) == (3, 2)


def test_delete_and_add_replaces_the_content_and_keeps_the_mode(ctx: CallContext) -> None:
    path = ctx.cwd / "a.sh"
    path.write_text("old\n")
    path.chmod(0o755)
    [written] = patch(ctx, envelope("*** Delete File: a.sh\n*** Add File: a.sh\n+new\n"))
    assert written.change.kind == "update"
    assert (path.read_text(), path.stat().st_mode & 0o777) == ("new\n", 0o755)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Not a patch: it names no file"),
        ("just some words", "Not a patch"),
        ("*** Begin Patch\n*** End Patch", "Not a patch"),
        (envelope("*** Update File: \n@@\n-a\n"), "names no file"),
        (envelope("*** Update File: a.py\n"), "no changed lines for a.py"),
        (envelope("*** Update File: a.py\n@@\n one\n"), "no changed lines for a.py"),
        (envelope("*** Update File: a.py\n@@\n-one\n+1\nwhat\n"), "Line 6 of the patch must begin with"),
        (
            envelope("*** Update File: a.py\n@@\n-one\n*** Rename to: b\n"),
            "is not a marker of this format",
        ),
        (envelope("stray\n*** Update File: a.py\n@@\n-one\n"), "comes before the first file"),
        (envelope("*** Add File: b\n+x\ny\n"), "Line 4 of the patch must begin with `\\+`"),
        (envelope("*** Delete File: a.py\n+x\n"), "follows the deletion of a.py"),
        (envelope("*** Delete File: none.py\n"), "There is no file none.py to delete"),
        (envelope("*** Update File: none.py\n@@\n-a\n+b\n"), "There is no file none.py to edit"),
        (envelope("*** Update File: none.py\n*** Move to: x\n"), "There is no file none.py to move"),
        (envelope("*** Update File: a.py\n@@\n-one\n+one\n"), "changes nothing: a.py"),
        (
            f"cd src && apply_patch <<'EOF'\n{envelope('*** Delete File: a.py' + chr(10))}",
            "`cd`, which has no effect",
        ),
    ],
)
def test_invalid_patch_is_refused(ctx: CallContext, text: str, message: str) -> None:
    (ctx.cwd / "a.py").write_text("one\n")
    with pytest.raises(ToolError, match=message):
        patch(ctx, text)
    assert [(p.name, p.read_text()) for p in ctx.cwd.iterdir()] == [("a.py", "one\n")]


def test_mismatched_hunk_shows_what_the_file_has(ctx: CallContext) -> None:
    text = "def f():\n    first()\n    other()\n    third()\n"
    message = refused(ctx, text, "@@\n-def f():\n@@\n     first()\n     second()\n-    third()\n")
    assert message == (
        "Hunk 2 does not fit a.py. Where it quotes `    second()`, the file has `    other()` (line 3). "
        "The nearest lines are:\n2:    first()\n3:    other()\n4:    third()"
    )
    assert "None of its old lines are in the file" in refused(ctx, text, "@@\n-nowhere\n")
    message = refused(ctx, text, "@@\n     first()\n-    second()\n+    other()\n")
    assert "It seems to be applied already: its new lines are lines 2-3." in message


def test_problems_of_all_files_are_reported_together(ctx: CallContext) -> None:
    for name in "abc":
        (ctx.cwd / name).write_text("text\n")
    body = "".join(f"*** Update File: {name}\n@@\n-wrong\n+x\n" for name in "ab")
    with pytest.raises(ToolError, match=r"(?s)Hunk 1 does not fit a\..*Hunk 1 does not fit b\..*No file was"):
        patch(ctx, envelope(body + "*** Update File: c\n@@\n-text\n+x\n"))
    assert (ctx.cwd / "c").read_text() == "text\n"


def test_truncated_patch_leaves_the_files_alone(ctx: CallContext) -> None:
    text = "one\ntwo\nthree\n"
    whole = envelope(
        "*** Update File: a.py\n@@\n one\n-two\n+2\n three\n*** Delete File: b.py\n*** Add File: c.py\n+c\n"
    ).rstrip("\n")
    for end in range(len(whole)):
        (ctx.cwd / "a.py").write_text(text)
        (ctx.cwd / "b.py").write_text(text)
        with pytest.raises(ToolError):
            patch(ctx, whole[:end])
        assert (ctx.cwd / "a.py").read_text() == (ctx.cwd / "b.py").read_text() == text
        assert not (ctx.cwd / "c.py").exists()


def test_many_equal_lines_stay_fast(ctx: CallContext) -> None:
    text = "same\n" * 50_000
    message = refused(ctx, text, "@@\n" + " same\n" * 20_000 + "-same\n")
    assert "more than 1000 times" in message
    message = refused(ctx, text, "@@\n" + " same\n" * 20_000 + "-other\n")
    assert "does not fit" in message


LINES = st.lists(st.sampled_from(["a", "b", "c", "", "  d", "é→"]), min_size=1, max_size=12)


@given(LINES, st.data())
def test_hunk_with_the_whole_file_as_context_gives_the_new_file(
    lines: list[str], data: st.DataObject
) -> None:
    """Whatever is kept, removed and added, the result is the new side of the hunk."""
    rows: list[str] = []
    new: list[str] = []
    for line in lines:
        for added in data.draw(st.lists(st.sampled_from(["x", "", "a"]), max_size=1)):
            rows.append(f"+{added}")
            new.append(added)
        if data.draw(st.booleans()):
            rows.append(f" {line}")
            new.append(line)
        else:
            rows.append(f"-{line}")
    patch_text = envelope("*** Update File: a\n@@\n" + "".join(f"{row}\n" for row in rows))
    old = "".join(f"{line}\n" for line in lines)
    try:
        section = apply_patch.parse(patch_text, Path("/")).sections[0]
    except ToolError:
        assert all(row.startswith(" ") for row in rows)
        return
    assert spliced(old, patched(old, section.hunks, "a").splices) == "".join(f"{line}\n" for line in new)


@given(st.text(alphabet=st.sampled_from("*@-+ \n\rabBegin PatchUpdateFile:End"), max_size=200))
def test_parser_raises_only_its_own_error_on_any_text(text: str) -> None:
    for wrap in (text, envelope(text), envelope(f"*** Update File: a\n{text}")):
        try:
            patch_ = apply_patch.parse(wrap, Path("/"))
        except ToolError:
            continue
        assert patch_.paths


UPDATE = "*** Update File: a.py\n@@\n one\n-two\n+2\n"


@pytest.mark.parametrize(
    "text",
    [
        f" *** Begin Patch\n{UPDATE} *** End Patch\n",
        "".join(f"    {line}\n" for line in envelope(UPDATE).splitlines()),
        f"*** Begin Patch\n  *** Add File: b.py\n+x\n  {UPDATE}\t*** End Patch",
        f"*** Begin Patch\n *** Delete File: old.py\n {UPDATE}*** End Patch",
    ],
)
def test_marker_with_blanks_before_it_was_not_recognized(ctx: CallContext, text: str) -> None:
    (ctx.cwd / "a.py").write_text("one\ntwo\n")
    (ctx.cwd / "old.py").write_text("old\n")
    patch(ctx, text)
    assert (ctx.cwd / "a.py").read_text() == "one\n2\n"
    assert (ctx.cwd / "b.py").exists() == ("b.py" in text)
    assert (ctx.cwd / "old.py").exists() == ("old.py" not in text)


def test_kept_line_that_looks_like_a_marker_is_kept(ctx: CallContext) -> None:
    result, _ = updated(
        ctx, "*** Delete File: x\ntwo\n*** End Patch\n", "@@\n *** Delete File: x\n-two\n+2\n *** End Patch\n"
    )
    assert result == "*** Delete File: x\n2\n*** End Patch\n"


def test_carriage_return_that_made_a_hunk_fail_was_invisible(ctx: CallContext) -> None:
    message = refused(ctx, "one\r\ntwo\r\n", "@@\n one\r\n-other\r\n+x\r\n")
    assert "Where it quotes `other\\r`, the file has `two\\r` (line 2)" in message
    assert message.endswith("1:one\\r\n2:two\\r")


def test_deleting_the_last_line_added_a_final_newline(ctx: CallContext) -> None:
    assert updated(ctx, "one\ntwo", "@@\n one\n-two\n")[0] == "one"
    assert updated(ctx, "one\r\ntwo", "@@\n one\n-two\n")[0] == "one"
    assert updated(ctx, "one\n\ntwo", "@@\n \n-two\n")[0] == "one\n\n"
    assert updated(ctx, "one\ntwo\n", "@@\n one\n-two\n")[0] == "one\n"


def test_indented_end_of_a_patch_may_have_blank_lines_below(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("old\n")
    patch(ctx, "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n  *** End Patch\n\n  \n")
    assert (ctx.cwd / "a.txt").read_text() == "new\n"
