"""A patch as one unit: several files, several sections, all or nothing."""

import pytest

from tau.hashline.errors import ApplyError, MismatchError, NoChangeError, PatchError
from tau.hashline.parser import parse
from tau.hashline.patch import prepare, record_written, report
from tau.hashline.snapshots import SnapshotStore

A, B = "1\n2\n3\n4\n", "x\ny\n"


def two_files() -> tuple[SnapshotStore, dict[str, str], str, str]:
    store = SnapshotStore()
    tag_a, tag_b = store.record("a", A), store.record("b", B)
    assert tag_a and tag_b
    return store, {"a": A, "b": B}, tag_a, tag_b


def test_several_files_are_returned_together() -> None:
    store, files, tag_a, tag_b = two_files()
    patch = parse(f"¶a#{tag_a}\nreplace 4:\n+four\n¶b#{tag_b}\ndelete 2\n")
    result = prepare(patch, files.get, store)
    assert [(file.path, file.new_text) for file in result] == [("a", "1\n2\n3\nfour\n"), ("b", "x\n")]
    assert patch.warnings == ()


def test_two_sections_of_one_file_are_one_edit() -> None:
    store, files, tag_a, tag_b = two_files()
    patch = parse(f"¶a#{tag_a}\ndelete 1\n¶b#{tag_b}\ndelete 1\n¶./a#{tag_a}\ninsert after 4:\n+5\n")
    result = prepare(patch, files.get, store, normalize=lambda path: path.removeprefix("./"))
    assert [(file.key, file.new_text) for file in result] == [("a", "2\n3\n4\n5\n"), ("b", "y\n")]


def test_two_sections_of_one_file_may_not_overlap() -> None:
    store, files, tag_a, _ = two_files()
    patch = parse(f"¶a#{tag_a}\ndelete 2\n¶a#{tag_a}\nreplace 2:\n+x\n")
    with pytest.raises(
        ApplyError, match="line 4: anchor line 2 is already targeted by another hunk on line 2"
    ):
        prepare(patch, files.get, store)


def test_sections_for_two_versions_of_a_file_are_merged_into_one_text() -> None:
    store, files, tag_a, _ = two_files()
    first = prepare(parse(f"¶a#{tag_a}\ninsert head:\n+0\n"), files.get, store)[0]
    new_tag = record_written(store, first)
    patch = parse(f"¶a#{tag_a}\nreplace 4:\n+four\n¶a#{new_tag}\ndelete 1\n")
    file = prepare(patch, {"a": first.new_text}.get, store)[0]
    assert file.new_text == "1\n2\n3\nfour\n"
    assert len(file.warnings) == 1
    clash = parse(f"¶a#{tag_a}\nreplace 4:\n+four\n¶a#{new_tag}\ndelete 5\n")
    with pytest.raises(ApplyError, match="already targeted"):
        prepare(clash, {"a": first.new_text}.get, store)


def test_one_bad_section_stops_all() -> None:
    store, files, tag_a, tag_b = two_files()
    patch = parse(f"¶a#{tag_a}\ndelete 1\n¶b#{tag_b}\ndelete 3\n")
    with pytest.raises(ApplyError, match="Line 3 does not exist in b"):
        prepare(patch, files.get, store)


def test_all_problems_are_reported_together() -> None:
    store, files, tag_a, tag_b = two_files()
    patch = parse(f"¶a#{tag_a}\ndelete 9\n¶b#{tag_b}\nreplace 1:\n+x\n¶c#1234\ndelete 1\n")
    with pytest.raises(PatchError) as caught:
        prepare(patch, files.get, store)
    assert [type(error) for error in caught.value.errors] == [ApplyError, NoChangeError, ApplyError]
    for fragment in ("Line 9 does not exist in a", "edits of b", "no file c"):
        assert fragment in str(caught.value)


def test_missing_file_is_reported() -> None:
    store, _, tag_a, _ = two_files()
    with pytest.raises(ApplyError, match="There is no file a to edit; use write"):
        prepare(parse(f"¶a#{tag_a}\ndelete 1\n"), lambda _: None, store)


def test_tag_of_another_file_is_never_recorded_for_this_one() -> None:
    store, files, _, tag_b = two_files()
    with pytest.raises(MismatchError) as caught:
        prepare(parse(f"¶a#{tag_b}\ndelete 1\n"), files.get, store)
    assert not caught.value.recognized


def test_each_edit_gives_a_new_usable_tag() -> None:
    store, files, tag, _ = two_files()
    text = files["a"]
    for step in range(5):
        file = prepare(parse(f"¶a#{tag}\ninsert head:\n+{step}\n"), lambda _, now=text: now, store)[0]
        new_tag = record_written(store, file)
        assert new_tag is not None and new_tag != tag
        tag, text = new_tag, file.new_text
    assert text == "4\n3\n2\n1\n0\n" + A


def test_formatted_text_is_remembered_instead() -> None:
    store, files, tag_a, _ = two_files()
    file = prepare(parse(f"¶a#{tag_a}\nreplace 1:\n+one\n"), files.get, store)[0]
    tag = record_written(store, file, "one;\n2\n3\n4\n")
    assert tag is not None
    found = store.find("a", tag)
    assert found is not None and found.text == "one;\n2\n3\n4\n" and found.own


def test_report_has_header_and_preview() -> None:
    store, files, tag_a, _ = two_files()
    file = prepare(parse(f"¶a#{tag_a}\nreplace 2:\n+two\n+more\n"), files.get, store)[0]
    assert report(file, "BEEF") == "¶a#BEEF\n 1:1\n-2:2\n+2:two\n+3:more\n 4:3"
    assert report(file, None, "dir/a").startswith("¶dir/a\n")


def test_parser_warnings_are_included() -> None:
    store, files, tag_a, _ = two_files()
    patch = parse(f"¶a#{tag_a}\nreplace 2:\ntwo\n")
    assert len(patch.warnings) == 1
    assert [file.new_text for file in prepare(patch, files.get, store)] == ["1\ntwo\n3\n4\n"]
