"""Directory trees: two levels, the newest first, bounded."""

import asyncio
import os
from pathlib import Path

import pytest

from tau.coding.files.paths import split_selector
from tau.coding.output import OutputLimits
from tau.coding.readers import directory
from tau.coding.readers.directory import DirectoryTree, age, directory_tree
from tests.coding.context import call_context

NOW = 1_700_000_000
DAY = 86_400


def put(path: Path, age_s: int, data: bytes = b"") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    os.utime(path, (NOW - age_s, NOW - age_s))


def date(path: Path, age_s: int) -> None:
    os.utime(path, (NOW - age_s, NOW - age_s))


def grown(
    path: Path, max_lines: int = 3000, max_bytes: int = 50 * 1024, selector: str = ":1-"
) -> DirectoryTree:
    """As the `read` tool gets it in a session."""
    with call_context(path) as ctx:
        return asyncio.run(
            directory_tree(
                path,
                ctx.fs,
                split_selector(f"x{selector}")[1],
                limits=OutputLimits(lines=max_lines, bytes=max_bytes),
                now_ns=NOW * 10**9,
            )
        )


def test_newest_first_with_sizes_and_ages(tmp_path: Path) -> None:
    put(tmp_path / "old.txt", 40 * DAY, b"x" * 2048)
    put(tmp_path / "src/main.py", 7200, b"12345")
    put(tmp_path / "src/deep/hidden.py", 5)
    date(tmp_path / "src/deep", 3 * DAY)
    date(tmp_path / "src", 90)
    put(tmp_path / "new.txt", 2)
    (tmp_path / "void").mkdir()
    date(tmp_path / "void", 800 * DAY)
    wanted = (
        "- new.txt (0 bytes, just now)\n"
        "- src/ (1m ago)\n"
        "  - main.py (5 bytes, 2h ago)\n"
        "  - deep/ (3d ago)\n"
        "- old.txt (2 KiB, 5w ago)\n"
        "- void/ (2y ago) [empty]"
    )
    assert grown(tmp_path) == DirectoryTree(text=wanted, lines=6, entries=4)


def test_empty_and_missing_folder(tmp_path: Path) -> None:
    assert grown(tmp_path).text == "(empty directory)"
    with pytest.raises(OSError, match="No such file"):
        grown(tmp_path / "none")


def test_subfolders_show_twelve_entries_and_the_folder_itself_all(tmp_path: Path) -> None:
    for number in range(30):
        put(tmp_path / f"top{number:02}", 100 + number)
        put(tmp_path / f"sub/in{number:02}", 100 + number)
    date(tmp_path / "sub", 1)
    shown = grown(tmp_path)
    lines = shown.text.splitlines()
    assert lines[0].startswith("- sub/") and lines[12].startswith("  - in11")
    assert lines[13] == "  - … 18 more"
    assert len(lines) == 1 + 12 + 1 + 30
    cut = grown(tmp_path, max_lines=5).text.splitlines()
    assert cut[4].startswith("  - in03") and cut[5:] == [
        "  - [cut after 5 lines]",
        "[Showing 1 of 31 entries; continue with :2-]",
    ]
    assert shown.limit is not None and (shown.limit.shown, shown.limit.total) == (31, 31)


def test_long_folders_are_cut_and_can_be_continued(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path / f"f{number:02}", number)
    first = grown(tmp_path, max_lines=20)
    assert first.text.splitlines()[-1] == "[Showing 20 of 50 entries; continue with :21-]"
    rest = grown(tmp_path, selector=":21-")
    assert rest.text.splitlines()[0].startswith("- f20") and "[Showing 30 of 50 entries]" in rest.text


def test_selector_3_to_5_showed_entry_3_to_the_end(tmp_path: Path) -> None:
    for number in range(9):
        put(tmp_path / f"f{number}", number)
    rows = grown(tmp_path, selector=":3-5").text.splitlines()
    assert [row[:4] for row in rows[:3]] == ["- f2", "- f3", "- f4"]
    assert rows[3:] == ["[Showing 3 of 9 entries; continue with :6-]"]
    rows = grown(tmp_path, selector=":1-2,8-9").text.splitlines()
    assert [row[:4] for row in rows[:4]] == ["- f0", "- f1", "- f7", "- f8"]
    assert grown(tmp_path, selector=":10-").text == "[Showing 0 of 9 entries]"


def test_folder_whose_names_exceed_the_byte_limit_is_continued_at_the_right_entry(tmp_path: Path) -> None:
    for number in range(50):
        put(tmp_path / f"f{number:02}{'x' * 90}", number)
    first = grown(tmp_path, max_bytes=2_000)
    shown = first.text.splitlines()
    assert len(first.text.encode()) < 2_100
    assert shown[-1] == f"[Showing {len(shown) - 1} of 50 entries; continue with :{len(shown)}-]"
    rest = grown(tmp_path, selector=f":{len(shown)}-")
    assert rest.text.startswith(f"- f{len(shown) - 1:02}")


def test_links_are_shown_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(".")
    (tmp_path / "gone").symlink_to("/nowhere/at/all")
    (tmp_path / "a").mkdir()
    (tmp_path / "a/up").symlink_to("..")
    os.mkfifo(tmp_path / "pipe")
    text = grown(tmp_path).text
    assert "- loop -> ." in text and "- gone -> /nowhere/at/all" in text and "  - up -> .." in text
    assert "- pipe (no regular file)" in text
    assert len(text.splitlines()) == 5


def test_unreadable_folder_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").mkdir()
    put(tmp_path / "x", 1)
    scandir = os.scandir

    def refuse(path: Path) -> object:
        if Path(path).name == "secret":
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refuse)  # tests may run as root, who is never refused
    assert "- secret/ (just now) [cannot be read: Permission denied]" in grown(tmp_path).text


def test_odd_names_stay_on_one_row(tmp_path: Path) -> None:
    put(tmp_path / "new\nline\x1b[31m", 1)
    put(Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")), 1)
    rows = grown(tmp_path).text.splitlines()
    assert sorted(rows) == ["- bad\ufffd (0 bytes, just now)", "- new line (0 bytes, just now)"]


def test_managed_folders_are_not_expanded(tmp_path: Path) -> None:
    put(tmp_path / "node_modules/dep/x.js", 1)
    date(tmp_path / "node_modules", 60)
    assert grown(tmp_path).text == "- node_modules/ (1m ago)"
    assert "dep/" in grown(tmp_path / "node_modules").text


def test_folder_with_too_many_entries_is_not_read_completely(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(25):
        put(tmp_path / "sub" / str(number), 1)
    monkeypatch.setattr(directory, "MAX_SCANNED", 20)
    assert "  - … 8+ more" in grown(tmp_path).text
    assert "only 20 entries were scanned" in grown(tmp_path / "sub").text


@pytest.mark.soak
def test_a_hundred_thousand_entries(tmp_path: Path) -> None:
    for number in range(100_001):
        (tmp_path / f"{number}").touch()
    shown = grown(tmp_path)
    assert shown.lines == 3000 and shown.entries == 100_000
    assert "There are more" in shown.text


@pytest.mark.parametrize(
    ("seconds", "wanted"),
    [
        (-500, "just now"), (9, "just now"),
        (10, "10s ago"), (59, "59s ago"), (60, "1m ago"), (3599, "59m ago"),
        (3600, "1h ago"), (DAY, "1d ago"), (6 * DAY, "6d ago"), (7 * DAY, "1w ago"), (59 * DAY, "8w ago"),
        (60 * DAY, "2mo ago"), (729 * DAY, "24mo ago"), (731 * DAY, "2y ago"),
    ],
)  # fmt: skip
def test_ages_use_a_fitting_unit(seconds: int, wanted: str) -> None:
    assert age((NOW - seconds) * 10**9, NOW * 10**9) == wanted
