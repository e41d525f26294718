"""Finding sessions by their messages."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.coding.session_index.index import SessionIndex
from tau.coding.session_index.search import SNIPPET_CHARS, search, snippet
from tests.coding.session_index.session_files import answer, entry, named, result, user, write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "sessions"


@pytest.fixture
def known(tmp_path: Path, root: Path) -> Iterator[SessionIndex]:
    with SessionIndex(tmp_path / "index.db", root) as one:
        yield one


def found(known: SessionIndex, *words: str) -> list[str]:
    return [hit.snippet for hit in search(known, words).hits]


def test_prompts_answers_names_and_commands_are_searched_but_not_output(
    known: SessionIndex, root: Path
) -> None:
    ran = {"role": "bashExecution", "command": "make gamma", "output": "", "exitCode": 0, "cancelled": False}
    write(
        root,
        user("1", "say alpha"),
        answer("2", "here is beta"),
        entry("3", "message", message={**ran, "truncated": False, "timestamp": 1}),
        named("4", "About delta"),
        result("5", "epsilon"),
    )
    assert found(known, "alpha") == ["say alpha"]
    assert found(known, "beta") == ["here is beta"]
    assert found(known, "gamma") == ["make gamma"]
    assert found(known, "delta") == ["About delta"]
    assert found(known, "epsilon") == []


def test_all_words_must_occur_somewhere_in_the_session(known: SessionIndex, root: Path) -> None:
    write(root, user("1", "the parser hangs"), answer("2", "a lock is missing"))
    write(root, user("1", "the parser"))
    assert search(known, ["parser"]).total == 2
    assert search(known, ["parser", "lock"]).total == 1
    assert search(known, ["parser", "absent"]).total == 0
    assert search(known, []).total == search(known, [" "]).total == 0


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Testing it", "test"),
        ("TEST", "test"),
        ("naïve Bayes", "naive"),
        ("naive", "naïve"),
        ("a race\n   condition", "race condition"),
        ("call parse_arguments(x)", "parse_arg"),
        ("use C++ here", "c++"),
        ("50% done", "50%"),
        ("日本語のテキスト", "テキ"),
        ("it is \\d+ there", "\\d+"),
        ('say "hi" to', '"hi"'),
        ("emoji 🦀 too", "🦀"),
        ("AND OR NOT", "NOT"),
        ("a*b", "a*"),
    ],
)
def test_search_matches(known: SessionIndex, root: Path, text: str, word: str) -> None:
    write(root, user("1", text))
    assert search(known, [word]).total == 1


@pytest.mark.parametrize(
    ("text", "word"), [("use C here", "c++"), ("condition race", "race condition"), ("contest", "test")]
)
def test_search_non_matches(known: SessionIndex, root: Path, text: str, word: str) -> None:
    write(root, user("1", text))
    assert search(known, [word]).total == 0


def test_newest_first_and_the_rest_is_counted(known: SessionIndex, root: Path) -> None:
    paths = [write(root, user("1", "word"), cwd=f"/w{number}") for number in range(5)]
    for number, path in enumerate(paths):
        os.utime(path, (1_000 + number, 1_000 + number))
    hits = search(known, ["word"], limit=2)
    assert [hit.session.path for hit in hits.hits] == [paths[4], paths[3]]
    assert hits.total == 5
    assert search(known, ["word"], folder=paths[0].parent).total == 1


def test_text_matching_most_words_is_shown(known: SessionIndex, root: Path) -> None:
    write(root, user("1", "alpha"), answer("2", "alpha and beta"), user("3", "beta"))
    (hit,) = search(known, ["alpha", "beta"]).hits
    assert (hit.role, hit.snippet) == ("assistant", "alpha and beta")


def test_snippet_is_cut_at_words_around_the_match() -> None:
    text = f"{'before ' * 100}the NÉEDLE lies {'after ' * 100}"
    part = snippet(text, ["needle"])
    assert "the NÉEDLE lies" in part and len(part) <= SNIPPET_CHARS + 2
    assert part.startswith("…before ") and part.endswith("after…")
    assert snippet("short", ["x"]) == "short"
    assert len(snippet("x" * 1000, ["y"])) <= SNIPPET_CHARS + 1


def test_old_name_no_longer_matches(known: SessionIndex, root: Path) -> None:
    path = write(root, user("1", "hi"), named("2", "Oldname"))
    assert found(known, "oldname") == ["Oldname"]
    with path.open("ab") as file:
        file.write(named("3", "Newname"))
    assert found(known, "newname") == ["Newname"]
    assert found(known, "oldname") == []
