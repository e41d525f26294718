"""Merge conflicts: found as Git writes them, numbered, read by side, resolved without collateral damage."""

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.conflicts.merge_conflicts import (
    ConflictStore,
    ConflictUrls,
    Resolutions,
    find_regions,
    render,
    resolve,
    resolved,
    split_lines,
    text_at,
)
from tests.coding.context import CallContext

TWO = "a\n<<<<<<< HEAD\nours 1\nours 2\n=======\ntheirs\n>>>>>>> topic\nz\n"
THREE = "<<<<<<< HEAD\n=======\nt\n>>>>>>> topic\nmid\n<<<<<<< A\no\n||||||| base\nb\n=======\n>>>>>>> B\n"


def write(ctx: CallContext, store: ConflictStore, rest: str, content: str) -> Resolutions:
    return asyncio.run(resolve(store, rest, content, ctx.fs))


def recorded(ctx: CallContext, store: ConflictStore, name: str, data: bytes) -> Path:
    path = ctx.cwd / name
    path.write_bytes(data)
    store.record(path, find_regions(data.decode()))
    return path


def test_finds_both_sides_and_their_lines() -> None:
    (region,) = find_regions(TWO)
    assert (region.first, region.last) == (2, 7)
    assert (region.ours.text, region.ours.label, region.ours.first, region.ours.last) == (
        ("ours 1\nours 2\n", "HEAD", 3, 4)
    )
    assert (region.theirs.text, region.theirs.label) == ("theirs\n", "topic")
    assert region.base is None
    first, second = find_regions(THREE)
    assert first.ours.text == "" and first.ours.last < first.ours.first
    assert second.base is not None and second.base.text == "b\n" and second.theirs.text == ""


def test_sides_keep_crlf_line_endings() -> None:
    (region,) = find_regions(TWO.replace("\n", "\r\n"))
    assert region.ours.text == "ours 1\r\nours 2\r\n" and region.ours.label == "HEAD"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "=======\n",
        "Title\n=======\ntext\n",
        "<<<<<<< HEAD\nx\n",
        "<<<<<<< HEAD\nx\n>>>>>>> y\n",
        "<<<<<<< HEAD\nx\n=======\ny\n",
        "<<<<<<<HEAD\nx\n=======\ny\n>>>>>>>z\n",
        "<<<<<<<< HEAD\nx\n========\ny\n>>>>>>>> z\n",
        " <<<<<<< HEAD\nx\n=======\ny\n >>>>>>> z\n",
    ],
)
def test_incomplete_conflict_is_plain_text(text: str) -> None:
    assert find_regions(text) == []


def test_stray_and_nested_markers() -> None:
    (region,) = find_regions("<<<<<<< stray\nx\n" + TWO)
    assert region.first == 4
    (region,) = find_regions("<<<<<<< A\nx\n=======\nTitle\n=======\ny\n>>>>>>> B\n")
    assert region.theirs.text == "Title\n=======\ny\n"
    nested = "<<<<<<< A\no\n||||||| m\n<<<<<<< T1\n1\n=======\n2\n>>>>>>> T2\n=======\nt\n>>>>>>> B\n"
    (region,) = find_regions(nested)
    assert region.base is not None
    assert (region.ours.text, region.theirs.text) == ("o\n", "t\n")
    assert region.base.text == "<<<<<<< T1\n1\n=======\n2\n>>>>>>> T2\n"


def test_conflicts_are_shown_with_numbers_and_lines() -> None:
    store = ConflictStore()
    text = render("a.py", store.record(Path("/a.py"), find_regions(TWO)))
    assert text.startswith(
        "a.py: 1 unresolved conflict\n\nconflict://1 lines 2-7\nours (HEAD), lines 3-4:\n3:ours 1\n4:ours 2\n"
        "theirs (topic), line 6:\n6:theirs\n"
    )
    assert "conflict://2 lines 1-4\nours (HEAD): nothing" in render(
        "b", store.record(Path("/b"), find_regions(THREE))
    )
    assert render("c", []) == "[c has no unresolved conflicts]"


def test_sides_are_readable_by_url(ctx: CallContext) -> None:
    store = ConflictStore()
    store.record(Path("/b"), find_regions(THREE))
    assert text_at(store, "2/ours") == "o\n" and text_at(store, "2/base") == "b\n"
    assert text_at(store, "2/theirs") == ""
    assert text_at(store, "2") == THREE[THREE.index("<<<<<<< A") :]
    resource = asyncio.run(ConflictUrls(store).resolve("1/theirs", ctx))
    assert resource.data == b"t\n" and resource.immutable
    for rest, message in (
        ("1/base", "no base"),
        ("9", r"no conflict 9. Known: 1, 2"),
        ("x", "by its number"),
        ("1/mine", "sides ours, theirs and base"),
        ("*", "can be written to"),
        ("", "by its number"),
    ):
        with pytest.raises(ToolError, match=message):
            text_at(store, rest)


@pytest.mark.parametrize(
    ("content", "wanted"),
    [
        ("new", "a\nnew\nz\n"),
        ("new\nlines\n", "a\nnew\nlines\nz\n"),
        ("", "a\nz\n"),
        ("@ours", "a\nours 1\nours 2\nz\n"),
        (" @theirs\n", "a\ntheirs\nz\n"),
        ("@both", "a\nours 1\nours 2\ntheirs\nz\n"),
    ],
)
def test_resolution_replaces_the_conflict(ctx: CallContext, content: str, wanted: str) -> None:
    for encode in (lambda text: text, lambda text: text.replace("\n", "\r\n"), lambda text: "\ufeff" + text):
        store = ConflictStore()
        path = recorded(ctx, store, "a", encode(TWO).encode())
        (done,) = write(ctx, store, "1", content).done
        assert path.read_bytes() == encode(wanted).encode()
        assert (done.path, done.ids, done.left) == (path, [1], 0)
        assert store.ids() == []


def test_conflict_at_end_of_file_without_final_newline(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", TWO.removesuffix("\nz\n").encode())
    write(ctx, store, "1", "new\n")
    assert path.read_bytes() == b"a\nnew"


def test_other_conflicts_keep_their_numbers_while_lines_move(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", (TWO * 3 + THREE).encode())
    assert store.ids() == [1, 2, 3, 4, 5]
    (done,) = write(ctx, store, "2", "second\nand\nmore\nthan\nthere\nwas\nbefore").done
    assert done.left == 4
    write(ctx, store, "5", "@base")
    write(ctx, store, "1", "first")
    write(ctx, store, "3", "@theirs")
    assert path.read_text() == (
        "a\nfirst\nz\na\nsecond\nand\nmore\nthan\nthere\nwas\nbefore\nz\na\ntheirs\nz\n"
        + THREE[: THREE.index("<<<<<<< A")]
        + "b\n"
    )
    assert [id for id, _ in store.record(path, find_regions(path.read_text()))] == [4]
    assert [id for id, _ in store.record(path, find_regions("new line\n" + path.read_text() + TWO))] == [4, 6]


def test_changed_conflict_is_left_alone(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", TWO.encode())
    path.write_text("moved down\n" + TWO)
    path.write_text(path.read_text().replace("ours 1", "somebody's"))
    before = path.read_bytes()
    with pytest.raises(ToolError, match="has changed or is gone"):
        write(ctx, store, "1", "x")
    path.write_text("moved down\n" + TWO + TWO)
    with pytest.raises(ToolError, match="several times"):
        write(ctx, store, "1", "x")
    path.write_bytes(before)
    path.unlink()
    with pytest.raises(ToolError, match="no longer exists"):
        write(ctx, store, "1", "x")


def test_moved_conflict_is_resolved_at_its_new_position(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", TWO.encode())
    path.write_text("new line above\n" + TWO)
    write(ctx, store, "1", "@ours")
    assert path.read_text() == "new line above\na\nours 1\nours 2\nz\n"


def test_resolve_all_conflicts_file_by_file(ctx: CallContext) -> None:
    store = ConflictStore()
    good = recorded(ctx, store, "good", (TWO + TWO).encode())
    changed = recorded(ctx, store, "changed", TWO.encode())
    changed.write_text("resolved by hand\n")
    result = write(ctx, store, "*", "@theirs")
    assert [(done.path, done.ids) for done in result.done] == [(good, [1, 2])]
    assert [path for path, _ in result.failed] == [changed] and "has changed" in result.failed[0][1]
    assert good.read_text() == "a\ntheirs\nz\n" * 2
    with pytest.raises(ToolError, match="takes one of @ours"):
        write(ctx, store, "*", "some text")
    with pytest.raises(ToolError, match="No conflicts are known"):
        write(ctx, ConflictStore(), "*", "@ours")


def test_file_is_changed_completely_or_not_at_all(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", (TWO + THREE).encode())
    before = path.read_bytes()
    result = write(ctx, store, "*", "@base")
    assert result.done == [] and "no base" in result.failed[0][1]
    assert path.read_bytes() == before


def test_invalid_writes_are_refused(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", TWO.encode())
    for rest, content, message in (
        ("1/ours", "x", "can only be read"),
        ("7", "x", "no conflict 7"),
        ("1", "@base", "no base"),
        ("1", TWO, "still has conflict markers"),
    ):
        with pytest.raises(ToolError, match=message):
            write(ctx, store, rest, content)
    path.write_bytes(b"\xff" + TWO.encode())
    with pytest.raises(ToolError, match="cannot be changed safely"):
        write(ctx, store, "1", "x")


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_conflicts_made_by_git(ctx: CallContext, style: str) -> None:
    def git(*args: str, check: bool = True) -> None:
        settings = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", f"merge.conflictStyle={style}")
        subprocess.run(["git", *settings, *args], cwd=ctx.cwd, check=check, capture_output=True)

    path = ctx.cwd / "f"
    git("init", "-q", "-b", "main")
    for branch, middle in (("main", "base"), ("topic", "theirs"), ("main", "ours")):
        if branch == "topic":
            git("checkout", "-q", "-b", "topic")
        elif middle == "ours":
            git("checkout", "-q", "main")
        path.write_text(f"top\n{middle}\nbottom\n")
        git("add", "f")
        git("commit", "-q", "-m", middle)
    git("merge", "topic", check=False)
    (region,) = find_regions(path.read_text())
    assert (region.ours.text, region.theirs.text, region.theirs.label) == ("ours\n", "theirs\n", "topic")
    assert (region.base is None) == (style == "merge")
    store = ConflictStore()
    store.record(path, find_regions(path.read_text()))
    write(ctx, store, "1", "@both")
    assert path.read_text() == "top\nours\ntheirs\nbottom\n"


LINES = st.sampled_from(
    ["<<<<<<< A", "||||||| B", "=======", ">>>>>>> C", "text", "", "======= x", "<<<<<<<<", "\r", "=======\r"]
)


@given(st.lists(LINES, max_size=25), st.booleans())
def test_regions_tile_any_text(lines: list[str], ended: bool) -> None:
    text = "\n".join(lines) + ("\n" if ended else "")
    assert "".join(split_lines(text)) == text
    last = 0
    for region in find_regions(text):
        assert region.first > last
        last = region.last
        assert "".join(split_lines(text)[region.first - 1 : region.last]) == region.text
        assert region.text.count("\n") - (not region.text.endswith("\n")) <= region.last - region.first + 1
    for region in find_regions(text):
        after = resolved(text, [region], "X")
        above = "".join(split_lines(text)[: region.first - 1])
        below = "".join(split_lines(text)[region.last :])
        assert after in (f"{above}X{end}{below}" for end in ("", "\n", "\r\n"))


def test_store_forgets_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.coding.conflicts.merge_conflicts.MAX_RECORDED", 3)
    store = ConflictStore()
    for number in range(5):
        store.record(Path(f"/{number}"), find_regions(TWO))
    assert store.ids() == [3, 4, 5]


def test_resolve_a_thousand_conflicts_of_one_file_at_once(ctx: CallContext) -> None:
    store = ConflictStore()
    path = recorded(ctx, store, "a", (TWO * 1000).encode())
    (done,) = write(ctx, store, "*", "@theirs").done
    assert len(done.ids) == 1000 and done.left == 0 and store.ids() == []
    assert path.read_text() == "a\ntheirs\nz\n" * 1000
