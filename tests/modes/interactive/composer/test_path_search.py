"""A few letters find the intended file."""

import pytest

from tau.modes.interactive.composer.path_search import BUCKET_CHARS, FileIndex, PathQuery


def index_of(*paths: str) -> FileIndex:
    index = FileIndex()
    index.add(paths)
    for _ in index.settle():
        pass
    return index


def found(index: FileIndex, query: str, limit: int = 10) -> list[str]:
    search = PathQuery(index, query)
    for _ in search.steps():
        pass
    return search.best(limit)


TREE = index_of(
    "README.md",
    "src/tau/main.py",
    "src/tau/editor/select_list.py",
    "src/tau/editor/settings.py",
    "src/main/java/App.java",
    "tests/test_select_list.py",
    "docs/my notes.md",
)


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("main", "src/main/"),
        ("main.py", "src/tau/main.py"),
        ("sel", "src/tau/editor/select_list.py"),
        ("tsl", "tests/test_select_list.py"),
        ("readme", "README.md"),
        ("java/app", "src/main/java/App.java"),
        ("sttgs", "src/tau/editor/settings.py"),
        ("my notes", "docs/my notes.md"),
    ],
)
def test_likeliest_file_comes_first(query: str, best: str) -> None:
    assert found(TREE, query)[0] == best


def test_files_below_the_named_folder_come_before_others_of_that_name() -> None:
    index = index_of("lib/src/one.py", "src/two.py", "src/deep/three.py")
    assert found(index, "src/")[:2] == ["src/deep/", "src/two.py"]


def test_folders_are_found_once_each() -> None:
    assert found(TREE, "editor") == [
        "src/tau/editor/",
        "src/tau/editor/settings.py",
        "src/tau/editor/select_list.py",
    ]


def test_empty_query_shows_the_top_of_the_tree_folders_first() -> None:
    assert found(TREE, "") == ["src/", "docs/", "tests/", "README.md"]


def test_capital_letters_match_case_sensitively() -> None:
    assert found(TREE, "App") == ["src/main/java/App.java"]
    assert found(TREE, "APP") == []


def test_fully_typed_path_is_exact_and_not_offered() -> None:
    search = PathQuery(TREE, "README.md")
    for _ in search.steps():
        pass
    assert search.exact
    assert search.best(10) == []


def test_deleted_files_are_not_offered() -> None:
    index = index_of("kept.py", "lost.py")
    index.gone = {"lost.py"}
    assert found(index, "py") == ["kept.py"]


def test_names_with_control_characters_are_left_out() -> None:
    assert found(index_of("fine.py", "bad\nname.py", "\x1b[31mred.py", "\udc80.py"), "py") == ["fine.py"]


def test_letters_that_grow_when_lowercased_do_not_shift_matches() -> None:
    index = index_of("İstanbul/İzmir.txt", "plain.txt")
    assert found(index, "zmir") == ["İstanbul/İzmir.txt"]


def test_match_is_found_anywhere_in_a_large_tree() -> None:
    index = FileIndex()
    index.add(f"pkg{number % 97}/module_{number}/file_{number}.py" for number in range(20_000))
    index.add(["pkg1/deep/in/the/tree/needle_in_hay.py"])
    for _ in index.settle():
        pass
    assert len(index.buckets()) > 20_000 * 20 // BUCKET_CHARS
    assert found(index, "needle")[0] == "pkg1/deep/in/the/tree/needle_in_hay.py"
    assert found(index, "nih")[0] == "pkg1/deep/in/the/tree/needle_in_hay.py"
    assert found(index, "ndlnhay")[0] == "pkg1/deep/in/the/tree/needle_in_hay.py"


def test_added_files_are_found_once_settled() -> None:
    index = index_of("one.py")
    index.add(["two.py"])
    assert found(index, "py") == ["one.py"]
    assert index.settled == 1
    for _ in index.settle():
        pass
    assert found(index, "py") == ["one.py", "two.py"]
    assert index.settled == index.count == 2
