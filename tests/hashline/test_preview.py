"""Previews of a change: they must be true, and short."""

from hypothesis import example, given

from tau.hashline.errors import NoChangeError
from tau.hashline.lines import separator_of, split_lines
from tau.hashline.parser import parse
from tau.hashline.patch import RENUMBERED, PreparedFile, prepare
from tau.hashline.preview import OPEN_END
from tau.hashline.records import Hunk
from tau.hashline.snapshots import SnapshotStore
from tests.hashline.strategies import files_and_hunks, patch_of

TEXT = "".join(f"line {number}\n" for number in range(1, 21))


def prepared(text: str, body: str) -> PreparedFile:
    store = SnapshotStore()
    return prepare(parse(f"¶f#{store.record('f', text)}\n{body}"), {"f": text}.get, store)[0]


def test_preview_has_new_numbers_and_some_context() -> None:
    file = prepared(TEXT, "insert after 2:\n+x\nreplace 10..11:\n+ten\ndelete 20\n")
    assert file.preview().split("\n") == [
        *(" 2:line 2", "+3:x", " 4:line 3"),
        "…",
        *(" 10:line 9", "-10:line 10", "-11:line 11", "+11:ten", " 12:line 12"),
        "…",
        *(" 19:line 19", "-20:line 20"),
    ]


def test_unchanged_rows_are_not_shown_as_changed() -> None:
    file = prepared(TEXT, "replace 5..8:\n+line 5\n+new\n+line 7\n+line 8\n")
    assert file.preview().split("\n") == [" 5:line 5", "-6:line 6", "+6:new", " 7:line 7"]
    assert file.diff().first_changed_line == 6
    assert (file.diff().added, file.diff().removed) == (1, 1)


def test_preview_is_bounded() -> None:
    body = "".join(f"+{'x' * 5000}\n" for _ in range(1000))
    big = prepared("y\n" * 5000, f"replace 1..4000:\n{body}").preview()
    assert len(big.split("\n")) < 40
    assert len(big) < 12_000
    assert "(3988 more lines)" in big and "(988 more lines)" in big
    many = "".join(f"replace {number}:\n+x\n" for number in range(1, 5000, 10))
    rows = prepared("y\n" * 5000, many).preview().split("\n")
    assert rows[-1] == "… (more changes not shown)"
    assert len([row for row in rows if row[0] != "…"]) == 80
    row = next(row for row in big.split("\n") if row.startswith("+1:"))
    assert len(row) == len("+1:") + 300 and row.endswith("x…")


def test_diff_format() -> None:
    file = prepared(TEXT, "replace 10:\n+ten\n")
    assert file.diff("src/f.py").text == (
        "--- a/src/f.py\n+++ b/src/f.py\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-line 10\n+ten\n"
        " line 11\n line 12\n line 13\n"
    )


def test_deleting_the_last_line_lost_an_empty_line_of_an_old_mac_file() -> None:
    assert prepared("a\r\rb", "delete 3\n").new_text == "a\r\r"


def test_diff_notes_a_missing_final_newline() -> None:
    diff = prepared("a\nb", "insert tail:\n+c\n").diff()
    assert diff.text.split("\n")[2:-1] == ["@@ -1,2 +1,3 @@", " a", "-b", OPEN_END, "+b", "+c", OPEN_END]
    assert prepared("a\nb", "delete 2\n").diff().text.endswith(f"-a\n-b\n{OPEN_END}\n+a\n{OPEN_END}\n")
    assert prepared("a\nb", "delete 1\n").diff().text.endswith(f"-a\n b\n{OPEN_END}\n")


def test_diff_is_bounded_and_says_so() -> None:
    rows = "".join(f"+new {number}\n" for number in range(3000))
    for body in (f"replace 1..20:\n{rows}", f"insert tail:\n{rows}"):
        diff = prepared(TEXT, body).diff()
        assert len(diff.text.splitlines()) == 400 + 1
        assert diff.text.endswith("[… the rest of this diff is not shown]\n")
        assert diff.added == 3000


def test_diff_of_400_rows_is_whole_and_its_rows_have_500_characters() -> None:
    for count, whole in ((391, True), (392, False)):  # besides the names, the header and six rows
        body = "".join(f"+{number}\n" for number in range(count))
        diff = prepared(TEXT, f"insert after 10:\n{body}").diff().text
        assert diff.endswith("not shown]\n") != whole
    long = prepared(TEXT, f"insert after 10:\n+{'x' * 500}\n+{'y' * 501}\n").diff().text
    assert f"+{'x' * 500}\n+{'y' * 499}…\n" in long


def test_first_changed_line_exists_after_a_deletion_at_the_end() -> None:
    assert prepared(TEXT, "delete 19..20\n").diff().first_changed_line == 18
    assert prepared("a\n", "delete 1\n").diff().first_changed_line == 1


def patched(old: list[str], rows: list[str]) -> list[str]:
    """What a patch program makes of a diff, including the missing-newline marker."""
    result: list[str] = []
    position = 0
    for row in rows:
        if row.startswith("@@"):
            first, length = row[4:].partition(" ")[0].split(",")
            start = int(first) - (length != "0")
            result += old[position:start]
            position = start
        elif row.startswith("+"):
            result.append(row[1:])
        else:
            assert old[position] == row[1:], row
            result += [old[position]] if row.startswith(" ") else []
            position += 1
    return result + old[position:]


def marked(text: str, separator: str) -> list[str]:
    """The rows as a patch program counts them, which does not change how it does when the text does."""
    rows = split_lines(text) if separator_of(text) == separator else text.split(separator) if text else []
    if text and not text.endswith(separator):
        rows[-1] += f"\n{OPEN_END}"
    return rows


def diff_rows(text: str) -> list[str]:
    rows: list[str] = []
    for row in text.split("\n")[2:-1]:
        if row == OPEN_END:
            rows[-1] += f"\n{OPEN_END}"
        else:
            rows.append(row)
    return rows


def test_preview_showed_numbers_that_the_next_edit_counted_differently() -> None:
    file = prepared("\ra\n\n\nopen end", "delete 2..4\n")
    assert file.new_text == "\ra"  # two lines by now: the carriage return ends the first one
    assert file.preview() == RENUMBERED
    assert patched(marked(file.old_text, "\n"), diff_rows(file.diff().text)) == marked("\ra", "\n")


@example(("\ra\n\n\nopen end", [Hunk("delete", 2, 4, (), 2)]))
@given(files_and_hunks())
def test_diff_turns_the_old_text_into_the_new(case: tuple[str, list[Hunk]]) -> None:
    text, hunks = case
    if "\n" in text and text.endswith("\r"):
        return  # a CR at the very end is content, but becomes half a line end when an LF follows
    store = SnapshotStore()
    try:
        file = prepare(parse(patch_of("f", store.record("f", text), hunks)), {"f": text}.get, store)[0]
    except NoChangeError:
        return
    diff = file.diff()
    old, new = (marked(each, separator_of(text)) for each in (text, file.new_text))
    assert patched(old, diff_rows(diff.text)) == new
    assert len(old) + diff.added - diff.removed == len(new)
    check_preview(file)


def check_preview(file: PreparedFile) -> None:
    """Every row of a preview is in the old or the new text under its number."""
    old, new = split_lines(file.old_text), split_lines(file.new_text)
    if file.preview() == RENUMBERED:
        assert separator_of(file.old_text) != separator_of(file.new_text)
        return
    for row in file.preview().split("\n"):
        if row == "…":
            continue
        number, _, text = row[1:].partition(":")
        assert (old if row[0] == "-" else new)[int(number) - 1] == text
