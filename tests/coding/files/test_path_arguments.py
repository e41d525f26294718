"""Lists of paths as models send them: joined, quoted, with globs, selectors and URLs."""

from pathlib import Path

import pytest

from tau.base.errors import ToolError
from tau.coding.files.path_arguments import PathTarget, entries, parse, partition, scope_text, split_glob
from tau.coding.files.paths import LineRange


@pytest.fixture
def cwd(tmp_path: Path) -> Path:
    for name in ("src/a.py", "src/b.py", "docs/x.md", "my file.txt", "one,two.txt", "a.zip", "[x].txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    return tmp_path


def texts(given: str | list[str], cwd: Path) -> list[str]:
    return [entry.text for entry in entries(given, cwd, selectors=True)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("src", ["src"]),
        (["src", "docs"], ["src", "docs"]),
        ("src,docs", ["src", "docs"]),
        ("src, nowhere", ["src", "nowhere"]),
        ("src;docs/x.md", ["src", "docs/x.md"]),
        ("src docs", ["src", "docs"]),
        ("src nowhere", ["src nowhere"]),
        ("nowhere,neither", ["nowhere,neither"]),
        ("my file.txt", ["my file.txt"]),
        ("one,two.txt", ["one,two.txt"]),
        ("my file.txt, src", ["my file.txt", "src"]),
        ("'src'", ["src"]),
        ('["src", "docs"]', ["src", "docs"]),
        ("*.py,*.md", ["*.py", "*.md"]),
        ("src/*.py docs/*.md", ["src/*.py", "docs/*.md"]),
        ("src/*.{py,md}", ["src/*.{py,md}"]),
        ("nowhere,*.py", ["nowhere,*.py"]),
        ("my file*", ["my file*"]),
        ("src/a.py:1-2,5-6", ["src/a.py"]),
        ("src/a.py:1-2,src/b.py", ["src/a.py", "src/b.py"]),
        (["src", "src", " src "], ["src"]),
        ("tau://a,b", ["tau://a,b"]),
    ],
)
def test_joined_entries_are_split_by_what_exists(
    cwd: Path, given: str | list[str], expected: list[str]
) -> None:
    assert texts(given, cwd) == expected


@pytest.mark.parametrize("given", ["", "  ", "''", [], ["src", ""]])
def test_an_empty_path_is_refused(cwd: Path, given: str | list[str]) -> None:
    with pytest.raises(ToolError, match="`paths` must contain non-empty paths"):
        entries(given, cwd)


def test_too_many_entries_are_refused(cwd: Path) -> None:
    with pytest.raises(ToolError, match="at most 1000"):
        entries([f"f{number}" for number in range(1001)], cwd)


@pytest.mark.parametrize(
    ("text", "base", "glob"),
    [
        ("*.ts", ".", "**/*.ts"),
        ("**/*.ts", ".", "**/*.ts"),
        ("src/*.ts", "src", "*.ts"),
        ("src/**/*.ts", "src", "**/*.ts"),
        ("./*.ts", ".", "**/*.ts"),
        ("/tmp/*", "/tmp", "*"),
        ("/*", "/", "*"),
        ("src/**", "src", "**/*"),
        ("{a,b}/c", ".", "**/{a,b}/c"),
        ("src//[a]/x", "src/", "[a]/x"),
    ],
)
def test_glob_is_split_from_its_base(text: str, base: str, glob: str) -> None:
    assert split_glob(text) == (base, glob)


def test_selectors_members_urls_and_odd_names(cwd: Path) -> None:
    entry = parse("src/a.py:5-9", cwd, selectors=True)
    assert (entry.base, entry.selector.ranges) == (cwd / "src/a.py", (LineRange(5, 9),))
    entry = parse("a.zip:in/side.py:3-4", cwd, selectors=True)
    assert (entry.base, entry.member, entry.text) == (cwd / "a.zip", "in/side.py", "a.zip:in/side.py")
    assert entry.selector.ranges == (LineRange(3, 4),)
    entry = parse("tau://page:2-3", cwd, selectors=True)
    assert (entry.url, entry.selector.ranges, entry.exists) == ("tau://page", (LineRange(2, 3),), True)
    assert parse("[x].txt", cwd).glob == ""
    assert parse("~", cwd).base == Path.home()
    with pytest.raises(ToolError, match="not supported for internal URLs: tau://"):
        parse("tau://*.md", cwd)


def test_missing_entries_are_separated(cwd: Path) -> None:
    present, missing = partition(entries(["src", "nowhere", "gone/*.py"], cwd))
    assert [entry.text for entry in present] == ["src"]
    assert missing == ["nowhere", "gone/*.py"]
    with pytest.raises(ToolError, match=r"Path not found: nowhere, gone\."):
        partition(entries(["nowhere", "gone"], cwd))


def test_scope_is_short(cwd: Path) -> None:
    many = [PathTarget(text=f"f{number}", base=cwd) for number in range(8)]
    assert scope_text(many, cwd) == "f0, f1, f2, f3, f4 and 3 more"
    assert scope_text([PathTarget(text=".", base=cwd)], cwd) == str(cwd)
