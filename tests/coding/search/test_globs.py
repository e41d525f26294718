"""Glob syntax, checked against ripgrep where possible."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tau.coding.search import rg_command
from tau.coding.search.globs import BadGlob, is_glob, matcher
from tests.coding.search.search_trees import make, needs_rg


@pytest.mark.parametrize(
    ("glob", "matching", "others"),
    [
        ("*.py", ["a.py", ".py"], ["a/b.py", "a.pyc"]),
        ("**/*.py", ["a.py", "a/b.py", "a/b/c.py"], ["a.txt"]),
        ("src/**", ["src/a", "src/a/b"], ["src", "a/src/b"]),
        ("a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab"]),
        ("a**b", ["ab", "axb"], ["a/b"]),
        ("?.{c,h}", ["a.c", "b.h"], ["ab.c", "a.cpp"]),
        ("[a-c][!x].t", ["ay.t"], ["ax.t", "dy.t", "a/.t"]),
        ("{a,b/**}/c", ["a/c", "b/x/c"], ["b/c/d"]),
        (r"\*.py", ["*.py"], ["a.py"]),
        ("a+(b).py", ["a+(b).py"], ["aab.py"]),
        ("[]x].t", ["].t", "x.t"], ["a.t"]),
    ],
)
def test_glob_matches(glob: str, matching: list[str], others: list[str]) -> None:
    accepts = matcher([glob])
    assert [path for path in [*matching, *others] if accepts(path)] == matching


@pytest.mark.parametrize("glob", ["a[", "{a,b", "a}", "x\\", "[z-a]"])
def test_broken_glob_is_reported(glob: str) -> None:
    with pytest.raises(BadGlob):
        matcher([glob])


def test_plain_name_is_not_a_glob() -> None:
    assert not is_glob("src/a-b.py") and all(is_glob(f"a{char}") for char in "*?[{")


@needs_rg
@settings(max_examples=15)
@given(glob=st.lists(st.sampled_from(["*", "**", "a", "b", "?", "[ab]", "/", "{a,b*}"]), max_size=5))
def test_globs_match_like_in_ripgrep(glob: list[str], tmp_path_factory: pytest.TempPathFactory) -> None:
    # Not checked: [!a], which in ripgrep also matches a slash, unlike in git and every shell.
    text = "".join(glob).strip("/")
    if not text or "//" in text or "***" in text:
        return
    root = tmp_path_factory.mktemp("globs")
    names = ["a", "b", "ab", "c/a", "c/b/ab", "a.d/b", "b.d/c/a", "c/.b"]
    make(root, dict.fromkeys(names, ""))
    # A leading slash anchors ripgrep's glob to the folder, as ours always is.
    argv = [rg_command.locate() or "", "--files", "--hidden", "--no-config", f"--glob=/{text}", "."]
    done = subprocess.run(argv, cwd=root, capture_output=True, text=True, check=False)
    found = {name.removeprefix("./") for name in done.stdout.splitlines()}
    accepts = matcher([text])
    # A folder that matches includes everything below it.
    below = {name for name in names if any(accepts(str(parent)) for parent in Path(name).parents)}
    ours = {name for name in names if accepts(name)}
    assert ours - below == found - below
