"""Changes of several files are all or nothing, even with interference."""

import asyncio
import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tau.agent.ports import Stat
from tau.base.errors import ToolError
from tau.coding.edits import apply_patch, file_locks
from tau.coding.edits.change import FileChange, load
from tau.coding.edits.multi_file_patch import apply_patch as apply_sections
from tau.coding.edits.replace import Replacement, replace_text
from tau.coding.edits.transaction import WrittenChange, apply_changes, change_files
from tau.coding.files.local_fs import LocalFileSystem
from tests.coding.context import CallContext, call_context

PATCH = """*** Begin Patch
*** Update File: one.txt
@@
-old one
+new one
*** Update File: two.sh
*** Move to: moved/two.sh
@@
-old two
+new two
*** Delete File: three.txt
*** Add File: four/four.txt
+four
*** End Patch
"""


def patch(ctx: CallContext, text: str) -> list[WrittenChange]:
    return asyncio.run(apply_sections(apply_patch.parse(text, ctx.cwd), ctx))


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(path.relative_to(folder)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def lay_out(folder: Path) -> dict[str, tuple[bytes, int]]:
    (folder / "one.txt").write_text("old one\n")
    (folder / "two.sh").write_text("old two\n")
    (folder / "two.sh").chmod(0o750)
    (folder / "three.txt").write_text("three\n")
    (folder / "three.txt").chmod(0o600)
    return tree(folder)


def test_patch_of_four_files_is_applied_and_a_move_keeps_the_mode(ctx: CallContext) -> None:
    lay_out(ctx.cwd)
    written = patch(ctx, PATCH)
    assert [(one.change.kind, one.change.name) for one in written] == [
        ("update", "one.txt"),
        ("move", "two.sh"),
        ("delete", "three.txt"),
        ("create", "four/four.txt"),
    ]
    assert tree(ctx.cwd) == {
        "one.txt": (b"new one\n", 0o644),
        "moved/two.sh": (b"new two\n", 0o750),
        "four/four.txt": (b"four\n", 0o644),
    }
    for one in written:
        assert asyncio.run(ctx.fs.stat(one.change.target)) == one.stat


class Failing(LocalFileSystem):
    """The disk is full or fails at one step; once, or from then on."""

    def __init__(self, step: int, *, late: bool = False) -> None:
        self.step, self.late, self.steps = step, late, 0

    def count(self) -> bool:
        self.steps += 1
        return self.steps == self.step

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        fails = self.count()
        if fails and not self.late:
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        result = await super().write(path, data, expect=expect)
        if fails:
            raise OSError(errno.EIO, "Input/output error", str(path))
        return result

    async def remove(self, path: Path, *, expect: Stat | None = None) -> None:
        if self.count():
            raise OSError(errno.EIO, "Input/output error", str(path))
        await super().remove(path, expect=expect)


@pytest.mark.parametrize("late", [False, True], ids=["before", "after it was written"])
@pytest.mark.parametrize("step", range(1, 7))
def test_failure_at_any_step_leaves_all_files_old_or_all_new(ctx: CallContext, step: int, late: bool) -> None:
    before = lay_out(ctx.cwd)
    ctx.use_disk(Failing(step, late=late))
    if step == 6:
        patch(ctx, PATCH)
        assert "moved/two.sh" in tree(ctx.cwd)
        return
    with pytest.raises(ToolError, match=r"Cannot edit .*(No space left|Input/output)") as raised:
        patch(ctx, PATCH)
    assert tree(ctx.cwd) == before
    assert step == 1 or "restored: nothing has changed" in str(raised.value)


def test_files_that_cannot_be_restored_are_named(ctx: CallContext) -> None:
    lay_out(ctx.cwd)

    class Full(Failing):
        def count(self) -> bool:
            self.steps += 1
            return self.steps >= 2

    ctx.use_disk(Full(2))
    with pytest.raises(
        ToolError, match=r"Some changes could not be rolled back: one\.txt has the new content"
    ):
        patch(ctx, PATCH)
    assert (ctx.cwd / "two.sh").read_text() == "old two\n"


def test_abort_between_two_writes_restores_the_first(ctx: CallContext) -> None:
    before = lay_out(ctx.cwd)

    class Slow(LocalFileSystem):
        async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
            if path.name == "two.sh":
                await asyncio.sleep(600)
            return await super().write(path, data, expect=expect)

    ctx.use_disk(Slow())

    async def main() -> None:
        async with asyncio.timeout(0.05):
            await apply_sections(apply_patch.parse(PATCH, ctx.cwd), ctx)

    with pytest.raises(TimeoutError):
        asyncio.run(main())
    assert tree(ctx.cwd) == before


def test_concurrent_change_is_neither_overwritten_nor_reverted(ctx: CallContext) -> None:
    lay_out(ctx.cwd)

    class Meddler(LocalFileSystem):
        async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
            if path.name == "two.sh":
                (ctx.cwd / "one.txt").write_text("the user's\n")
                raise OSError(errno.ENOSPC, "No space left on device")
            return await super().write(path, data, expect=expect)

    ctx.use_disk(Meddler())
    with pytest.raises(ToolError, match=r"one\.txt has the new content"):
        patch(ctx, PATCH)
    assert (ctx.cwd / "one.txt").read_text() == "the user's\n"


def test_everything_is_checked_before_the_first_write_and_reported_together(ctx: CallContext) -> None:
    lay_out(ctx.cwd)

    def guard(change: FileChange) -> str | None:
        return f"{change.name} is generated." if change.name != "one.txt" else None

    parsed = apply_patch.parse(PATCH, ctx.cwd)
    before = tree(ctx.cwd)
    with pytest.raises(ToolError, match=r"two\.sh is generated\.\nthree.*\n.*No file was changed"):
        asyncio.run(apply_sections(parsed, ctx, guard=guard))
    with pytest.raises(ToolError, match=r"^one\.txt is generated\.$"):
        change = FileChange(path=ctx.cwd / "one.txt", name="one.txt", kind="delete")
        asyncio.run(apply_changes([change], ctx, guard=lambda change: f"{change.name} is generated."))
    assert tree(ctx.cwd) == before


def test_file_changed_twice_in_one_edit_is_refused(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    changes = [FileChange(path=path, name=name, kind="create", new=b"new\n") for name in ("a.txt", "./a.txt")]
    with pytest.raises(ToolError, match=r"^\./a\.txt is changed twice in one edit\. No file was changed\.$"):
        asyncio.run(apply_changes(changes, ctx))
    assert not path.exists()


def test_link_is_written_through_but_not_moved_or_deleted(ctx: CallContext) -> None:
    (ctx.cwd / "real.txt").write_text("old one\n")
    (ctx.cwd / "one.txt").symlink_to("real.txt")
    update = "*** Begin Patch\n*** Update File: one.txt\n@@\n-old one\n+new one\n*** End Patch"
    patch(ctx, update)
    assert (ctx.cwd / "one.txt").is_symlink()
    assert (ctx.cwd / "real.txt").read_text() == "new one\n"
    for text in (
        "*** Begin Patch\n*** Delete File: one.txt\n*** End Patch",
        "*** Begin Patch\n*** Update File: one.txt\n*** Move to: x.txt\n*** End Patch",
    ):
        with pytest.raises(ToolError, match="is a symbolic link"):
            patch(ctx, text)
    assert (ctx.cwd / "one.txt").is_symlink()


def test_one_file_under_two_names_in_one_patch(ctx: CallContext) -> None:
    (ctx.cwd / "real.txt").write_text("one\ntwo\n")
    (ctx.cwd / "link.txt").symlink_to("real.txt")
    patch(
        ctx,
        "*** Begin Patch\n*** Update File: real.txt\n@@\n-one\n+1\n"
        "*** Update File: link.txt\n@@\n 1\n-two\n+2\n*** End Patch",
    )
    assert (ctx.cwd / "real.txt").read_text() == "1\n2\n"
    assert (ctx.cwd / "link.txt").is_symlink()


class Yielding(LocalFileSystem):
    """Yields between every two steps, like a remote file system."""

    async def stat(self, path: Path) -> Stat | None:
        await asyncio.sleep(0)
        return await super().stat(path)

    async def read(self, path: Path) -> bytes:
        await asyncio.sleep(0)
        return await super().read(path)

    async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
        await asyncio.sleep(0)
        return await super().write(path, data, expect=expect)


async def race(ctx: CallContext, rounds: int) -> None:
    """Two concurrent edits of one file, under two names and in two modes: both succeed."""
    one, two = ctx.cwd / "one.txt", ctx.cwd / "two.txt"
    (ctx.cwd / "link.txt").symlink_to("one.txt")
    for number in range(rounds):
        one.write_text(f"left {number} side\nmiddle\nright {number} side\n")
        two.write_text("second\n")
        text = (
            "*** Begin Patch\n*** Update File: two.txt\n@@\n-second\n+SECOND\n"
            f"*** Update File: link.txt\n@@\n-right {number} side\n+RIGHT\n*** End Patch"
        )
        swap = Replacement(f"left {number} side", "LEFT")
        await asyncio.gather(
            apply_sections(apply_patch.parse(text, ctx.cwd), ctx), replace_text(one, swap, ctx)
        )
        assert one.read_text() == "LEFT\nmiddle\nRIGHT\n"
        assert two.read_text() == "SECOND\n"
    assert not file_locks._LOCKS


def test_two_hundred_pairs_of_parallel_edits_all_land(
    ctx: CallContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda fd: None)  # crash safety is not tested here
    ctx.use_disk(Yielding())
    asyncio.run(race(ctx, 200))


@pytest.mark.soak
def test_a_thousand_pairs_of_parallel_edits_all_land(ctx: CallContext) -> None:
    ctx.use_disk(Yielding())
    asyncio.run(race(ctx, 1_000))


def test_patches_naming_files_in_opposite_order_do_not_deadlock(ctx: CallContext) -> None:
    ctx.use_disk(Yielding())
    (ctx.cwd / "a.txt").write_text("a1\na2\n")
    (ctx.cwd / "b.txt").write_text("b1\nb2\n")

    def text(first: str, second: str, number: int) -> str:
        sections = [
            f"*** Update File: {name}.txt\n@@\n-{name}{number}\n+{name.upper()}{number}\n"
            for name in (first, second)
        ]
        return "*** Begin Patch\n" + "".join(sections) + "*** End Patch"

    async def main() -> None:
        await asyncio.gather(
            apply_sections(apply_patch.parse(text("a", "b", 1), ctx.cwd), ctx),
            apply_sections(apply_patch.parse(text("b", "a", 2), ctx.cwd), ctx),
        )

    asyncio.run(main())
    assert (ctx.cwd / "a.txt").read_text() == "A1\nA2\n"
    assert (ctx.cwd / "b.txt").read_text() == "B1\nB2\n"


def test_file_changed_since_it_was_read_is_not_overwritten(ctx: CallContext) -> None:
    path = ctx.cwd / "a.txt"
    path.write_text("old\n")
    seen = asyncio.run(ctx.fs.stat(path))
    change = FileChange(path=path, name="a.txt", kind="update", old=b"old\n", new=b"mine\n", stat=seen)
    path.write_text("the user's own text\n")
    with pytest.raises(ToolError, match=r"a\.txt has changed on disk since it was read"):
        asyncio.run(apply_changes([change], ctx))
    assert path.read_text() == "the user's own text\n"


def test_all_files_changed_since_they_were_read_are_named_before_the_first_write(ctx: CallContext) -> None:
    changes = []
    for name in ("a.txt", "b.txt", "c.txt"):
        path = ctx.cwd / name
        path.write_text("old\n")
        seen = asyncio.run(ctx.fs.stat(path))
        changes.append(
            FileChange(path=path, name=name, kind="update", old=b"old\n", new=b"mine\n", stat=seen)
        )
    for name in ("b.txt", "c.txt"):
        (ctx.cwd / name).write_text("the user's own text\n")
    with pytest.raises(ToolError) as refusal:
        asyncio.run(apply_changes(changes, ctx))
    assert str(refusal.value) == (
        "b.txt has changed on disk since it was read. Read it again first.\n"
        "c.txt has changed on disk since it was read. Read it again first. No file was changed."
    )
    assert (ctx.cwd / "a.txt").stat().st_mtime_ns == changes[0].stat.mtime_ns


@pytest.mark.parametrize("name", ["folder", "pipe", "giant"])
def test_non_files_are_refused_before_they_are_read(ctx: CallContext, name: str) -> None:
    (ctx.cwd / "folder").mkdir()
    os.mkfifo(ctx.cwd / "pipe")
    with (ctx.cwd / "giant").open("wb") as file:
        file.truncate(65 * 1024 * 1024)
    with pytest.raises(ToolError, match=f"{name} is (not a file|too large)"):
        asyncio.run(change_files([ctx.cwd / name], lambda sources: [], ctx))


def test_move_or_add_onto_an_existing_file_is_refused(ctx: CallContext) -> None:
    (ctx.cwd / "a.txt").write_text("a\n")
    (ctx.cwd / "b.txt").write_text("b\n")
    with pytest.raises(ToolError, match=r"b\.txt already exists; cannot move a\.txt there"):
        patch(ctx, "*** Begin Patch\n*** Update File: a.txt\n*** Move to: b.txt\n*** End Patch")
    with pytest.raises(ToolError, match=r"b\.txt already exists; update it instead"):
        patch(ctx, "*** Begin Patch\n*** Add File: b.txt\n+x\n*** End Patch")


def test_file_created_during_the_transaction_is_not_overwritten(ctx: CallContext) -> None:
    before = lay_out(ctx.cwd)

    class Meddler(LocalFileSystem):
        async def write(self, path: Path, data: bytes, *, expect: Stat | None = None) -> Stat:
            (ctx.cwd / "four").mkdir(exist_ok=True)
            (ctx.cwd / "four" / "four.txt").write_text("the user's\n")
            return await super().write(path, data, expect=expect)

    ctx.use_disk(Meddler())
    with pytest.raises(ToolError, match=r"four\.txt already exists\. .*restored"):
        patch(ctx, PATCH)
    assert tree(ctx.cwd) == before | {"four/four.txt": (b"the user's\n", 0o644)}


ENDLESS = """
import asyncio, itertools, sys
from pathlib import Path
from tau.coding.edits import apply_patch
from tau.coding.edits.multi_file_patch import apply_patch as apply_sections
from tests.coding.context import call_context

folder = Path(sys.argv[1])
with call_context(folder) as ctx:
    print("ready", flush=True)
    for number in itertools.count():
        old, new = ("A", "B") if number % 2 == 0 else ("B", "A")
        text = "".join(
            f"*** Update File: {name}\\n@@\\n first\\n-{old * 5000}\\n+{new * 5000}\\n last\\n"
            for name in "xyz"
        )
        patch = apply_patch.parse(f"*** Begin Patch\\n{text}*** End Patch", folder)
        asyncio.run(apply_sections(patch, ctx))
"""


def test_kill_between_writes_leaves_each_file_whole(tmp_path: Path) -> None:
    states = {f"first\n{letter * 5000}\nlast\n" for letter in "AB"}
    root = Path(__file__).resolve().parents[3]
    for attempt in range(5):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        for name in "xyz":
            (folder / name).write_text("first\n" + "A" * 5000 + "\nlast\n")
        with subprocess.Popen(
            [sys.executable, "-c", ENDLESS, str(folder)], cwd=root, stdout=subprocess.PIPE
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"ready\n"
            time.sleep(0.013 * (attempt + 1))
            child.send_signal(signal.SIGKILL)
        assert all((folder / name).read_text() in states for name in "xyz")


def test_empty_change_is_reported(tmp_path: Path) -> None:
    with call_context(tmp_path) as ctx, pytest.raises(ToolError, match="nothing to change"):
        asyncio.run(apply_changes([], ctx))


def test_ten_files_with_problems_are_named(ctx: CallContext) -> None:
    for count, more in ((10, ""), (11, "\n[… and 1 more files]")):
        deleted = "".join(f"*** Delete File: missing{number}\n" for number in range(count))
        with pytest.raises(ToolError) as caught:
            patch(ctx, f"*** Begin Patch\n{deleted}*** End Patch\n")
        assert str(caught.value).endswith(f"{more}\nNo file was changed.")
        assert str(caught.value).count("missing") == 10


def test_one_edit_changes_500_files_of_64_mebibytes_at_most(ctx: CallContext) -> None:
    added = "".join(f"*** Add File: f{number}\n+x\n" for number in range(501))
    with pytest.raises(ToolError, match="This names 501 files; one edit may change at most 500"):
        patch(ctx, f"*** Begin Patch\n{added}*** End Patch\n")
    large = ctx.cwd / "large"
    with large.open("wb") as file:
        file.truncate(64 * 1024 * 1024 + 1)
    with pytest.raises(ToolError, match="large is too large to edit"):
        asyncio.run(load(large, ctx))
