"""edit: exact replacement that never touches a byte outside it."""

import asyncio
import codecs
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.ports import Stat
from tau.base.errors import ToolError
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.tools.edit import Edit, EditParams
from tau.coding.tools.read import Read
from tests.coding.context import CallContext, call, call_context, call_now, text_of


def edit(ctx: CallContext, old: str, new: str, *, path: str = "a.txt", **more: Any) -> ToolOutput:
    return call_now(Edit(), ctx, path=path, old_text=old, new_text=new, **more)


def test_one_match_is_replaced_and_reported(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\ntwo\nthree\nfour\n")
    output = edit(ctx, "two\nthree", "2")
    assert path.read_text() == "one\n2\nfour\n"
    assert text_of(output) == "Edited a.txt (+1 -2 lines, first at line 2)."
    assert (output.details.first_changed_line, output.details.op) == (2, "update")
    assert output.details.diff == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,4 +1,3 @@\n one\n-two\n-three\n+2\n four\n"
    )


def test_replace_all_replaces_every_match(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("x y x\nx\n")
    output = edit(ctx, "x", "zz", replace_all=True)
    assert path.read_text() == "zz y zz\nzz\n"
    assert text_of(output).startswith("Edited a.txt (+2 -2 lines, first at line 1).")
    assert "3 places" in text_of(output)


def test_replacing_with_nothing_deletes(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("one\ntwo\n")
    edit(ctx, "one\n", "")
    assert (ctx.cwd / "a.txt").read_text() == "two\n"


def test_ambiguous_text_is_refused_with_count_and_lines(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("x\ny\nx\r\nx\n")
    with pytest.raises(ToolError, match=r"occurs 3 times in a\.txt, at lines 1, 3, 4\. Quote more"):
        edit(ctx, "x\n", "z\n")
    with pytest.raises(ToolError, match=r"occurs 2 times"):
        (ctx.cwd / "b.txt").write_text("aaa")
        edit(ctx, "aa", "b", path="b.txt")
    (ctx.cwd / "c.txt").write_text("x\n" * 50)
    with pytest.raises(ToolError, match=r"50 times .* 19, 20 and 30 more\."):
        edit(ctx, "x", "z", path="c.txt")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "x", "`old_text` is empty"),
        ("one", "one", "are the same"),
        ("one\n", "one\r\n", "differ only in line endings"),
        ("two", "2", r"not found in a\.txt\. Nothing similar"),
        ("  one", "2", r"Only whitespace differs from lines 1-1, which are:\n1:one"),
        ("one", "\ud800", "cannot encode"),
    ],
)
def test_invalid_arguments_are_refused_and_the_file_is_untouched(
    ctx: CallContext, old: str, new: str, message: str
) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    with pytest.raises(ToolError, match=message):
        edit(ctx, old, new)
    assert path.read_text() == "one\n"


def test_non_text_file_is_refused(ctx: CallContext) -> None:
    (ctx.cwd / "folder").mkdir()
    (ctx.cwd / "a.bin").write_bytes(b"one\0")
    os.mkfifo(ctx.cwd / "pipe")
    for name, message in [
        ("missing", "There is no file missing to edit; use write"),
        ("folder", "not a file"),
        ("pipe", "not a file"),
        ("a.bin", "binary"),
    ]:
        with pytest.raises(ToolError, match=message):
            edit(ctx, "one", "two", path=name)
    with (ctx.cwd / "giant").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(ToolError, match="too large"):
        edit(ctx, "one", "two", path="giant")


NEWLINES = {
    "lf": "first é\nold one\nlast\n",
    "crlf": "first é\r\nold one\r\nlast\r\n",
    "mixed": "first é\r\nold one\nlast\r\nx\n",
    "bare cr": "first é\rold one\rlast\r",
    "cr as data": "first\ré\nold one\nla\rst\n",
    "no final newline": "first é\nold one",
    "blank lines": "\n\r\n\n  é\nold one\n\n\r\n",
}
LOSSLESS = {
    "utf-8": b"",
    "utf-8 with mark": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
}


@pytest.mark.parametrize("newlines", NEWLINES)
@pytest.mark.parametrize("encoding", LOSSLESS)
def test_bytes_outside_the_edit_are_kept_in_every_encoding(
    ctx: CallContext, encoding: str, newlines: str
) -> None:
    codec = encoding.removesuffix(" with mark")
    head, _, tail = NEWLINES[newlines].partition("old one")
    path = ctx.cwd / "a.txt"
    path.write_bytes(LOSSLESS[encoding] + (head + "old one" + tail).encode(codec))
    edit(ctx, "old one", "new → one")
    assert path.read_bytes() == LOSSLESS[encoding] + (head + "new → one" + tail).encode(codec)


@pytest.mark.parametrize("newlines", NEWLINES)
@pytest.mark.parametrize("encoding", ["cp1252", "gbk", "shift_jis", "latin-1", "utf-16-le", "koi8-r"])
def test_other_encodings_are_refused_and_the_file_is_untouched(
    ctx: CallContext, encoding: str, newlines: str
) -> None:
    data = NEWLINES[newlines].replace("é", "дж" if encoding != "cp1252" else "éß").encode(encoding, "replace")
    path = ctx.cwd / "a.txt"
    path.write_bytes(data)
    try:
        edit(ctx, "old one", "new one")
    except ToolError as error:
        assert path.read_bytes() == data
        assert "not changed" in str(error) or "not found" in str(error)
    else:
        assert path.read_bytes() == data.replace(b"old one", b"new one")


def test_single_stray_byte_is_kept(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    rest = b"fine\n" * 998 + b"caf\xe9\n"
    path.write_bytes(b"old one\n" + rest)
    edit(ctx, "old one", "new one")
    assert path.read_bytes() == b"new one\n" + rest


TEXTS = st.text(alphabet=st.sampled_from("ab é→😀\t\n\n\r"), max_size=60)


@given(TEXTS, TEXTS, TEXTS, st.sampled_from(list(LOSSLESS)))
def test_bytes_outside_the_edit_are_kept_for_any_text(head: str, tail: str, new: str, encoding: str) -> None:
    codec, mark = encoding.removesuffix(" with mark"), LOSSLESS[encoding]

    async def main(folder: Path) -> None:
        path = folder / "a.txt"
        path.write_bytes(mark + f"{head}@@old@@{tail}".encode(codec))
        with call_context(folder) as ctx:
            await call(Edit(), ctx, path="a.txt", old_text="@@old@@", new_text=new)
        data = path.read_bytes()
        before, after = mark + head.encode(codec), tail.encode(codec)
        assert data.startswith(before) and data.endswith(after)
        middle = data[len(before) : len(data) - len(after)].decode(codec)
        assert [line for line in middle.replace("\r", "\n").split("\n") if line] == [
            line for line in new.replace("\r", "\n").split("\n") if line
        ]

    folder = Path(os.environ["HOME"])
    asyncio.run(main(folder))


def test_lf_search_text_matches_a_crlf_file(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_bytes(b"one\r\ntwo\r\nthree\r\n")
    edit(ctx, "one\ntwo\n", "1\n2\n2b\n")
    assert path.read_bytes() == b"1\r\n2\r\n2b\r\nthree\r\n"


def test_mode_and_link_are_kept(ctx: CallContext) -> None:
    target = ctx.cwd / "real.sh"
    target.write_text("#!/bin/sh\necho old\n")
    target.chmod(0o640)
    (ctx.cwd / "link.sh").symlink_to("real.sh")
    edit(ctx, "old", "new", path="link.sh")
    assert (ctx.cwd / "link.sh").is_symlink()
    assert target.read_text() == "#!/bin/sh\necho new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640


class SlowFileSystem(LocalFileSystem):
    """Yields between every two steps, like a remote file system."""

    async def read(self, path: Path) -> bytes:
        await asyncio.sleep(0)
        data = await super().read(path)
        await asyncio.sleep(0)
        return data

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        await asyncio.sleep(0)
        return await super().write(path, data, expect=expect)


def test_a_hundred_pairs_of_parallel_edits_all_land(ctx: CallContext) -> None:
    ctx.use_disk(SlowFileSystem())
    path = ctx.cwd / "a.txt"
    (ctx.cwd / "link.txt").symlink_to("a.txt")
    tool = Edit()

    async def main() -> None:
        for round_number in range(100):
            path.write_text(f"left {round_number}\nmiddle\nright {round_number}\n")
            await asyncio.gather(
                call(tool, ctx, path="a.txt", old_text=f"left {round_number}", new_text="LEFT"),
                call(tool, ctx, path="link.txt", old_text=f"right {round_number}", new_text="RIGHT"),
            )
            assert path.read_text() == "LEFT\nmiddle\nRIGHT\n"

    asyncio.run(main())


def test_concurrent_change_is_refused_not_lost(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"

    class Meddler(LocalFileSystem):
        async def read(self, path: Path) -> bytes:
            data = await super().read(path)
            path.write_text("old one, and the user's own line\n")
            return data

    path.write_text("old one\n")
    ctx.use_disk(Meddler())
    with pytest.raises(ToolError, match="has changed on disk since it was read"):
        edit(ctx, "old one", "new one")
    assert path.read_text() == "old one, and the user's own line\n"


def test_change_since_the_last_read_is_kept_and_reported(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("old one\n")
    call_now(Read(), ctx, path="a.txt")
    path.write_text("old one\nthe user's line\n")
    output = edit(ctx, "old one", "new one")
    assert path.read_text() == "new one\nthe user's line\n"
    assert "had changed on disk since you last saw it; those changes are kept" in text_of(output)
    assert "had changed" not in text_of(edit(ctx, "new one", "newer one"))


def test_read_only_file_is_untouched(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("old")
    path.chmod(0o444)
    if os.access(path, os.W_OK):
        pytest.skip(reason="this user may write everything")
    with pytest.raises(ToolError, match=r"Cannot edit a\.txt: The file is read-only"):
        edit(ctx, "old", "new")


def test_effects_are_the_file(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    assert Edit().effects(EditParams("a.txt", "a", "b"), ctx.cwd) == Effects(reads=(path,), writes=(path,))


def test_edit_of_a_large_file_is_cheap_to_describe(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("".join(f"line {number}\n" for number in range(200_000)))
    output = edit(ctx, "line 150000\n", "changed\n")
    assert output.details.first_changed_line == 150_001
    assert len(output.details.diff) < 500
