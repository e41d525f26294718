"""Parsing a patch: what is tolerated, what is refused, and the messages."""

import pytest

from tau.hashline.errors import ParseError
from tau.hashline.parser import parse
from tau.hashline.records import Hunk

HEADER = "¶a.ts#0A3B\n"


def hunks(body: str) -> list[tuple[str, int, int, tuple[str, ...]]]:
    patch = parse(HEADER + body)
    assert not patch.warnings
    return [(hunk.kind, hunk.first, hunk.last, hunk.rows) for hunk in patch.sections[0].hunks]


def refused(text: str) -> ParseError:
    with pytest.raises(ParseError) as caught:
        parse(text)
    return caught.value


def test_every_operation_in_its_strict_form() -> None:
    body = (
        "replace 1..2:\n+x\n+\nreplace block 3:\n+y\ndelete 4..5\ndelete block 6\ninsert before 7:\n+-z\n"
        "insert after 8:\n++z\ninsert after block 9:\n+b\ninsert head:\n+h\ninsert tail:\n+t\n"
    )
    assert hunks(body) == [
        ("replace", 1, 2, ("x", "")),
        ("replace block", 3, 3, ("y",)),
        ("delete", 4, 5, ()),
        ("delete block", 6, 6, ()),
        ("insert before", 7, 7, ("-z",)),
        ("insert after", 8, 8, ("+z",)),
        ("insert after block", 9, 9, ("b",)),
        ("insert head", 0, 0, ("h",)),
        ("insert tail", 0, 0, ("t",)),
    ]


def test_hunks_and_sections_know_their_line_in_the_patch() -> None:
    patch = parse("\n" + HEADER + "delete 1\n¶b.ts#1F7C\ninsert head:\n+x\n")
    assert [(section.path, section.tag, section.line) for section in patch.sections] == [
        ("a.ts", "0A3B", 2),
        ("b.ts", "1F7C", 4),
    ]
    assert patch.sections[1].hunks == (Hunk("insert head", 0, 0, ("x",), 5),)
    assert patch.paths == ("a.ts", "b.ts")


@pytest.mark.parametrize(
    "written",
    [
        *(
            "replace 3..5:",
            "replace 3..5",
            "replace 3-5:",
            "replace 3…5:",
            "replace 3 5:",
            "replace 3 .. 5 :",
        ),
        *("replace 3...5:", "replace 3–5", "replace  3..5:  ", "replace 3 - 5:", "replace 03..05:"),
    ],
)
def test_ranges_may_be_spelled_in_other_ways(written: str) -> None:
    assert hunks(f"{written}\n+x\n") == [("replace", 3, 5, ("x",))]


@pytest.mark.parametrize(
    ("written", "kind", "number"),
    [
        ("replace 3:", "replace", 3),
        ("replace 3", "replace", 3),
        ("replace block 3", "replace block", 3),
        ("insert before 3", "insert before", 3),
        ("insert after 3", "insert after", 3),
        ("insert after block 3", "insert after block", 3),
        ("insert head", "insert head", 0),
        ("insert tail", "insert tail", 0),
    ],
)
def test_single_lines_and_missing_colons_are_tolerated(written: str, kind: str, number: int) -> None:
    assert hunks(f"{written}\n+x\n") == [(kind, number, number, ("x",))]


@pytest.mark.parametrize("written", ["delete 4", "delete 4..4", "delete 4-4", "delete 4 4"])
def test_single_line_can_be_deleted(written: str) -> None:
    assert hunks(f"{written}\n") == [("delete", 4, 4, ())]


def test_bare_rows_are_taken_as_text_with_a_warning() -> None:
    patch = parse(HEADER + "replace 1..1:\nconst x = 1;\n\n  return x;\n\ndelete 5\n")
    assert patch.sections[0].hunks[0].rows == ("const x = 1;", "", "  return x;")
    assert patch.sections[0].hunks[1].kind == "delete"
    assert len(patch.warnings) == 1
    assert "from line 3" in patch.warnings[0]
    assert "`+TEXT`" in patch.warnings[0]


def test_blank_line_between_rows_is_a_row_and_elsewhere_ignored() -> None:
    patch = parse(HEADER + "\nreplace 1..1:\n\n+a\n\n+b\n\n\ninsert tail:\n+c\n\n")
    assert [hunk.rows for hunk in patch.sections[0].hunks] == [("a", "", "b"), ("c",)]
    assert len(patch.warnings) == 1


def test_bare_rows_pasted_with_line_numbers_lose_them() -> None:
    patch = parse(HEADER + "replace 7..8:\n7:def f():\n8:    pass\n")
    assert patch.sections[0].hunks[0].rows == ("def f():", "    pass")
    assert "numbers" in patch.warnings[0]


def test_non_consecutive_numbers_are_text() -> None:
    patch = parse(HEADER + "replace 7..8:\n7: a\n9: b\n")
    assert patch.sections[0].hunks[0].rows == ("7: a", "9: b")


def test_rows_with_a_plus_keep_leading_numbers() -> None:
    assert hunks("replace 7..8:\n+7:a\n+8:b\n") == [("replace", 7, 8, ("7:a", "8:b"))]


def test_rows_keep_everything_that_looks_like_syntax() -> None:
    body = "insert tail:\n+replace 1..2:\n+¶b.ts#1111\n+*** Abort\n+@@ -1 +1 @@\n+\n+12\n"
    rows = ("replace 1..2:", "¶b.ts#1111", "*** Abort", "@@ -1 +1 @@", "", "12")
    assert hunks(body) == [("insert tail", 0, 0, rows)]


def test_envelope_is_consumed() -> None:
    patch = parse(f"*** Begin Patch\n{HEADER}delete 1\n*** End Patch\n")
    assert len(patch.sections) == 1
    assert not patch.warnings


def test_abort_marker_silently_keeps_what_precedes_it() -> None:
    patch = parse(HEADER + "delete 1\nreplace 4..4:\n+x\n*** Abort\nnonsense @@\n")
    assert [hunk.first for hunk in patch.sections[0].hunks] == [1, 4]
    assert not patch.warnings


def test_abort_marker_drops_a_hunk_without_a_body_and_an_empty_section() -> None:
    assert len(parse(HEADER + "delete 1\nreplace 4..4:\n*** Abort\n").sections[0].hunks) == 1
    assert parse(HEADER + "delete 1\n¶b.ts#1111\n*** Abort\n").paths == ("a.ts",)


def test_abort_marker_at_the_start_leaves_no_patch() -> None:
    assert "must begin" in str(refused("*** Abort\n" + HEADER + "delete 1\n"))


@pytest.mark.parametrize(
    "header",
    [
        *("¶a.ts#0A3B", "[a.ts#0A3B]", "¶a.ts#0a3b", "¶ a.ts#0A3B  ", "¶a.ts #0A3B", "# a.ts#0A3B"),
        *("¶*** Update File: a.ts#0A3B", "¶ Add File: a.ts#0A3B ***", "*** Update File: ¶a.ts#0A3B"),
        *("¶¶a.ts#0A3B", "\ufeff¶a.ts#0A3B", "¶a.ts#0A3B\r"),
    ],
)
def test_headers_are_recovered_from_noise(header: str) -> None:
    patch = parse(f"{header}\ndelete 1\n")
    assert [(section.path, section.tag) for section in patch.sections] == [("a.ts", "0A3B")]


def test_path_may_contain_hash_signs_brackets_and_spaces() -> None:
    assert parse("¶my dir/a#b [x].ts#0A3B\ndelete 1\n").paths == ("my dir/a#b [x].ts",)
    assert parse("[app/[id]/page#2.ts#0A3B]\ndelete 1\n").paths == ("app/[id]/page#2.ts",)


def test_crlf_patch_reads_the_same() -> None:
    text = HEADER + "replace 1..1:\n+x\n+\ndelete 3\n"
    assert parse(text.replace("\n", "\r\n")) == parse(text)


def test_patch_may_lack_a_final_newline() -> None:
    assert hunks("insert tail:\n+x") == [("insert tail", 0, 0, ("x",))]


@pytest.mark.parametrize(
    "text", ["", "\n \n", "replace 1..1:\n+x\n", "+x\n", "a.ts\n", "-x", "12", "@@ x @@", "[a.ts]\n"]
)
def test_input_without_a_header_is_refused(text: str) -> None:
    error = refused(text)
    assert '"¶PATH#TAG"' in str(error)
    assert isinstance(error.line, int) or not text.strip()


def test_refusal_quotes_only_part_of_the_input() -> None:
    assert 'got "def main():"' in str(refused("\ndef main():\n"))
    assert len(str(refused("x" * 10_000))) < 400


@pytest.mark.parametrize("header", ["¶a.ts", "¶a.ts#", "¶a.ts#XYZ1", "¶a.ts#0A3", "¶a.ts#0A3B0"])
def test_header_without_a_tag_is_refused(header: str) -> None:
    error = refused(f"{header}\ndelete 1\n")
    assert error.line == 1
    assert "a.ts" in str(error)
    assert "no snapshot tag" in str(error)


def test_missing_tag_in_a_later_section_is_refused_too() -> None:
    assert refused(HEADER + "delete 1\n¶b.ts\ndelete 2\n").line == 3


def test_header_without_a_path_is_refused() -> None:
    assert "no path" in str(refused("¶#0A3B\ndelete 1\n"))


def test_section_without_a_hunk_is_refused() -> None:
    assert refused(HEADER).line == 1
    assert "has no hunk" in str(refused(HEADER + "¶b.ts#1111\ndelete 1\n"))


@pytest.mark.parametrize(
    ("body", "line", "fragments"),
    [
        ("+x\n", 2, ["no hunk header above", "replace N..M:"]),
        ("some text\n", 2, ["no hunk header above", "some text"]),
        ("replace 1..1:\n-old\n+new\n", 3, ["`-` rows are not valid", "`+-…`"]),
        ("delete 1\n- x\n", 3, ["`-` rows are not valid"]),
        ("replace 3..4:\n", 2, ["`replace 3..4:` needs at least one `+TEXT`", "`delete 3..4`"]),
        ("replace 3..4:\n\n\ndelete 9\n", 2, ["needs at least one"]),
        ("insert after 3:\n", 2, ["`insert after` needs at least one `+TEXT`"]),
        ("insert head:\ninsert tail:\n+x\n", 2, ["`insert head` needs at least one"]),
        ("insert after block 3:\n", 2, ["`insert after block` needs at least one"]),
        (
            "replace block 3:\n",
            2,
            ["`replace block 3:` needs at least one", "`delete block 3`", "`delete N..M`"],
        ),
        ("delete 3..4\n+x\n", 3, ["`delete 3..4` does not take body rows", "`replace 3..4:`"]),
        ("delete 3..4\nbare\n", 3, ["does not take body rows"]),
        ("delete block 3\n+x\n", 3, ["`delete block 3` does not take body rows", "`replace block 3:`"]),
        ("delete 3..4:\n", 2, ["takes no colon", "`delete 3..4`"]),
        ("delete block 3:\n", 2, ["takes no colon"]),
        ("replace 5..3:\n+x\n", 2, ["range 5..3 ends before it starts"]),
        ("delete 5..3\n", 2, ["range 5..3 ends before it starts"]),
        ("delete 0\n", 2, ["line 0 does not exist"]),
        ("insert before 0:\n+x\n", 2, ["line 0 does not exist"]),
        ("*** Update File: b.ts\n", 2, ["*** Update File: b.ts", "apply_patch", "¶PATH#TAG"]),
        ("delete 1\n*** Add File: b.ts\n", 3, ["*** Add File: b.ts"]),
        ("delete 1\n*** Delete File: b.ts\n", 3, ["*** Delete File: b.ts"]),
        ("delete 1\n*** Move to: b.ts\n", 3, ["*** Move to: b.ts"]),
        ("delete 1\n*** End of File\n", 3, ["apply_patch"]),
        ("@@ -1,2 +3,4 @@\n+x\n", 2, ["unified-diff", "`@@ -N,M +N,M @@`"]),
        ("@@ -1 +1 @@ def f():\n+x\n", 2, ["unified-diff"]),
        ("@@ def f(): @@\n+x\n", 2, ["@@ def f(): @@", "drop the `@@` brackets", "`replace N..M:`"]),
        ("@@\n", 2, ["drop the `@@` brackets"]),
        ("@@3..4@@\n", 2, ["drop the `@@` brackets"]),
        ("7\n+x\n", 2, ["needs a verb", "`replace 7..7:`", "`delete 7`"]),
        ("7:\n+x\n", 2, ["needs a verb", "`replace 7..7:`"]),
        ("7 9\n+x\n", 2, ['"7 9" needs a verb', "`replace N..M:`", "`delete N..M`"]),
        ("7..9:\n+x\n", 2, ["needs a verb"]),
        ("replace 1..1:\n+x\n7-9\n", 4, ["needs a verb", "`+7-9` if it is text"]),
        ("replace 1..1: x\n", 2, ["is not a hunk header"]),
        ("delete 1\ninsert 5:\n+x\n", 3, ["`insert 5:`"[1:-1], "is not a hunk header", "insert before N:"]),
        ("replace lines 3..4:\n+x\n", 2, ["is not a hunk header"]),
        ("insert before block 3:\n+x\n", 2, ["is not a hunk header"]),
        ("replace 12345678901..12345678902:\n+x\n", 2, ["is not a hunk header"]),
    ],
)
def test_refusal_says_where_and_what_to_write(body: str, line: int, fragments: list[str]) -> None:
    error = refused(HEADER + body)
    assert error.line == line
    assert str(error).startswith(f"line {line}: ")
    assert [fragment for fragment in fragments if fragment not in str(error)] == []


def test_ruby_class_variables_are_not_hunk_headers() -> None:
    assert parse(HEADER + "insert tail:\n@@count = 0\n").sections[0].hunks[0].rows == ("@@count = 0",)


@pytest.mark.parametrize("operation", ["  delete 5", "\tDelete 5", "DELETE 5..5", "    delete 5"])
def test_indented_or_capitalized_operation_was_written_into_the_file(operation: str) -> None:
    expected = [("replace", 1, 1, ("x",)), ("delete", 5, 5, ())]
    assert hunks(f"replace 1..1:\n+x\n{operation}\n") == expected
    error = refused(HEADER + f"replace 1..1:\nbare\n{operation}\n")
    assert error.line == 4 or operation[0] == "D"
    assert operation.strip() in str(error)


@pytest.mark.parametrize(
    "row",
    [
        *("```", "[b.py]", "[b.py#12]", "File: b.py", "## b.py", "### File: src/b.py", "diff --git a/b b/b"),
        *("Now the second file:", "*new", "* 7:new", "**replace 3..4:**", "`delete 5`", "  +y", "*** b.py"),
        *("[Showing lines 4-7 of 7]", "# b.py", "Delete from 5 to 7"),
    ],
)
def test_line_that_is_not_a_row_was_written_into_the_file(row: str) -> None:
    """Fences, prose, marks, and headers without a tag, which put the next file's hunks into this one."""
    error = refused(HEADER + f"replace 1..1:\n+x\n{row}\ndelete 5\n")
    assert error.line == 4
    assert row.strip() in str(error)


@pytest.mark.parametrize("row", ["[b.py]", "File: b.py", "## b.py", "```", "¶b.py", "*7:x", "  Delete 5"])
def test_header_or_operation_among_bare_rows_is_refused(row: str) -> None:
    assert refused(HEADER + f"replace 1..1:\nplain\n{row}\n").line == 4


@pytest.mark.parametrize(
    "row",
    [
        *("b.py", "b.py:", "b.py#1111", "**b.py**", "`src/b.py`", "Index: b.py", "=== b.py ===", "// b.py"),
        *("src/Makefile", "1. replace 3..4:", "2) Delete 5"),
    ],
)
def test_bare_name_of_the_next_file_put_its_hunks_into_this_one(row: str) -> None:
    error = refused(HEADER + f"replace 1..1:\nplain\n{row}\nreplace 3..3:\nthree\n")
    assert error.line == 4 and row in str(error)


@pytest.mark.parametrize(
    "row", ["return x.y", "f(a.py)", "3.14", "a / b", "import os.path", "}", "x.append(1)"]
)
def test_last_bare_row_before_an_operation_is_text_unless_it_is_a_path(row: str) -> None:
    patch = parse(HEADER + f"replace 1..1:\nplain\n{row}\ndelete 5\n")
    assert patch.sections[0].hunks[0].rows == ("plain", row)


def test_row_without_plus_before_rows_with_plus_is_refused() -> None:
    error = refused(HEADER + "replace 1..1:\nplain text\n+x\n")
    assert error.line == 3 and "plain text" in str(error)


def test_second_header_in_the_form_of_a_search_result_opens_a_section() -> None:
    assert parse(HEADER + "delete 1\n# b.ts#1111\ndelete 2\n").paths == ("a.ts", "b.ts")


def test_fence_around_the_whole_patch_is_ignored() -> None:
    patch = parse(f"```\n{HEADER}replace 1..1:\n+x\n```\n")
    assert patch.sections[0].hunks[0].rows == ("x",)
    assert not patch.warnings


def test_single_row_that_begins_with_a_number_lost_it() -> None:
    assert parse(HEADER + "replace 7..7:\n8080:80\n").sections[0].hunks[0].rows == ("8080:80",)
