"""What a model's path text means."""

import os
import unicodedata
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.files.paths import LineRange, Selector, failure, real, resolve, shown, split_selector


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.py", "a.py"),
        ("./a.py", "a.py"),
        ("  a.py\n", "a.py"),
        ('"a.py"', "a.py"),
        ("'sub dir/a.py'", "sub dir/a.py"),
        ("`a.py`", "a.py"),
        ("@a.py", "a.py"),
        ("@src/a.py", "src/a.py"),
        ("sub/../a.py", "a.py"),
    ],
)
def test_text_around_a_path_is_stripped(tmp_path: Path, text: str, expected: str) -> None:
    cwd = tmp_path.resolve()
    assert resolve(text, cwd) == cwd / expected


def test_absolute_paths_home_and_file_urls(tmp_path: Path) -> None:
    assert resolve("/etc/hosts", tmp_path) == Path("/etc/hosts")
    assert resolve("~/notes.txt", tmp_path) == Path.home() / "notes.txt"
    assert resolve("~", tmp_path) == Path.home()
    assert resolve("file:///srv/a%20b.txt", tmp_path) == Path("/srv/a b.txt")
    assert resolve("file://localhost/srv/a.txt", tmp_path) == Path("/srv/a.txt")


def test_existing_path_is_taken_literally(tmp_path: Path) -> None:
    for name in ("@a.py", " b.py", "'c.py'", "@scope"):
        (tmp_path / name).touch()
    assert resolve("@a.py", tmp_path).name == "@a.py"
    assert resolve(" b.py", tmp_path).name == " b.py"
    assert resolve("'c.py'", tmp_path).name == "'c.py'"
    assert resolve("@scope/new.py", tmp_path) == tmp_path / "@scope" / "new.py"


@pytest.mark.parametrize("text", ["", "  ", "a\0b"])
def test_path_that_cannot_exist_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(ToolError):
        resolve(text, tmp_path)


def test_dots_resolve_to_the_parent_of_a_links_target(tmp_path: Path) -> None:
    cwd = tmp_path.resolve()
    (cwd / "far" / "away").mkdir(parents=True)
    (cwd / "work").mkdir()
    (cwd / "work" / "link").symlink_to(cwd / "far" / "away")
    assert resolve("link/../x.txt", cwd / "work") == cwd / "far" / "x.txt"


@pytest.mark.parametrize(
    ("on_disk", "asked"),
    [
        ("Screenshot at 9.41.00\u202fAM.png", "Screenshot at 9.41.00 AM.png"),
        (unicodedata.normalize("NFD", "Übersicht.txt"), "Übersicht.txt"),
        (unicodedata.normalize("NFC", "Übersicht.txt"), unicodedata.normalize("NFD", "Übersicht.txt")),
        ("Anna’s file.txt", "Anna's file.txt"),
        (unicodedata.normalize("NFD", "Renée’s file 5\u202fPM.txt"), "Renée's file 5 PM.txt"),
    ],
)
def test_other_spellings_match_existing_files_only(tmp_path: Path, on_disk: str, asked: str) -> None:
    (tmp_path / on_disk).touch()
    if (tmp_path / asked).exists():
        pytest.skip(reason="this file system takes the two spellings for one")
    assert resolve(asked, tmp_path) == tmp_path / on_disk
    assert resolve(asked, tmp_path, existing=False) == tmp_path / asked


def test_real_follows_links_even_where_nothing_exists_yet(tmp_path: Path) -> None:
    base = tmp_path.resolve()
    (base / "outside").mkdir()
    (base / "in").mkdir()
    (base / "in" / "dir").symlink_to("../outside")
    (base / "in" / "dangling").symlink_to("../outside/not/yet.txt")
    (base / "in" / "chain").symlink_to("dangling")
    assert real(base / "in" / "dir" / "new" / "x") == base / "outside" / "new" / "x"
    assert real(base / "in" / "dangling") == base / "outside" / "not" / "yet.txt"
    assert real(base / "in" / "chain") == base / "outside" / "not" / "yet.txt"
    assert real(base / "in" / "plain") == base / "in" / "plain"


def test_paths_are_relative_inside_the_working_folder_only() -> None:
    assert shown(Path("/w/src/a.py"), Path("/w")) == "src/a.py"
    assert shown(Path("/w"), Path("/w")) == "."
    assert shown(Path("/etc/hosts"), Path("/w")) == "/etc/hosts"


@pytest.mark.parametrize(
    ("text", "path", "selector"),
    [
        ("a.py", "a.py", Selector()),
        ("a.py:50-100", "a.py", Selector((LineRange(50, 100),))),
        ("a.py:L50-L100", "a.py", Selector((LineRange(50, 100),))),
        ("a.py:50+10", "a.py", Selector((LineRange(50, 59),))),
        ("a.py:50-", "a.py", Selector((LineRange(50),))),
        ("a.py:50", "a.py", Selector((LineRange(50),))),
        ("a.py:raw", "a.py", Selector((), True)),
        ("a.py:5-6:raw", "a.py", Selector((LineRange(5, 6),), True)),
        ("a.py:raw:5-6", "a.py", Selector((LineRange(5, 6),), True)),
        ("a.py:40-60,5-9", "a.py", Selector((LineRange(5, 9), LineRange(40, 60)))),
        ("a.py:1-5,4-9,10-12", "a.py", Selector((LineRange(1, 12),))),
        ("a.py:5-,9-10", "a.py", Selector((LineRange(5),))),
        ("a.zip:inner/file", "a.zip:inner/file", Selector()),
        ("C:raw/x", "C:raw/x", Selector()),
        (":5-6", ":5-6", Selector()),
        ("artifact://3:5-6", "artifact://3", Selector((LineRange(5, 6),))),
    ],
)
def test_selectors(text: str, path: str, selector: Selector) -> None:
    assert split_selector(text) == (path, selector)


@pytest.mark.parametrize("text", ["a:0", "a:0-5", "a:9-5", "a:5+0"])
def test_invalid_selector_is_reported(text: str) -> None:
    with pytest.raises(ToolError, match=r"selector|Line numbers"):
        split_selector(text)


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), min_size=1, max_size=6))
def test_merged_ranges_cover_exactly_the_lines_asked_for(ranges: list[tuple[int, int]]) -> None:
    text = ",".join(f"{first}-{first + more}" for first, more in ranges)
    _, selector = split_selector(f"f:{text}")
    wanted = {line for first, more in ranges for line in range(first, first + more + 1)}
    covered = [line for span in selector.ranges for line in range(span.first, (span.last or 0) + 1)]
    assert covered == sorted(wanted)


def test_os_error_becomes_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(OSError) as caught:
        (tmp_path / "x").read_bytes()
    assert str(failure("read", "x", caught.value)) == "Cannot read x: No such file or directory."


def test_a_name_with_line_breaks_is_shown_on_one_line() -> None:
    assert shown(Path("/a/x\n¶y.py#ABCD\x1b[0m"), Path("/a")) == '"x\\n¶y.py#ABCD\\u001b[0m"'
    assert shown(Path("/a/naïve name.txt"), Path("/a")) == "naïve name.txt"


@given(st.binary(min_size=1, max_size=20))
def test_every_name_is_shown_as_text_that_leads_to_the_file(name: bytes) -> None:
    assume(b"/" not in name and b"\0" not in name and name not in (b".", b".."))
    assume(os.fsdecode(name).strip() and not name.startswith(b"~"))
    with TemporaryDirectory() as folder:
        path = Path(folder, os.fsdecode(name))
        path.touch()
        text = shown(path, Path(folder))
        text.encode()
        assert text.splitlines() == [text.strip()]
        assert resolve(text, Path(folder)) == path


def test_quoted_name_that_leads_nowhere_is_taken_literally(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert resolve('"a"', tmp_path) == tmp_path / "a"
    assert resolve('"a\\nb"', tmp_path) == tmp_path / "a\\nb"
    (tmp_path / '"a"').touch()
    assert resolve('"a"', tmp_path) == tmp_path / '"a"'
