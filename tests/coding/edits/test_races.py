"""Edits against other programs that write the same file: nobody's lines are lost without a word."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tau.agent.ports import ABSENT
from tau.base.errors import ToolError
from tau.coding.edits.replace import Replacement, replace_text
from tests.coding.context import CallContext, call_context

OTHER_WRITER = Path(__file__).with_name("other_writer.py")
EDITS = [20, pytest.param(1_000, marks=pytest.mark.soak)]


async def edit_often(ctx: CallContext, path: Path, edits: int) -> int:
    """Count up in the first line. Returns how many edits were made; the others were refused."""
    done = 0
    while edits > 0 or not done:
        edits -= 1
        first = path.read_text().partition("\n")[0]
        try:
            await replace_text(path, Replacement(f"{first}\n", f"edit {done + 1}\n", fuzzy=False), ctx)
        except ToolError:
            await asyncio.sleep(0.002)
        else:
            done += 1
    return done


@pytest.mark.parametrize("edits", EDITS)
@pytest.mark.parametrize("way", ["append", "rewrite", "replace", "append to a hard link"])
def test_edits_said_ok_and_threw_away_the_lines_of_another_program(
    ctx: CallContext, way: str, edits: int
) -> None:
    path, stop = ctx.cwd / "a.txt", ctx.cwd / "stop"
    path.write_text("edit 0\n" + "filling\n" * 200)
    way, _, linked = way.partition(" to ")
    if linked:
        (ctx.cwd / "other.new").hardlink_to(path)
    other = subprocess.Popen(
        [sys.executable, OTHER_WRITER, path, way, stop], stdout=subprocess.PIPE, text=True
    )
    try:
        done = asyncio.run(edit_often(ctx, path, edits))
    finally:
        stop.touch()
        written = int(other.communicate()[0])

    lines = path.read_text().splitlines()
    theirs = [line for line in lines if line.startswith("other")]
    assert theirs == [f"other {number}" for number in range(1, written + 1)]
    if way == "append":  # the others write back what they have read, edits or not
        assert lines[0] == f"edit {done}"
    assert not [name for name in ctx.cwd.iterdir() if name.name not in ("a.txt", "stop", "other.new")]


EDITOR = """
import asyncio, sys
from pathlib import Path
from tau.sdk import call_tool
path, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
for number in range(count):
    edit = {"path": str(path), "old_text": f"{name} {number}\\n", "new_text": f"{name} {number + 1}\\n"}
    asyncio.run(call_tool("edit", edit, path.parent, {"HOME": sys.argv[4], "TAU_EDIT_MODE": "replace"}))
"""


@pytest.mark.parametrize("edits", [10, pytest.param(250, marks=pytest.mark.soak)])
def test_some_edits_of_several_tau_processes_were_lost(tmp_path: Path, edits: int) -> None:
    path = tmp_path / "a.txt"
    names = ["ant", "bee", "cat", "dog"]
    path.write_text("".join(f"{name} 0\n" for name in names))
    editors = [
        subprocess.Popen([sys.executable, "-c", EDITOR, path, name, str(edits), tmp_path]) for name in names
    ]

    assert [editor.wait() for editor in editors] == [0, 0, 0, 0]
    assert path.read_text() == "".join(f"{name} {edits}\n" for name in names)


def test_new_file_of_another_program_was_overwritten(tmp_path: Path) -> None:
    """Both see that there is no file; only one may create it."""
    with call_context(tmp_path) as ctx:

        async def create(text: bytes) -> None:
            await ctx.fs.write(tmp_path / "new.txt", text, expect=ABSENT)

        asyncio.run(create(b"first\n"))
        with pytest.raises(ToolError, match="was created by another program meanwhile"):
            asyncio.run(create(b"second\n"))
    assert (tmp_path / "new.txt").read_bytes() == b"first\n"


def test_file_that_another_program_is_still_writing_is_left_alone(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    with path.open("a") as file:
        with pytest.raises(ToolError, match="open for writing in another program; nothing was written"):
            asyncio.run(replace_text(path, Replacement("one", "ONE"), ctx))
        file.write("two\n")
    assert path.read_text() == "one\ntwo\n"
    asyncio.run(replace_text(path, Replacement("one", "ONE"), ctx))
    assert path.read_text() == "ONE\ntwo\n"


def test_deleted_file_had_changed_right_before(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("one\n")
    seen = asyncio.run(ctx.fs.stat(path))
    path.write_text("one\ntwo\n")
    with pytest.raises(ToolError, match="has changed on disk since it was read; nothing was deleted"):
        asyncio.run(ctx.fs.remove(path, expect=seen))
    assert [name.name for name in ctx.cwd.iterdir()] == ["a.txt"]
    asyncio.run(ctx.fs.remove(path, expect=asyncio.run(ctx.fs.stat(path))))
    assert not path.exists()
