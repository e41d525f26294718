"""write: whole files."""

import os
import sqlite3
import stat
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from tau.agent.effects import Effects
from tau.base.errors import ToolError
from tau.coding.tools.read import Read
from tau.coding.tools.write import Write, WriteDetails, WriteParams
from tau.config.settings import Settings
from tau.config.tool_settings import EditSettings, ReadSettings
from tests.coding.context import CallContext, call_now, text_of

# Most tests check the sentence; the header above it has its own tests.
PLAIN = Write(Settings(read=ReadSettings(hash_lines=False)))


def test_new_file_with_its_folders(ctx: CallContext) -> None:
    output = call_now(PLAIN, ctx, path="src/new/a.py", content="x = 1\ny = 'ü'\n")
    path = ctx.cwd / "src" / "new" / "a.py"
    assert path.read_bytes() == "x = 1\ny = 'ü'\n".encode()
    assert text_of(output) == "Created src/new/a.py (2 lines, 15 bytes)."
    assert output.details == WriteDetails(path=str(path), bytes=15, lines=2, created=True)


def test_replacing_a_file_shows_what_changed(ctx: CallContext) -> None:
    (ctx.cwd / "a.py").write_text("one\ntwo\n")
    output = call_now(PLAIN, ctx, path="a.py", content="one\n2\nthree")
    assert text_of(output) == "Replaced a.py (3 lines, 11 bytes; +2 -1 lines)."
    assert not output.details.created
    assert "-two\n+2\n+three" in output.details.diff


def test_content_is_written_byte_for_byte(ctx: CallContext) -> None:
    (ctx.cwd / "a").write_bytes(b"old\r\n")
    call_now(PLAIN, ctx, path="a", content="a\r\nb\n\rc\ufeff")
    assert (ctx.cwd / "a").read_bytes() == "a\r\nb\n\rc\ufeff".encode()


def test_empty_file_can_be_written(ctx: CallContext) -> None:
    assert text_of(call_now(PLAIN, ctx, path="a", content="")) == "Created a (0 lines, 0 bytes)."


def test_new_script_becomes_executable(ctx: CallContext) -> None:
    output = call_now(PLAIN, ctx, path="run.sh", content="#!/bin/sh\necho hi\n")
    assert text_of(output).endswith("; made executable).")
    assert os.access(ctx.cwd / "run.sh", os.X_OK)
    again = call_now(PLAIN, ctx, path="run.sh", content="#!/bin/sh\n")
    assert "executable" not in text_of(again)
    assert os.access(ctx.cwd / "run.sh", os.X_OK)


def test_mode_and_link_of_a_replaced_file_are_kept(ctx: CallContext) -> None:
    target = ctx.cwd / "real.txt"
    target.write_text("old")
    target.chmod(0o600)
    (ctx.cwd / "link.txt").symlink_to("real.txt")
    call_now(PLAIN, ctx, path="link.txt", content="new")
    assert (ctx.cwd / "link.txt").is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_dangling_link_is_written_through(ctx: CallContext, tmp_path: Path) -> None:
    (ctx.cwd / "link.txt").symlink_to(tmp_path / "target.txt")
    assert Write().effects(WriteParams("link.txt", ""), ctx.cwd) == Effects(writes=(ctx.cwd / "link.txt",))
    call_now(PLAIN, ctx, path="link.txt", content="new")
    assert (ctx.cwd / "link.txt").is_symlink()
    assert (tmp_path / "target.txt").read_text() == "new"


def test_file_changed_since_it_was_read_is_not_replaced(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("old")
    call_now(Read(), ctx, path="a.txt")
    path.write_text("the user's own words")
    with pytest.raises(ToolError, match="changed on disk since you last saw it"):
        call_now(PLAIN, ctx, path="a.txt", content="new")
    assert path.read_text() == "the user's own words"
    call_now(Read(), ctx, path="a.txt")
    call_now(PLAIN, ctx, path="a.txt", content="new")
    call_now(PLAIN, ctx, path="a.txt", content="newer")
    assert path.read_text() == "newer"


def test_failed_write_says_why(ctx: CallContext) -> None:
    (ctx.cwd / "folder").mkdir()
    (ctx.cwd / "file").touch()
    with pytest.raises(ToolError, match="folder is a directory"):
        call_now(PLAIN, ctx, path="folder", content="x")
    with pytest.raises(ToolError, match="Cannot write file/x: "):
        call_now(PLAIN, ctx, path="file/x", content="x")
    with pytest.raises(ToolError, match="lone surrogate"):
        call_now(PLAIN, ctx, path="new", content="a\ud800")
    os.mkfifo(ctx.cwd / "pipe")
    with pytest.raises(ToolError, match="Cannot write pipe: "):
        call_now(PLAIN, ctx, path="pipe", content="x")
    assert not (ctx.cwd / "new").exists()


def test_call_without_content_never_touches_the_file(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("precious")
    for arguments in ({"path": "a.txt"}, {"path": "a.txt", "content": None}):
        with pytest.raises(ToolError, match="`content`"):
            call_now(PLAIN, ctx, **arguments)
    assert (ctx.cwd / "a.txt").read_text() == "precious"


def test_replacing_a_binary_file_needs_no_diff(ctx: CallContext) -> None:
    (ctx.cwd / "a.bin").write_bytes(b"\0\1")
    (ctx.cwd / "b.txt").write_bytes(b"\xff\xfe\xff")
    for name in ("a.bin", "b.txt"):
        output = call_now(PLAIN, ctx, path=name, content="text")
        assert text_of(output) == f"Replaced {name} (1 line, 4 bytes)."


def test_merge_conflict_is_shown_and_resolved(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("top\n<<<<<<< ours\nmine\n=======\nyours\n>>>>>>> theirs\nend\n")
    shown = text_of(call_now(Read(), ctx, path="a.txt:conflicts"))
    assert "mine" in shown and "yours" in shown and "1" in shown
    assert text_of(call_now(Read(), ctx, path="conflict://1/theirs")).endswith("1:yours")

    output = text_of(call_now(Write(urls=ctx.urls), ctx, path="conflict://1", content="both\n"))

    assert path.read_text() == "top\nboth\nend\n"
    assert output.startswith("¶a.txt#") and output.endswith("\nResolved 1 in a.txt; 0 left there.")
    with pytest.raises(ToolError, match="no conflict 1"):
        call_now(Write(urls=ctx.urls), ctx, path="conflict://1", content="again\n")


def test_pasted_line_numbers_are_stripped_and_reported(ctx: CallContext) -> None:
    output = call_now(Write(), ctx, path="a.txt", content="¶a.txt#0A3B\n1:one\n2:two\n")
    assert (ctx.cwd / "a.txt").read_text() == "one\ntwo\n"
    assert "Removed read's header and line numbers" in text_of(output)


def test_archive_entries_and_rows_share_the_path_syntax(ctx: CallContext) -> None:
    with closing(sqlite3.connect(ctx.cwd / "a.db")) as database:
        database.execute("create table t (id integer primary key, name text)")
        database.commit()

    call_now(Write(), ctx, path="a.zip:d/x.txt", content="inside\n")
    call_now(Write(), ctx, path="a.db:t", content='{"id": 7, "name": "Ada"}')

    with zipfile.ZipFile(ctx.cwd / "a.zip") as packed:
        assert packed.read("d/x.txt") == b"inside\n"
    assert "Ada" in text_of(call_now(Read(), ctx, path="a.db:t:7"))
    assert Write().effects(WriteParams("a.zip:d/x.txt", ""), ctx.cwd) == Effects(writes=(ctx.cwd / "a.zip",))


def test_generated_file_is_not_overwritten(ctx: CallContext) -> None:
    (ctx.cwd / "gen.go").write_text("// Code generated by protoc. DO NOT EDIT.\npackage x\n")
    with pytest.raises(ToolError, match="generated"):
        call_now(Write(), ctx, path="gen.go", content="package y\n")
    call_now(
        Write(Settings(edit=EditSettings(block_auto_generated=False))),
        ctx,
        path="gen.go",
        content="package y\n",
    )


def test_details_were_missing_for_rows_and_archive_entries(ctx: CallContext) -> None:
    with closing(sqlite3.connect(ctx.cwd / "a.db")) as database, database:
        database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, name)")
    for path, file in (("a.zip:x.txt", "a.zip"), ("a.tgz:x.txt", "a.tgz"), ("a.db:t", "a.db")):
        details = call_now(Write(), ctx, path=path, content='{"name": "Ada"}').details
        assert details.meta.source_path == details.path == str(ctx.cwd / file)
        assert (details.bytes, details.lines) == (15, 1)


@pytest.mark.parametrize("archive", ["new.zip", "new.tar"])
def test_long_entry_name_gave_a_python_exception(ctx: CallContext, archive: str) -> None:
    for _ in range(2):  # a new archive, then an existing one
        with pytest.raises(ToolError, match="has more than 4,000 characters; shorten it"):
            call_now(Write(), ctx, path=f"{archive}:{'n' * 70_000}", content="x")
        call_now(Write(), ctx, path=f"{archive}:x.txt", content="x")


def test_resolving_all_conflicts_lists_the_new_tags_as_snapshots(ctx: CallContext) -> None:
    conflict = "<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n"
    for name in ("a.txt", "b.txt"):
        (ctx.cwd / name).write_text(conflict)
        call_now(Read(), ctx, path=f"{name}:conflicts")
    rows = text_of(call_now(Write(urls=ctx.urls), ctx, path="conflict://*", content="@ours")).splitlines()
    assert rows[2] == "Snapshots:" and [row[:7] for row in rows[3:]] == ["¶a.txt#", "¶b.txt#"]
    (ctx.cwd / "c.txt").write_text(conflict)
    shown = text_of(call_now(Read(), ctx, path="c.txt:conflicts"))
    number = shown.partition("conflict://")[2].partition(" ")[0]
    single = text_of(call_now(Write(urls=ctx.urls), ctx, path=f"conflict://{number}", content="@theirs"))
    assert single.startswith("¶c.txt#") and "Snapshots" not in single
