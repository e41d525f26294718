"""Hunks applied to a text: the worked examples, line endings, and everything that does not fit."""

import pytest

from tau.hashline.errors import ApplyError, NoChangeError
from tau.hashline.parser import parse
from tau.hashline.patch import PreparedFile, prepare, report
from tau.hashline.records import BlockResolver, LineSpan
from tau.hashline.snapshots import SnapshotStore

FILE = 'const X = "a";\nconst Y = X;\n\nconsole.log(X);\nconsole.log(Y);\nexport { X, Y };\n'


def prepared(text: str, body: str, resolver: BlockResolver | None = None) -> PreparedFile:
    store = SnapshotStore()
    patch = parse(f"¶a.ts#{store.record('a.ts', text)}\n{body}")
    return prepare(patch, {"a.ts": text}.get, store, resolver)[0]


def edited(text: str, body: str, resolver: BlockResolver | None = None) -> str:
    return prepared(text, body, resolver).new_text


def refused(text: str, body: str, resolver: BlockResolver | None = None) -> ApplyError:
    with pytest.raises(ApplyError) as caught:
        edited(text, body, resolver)
    return caught.value


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            'replace 1..1:\n+const X = "b";\n+export const Y = X;\n',
            FILE.replace('const X = "a";\n', 'const X = "b";\nexport const Y = X;\n'),
        ),
        (
            "insert after 5:\n+console.log(X + Y);\n",
            FILE.replace("console.log(Y);\n", "console.log(Y);\nconsole.log(X + Y);\n"),
        ),
        (
            "insert before 5:\n+console.log(X + Y);\n",
            FILE.replace("console.log(Y);\n", "console.log(X + Y);\nconsole.log(Y);\n"),
        ),
        ("delete 4..5\n", FILE.replace("console.log(X);\nconsole.log(Y);\n", "")),
        ("insert head:\n+// header\ninsert tail:\n+// trailer\n", f"// header\n{FILE}// trailer\n"),
    ],
)
def test_worked_examples(body: str, expected: str) -> None:
    assert edited(FILE, body) == expected


def test_numbers_refer_to_the_original_whatever_the_order_of_the_hunks() -> None:
    text = "1\n2\n3\n4\n5\n"
    pieces = ["delete 1..2\n", "replace 4:\n+four\n+more\n", "insert after 3:\n+x\n"]
    assert edited(text, "".join(pieces)) == "3\nx\nfour\nmore\n5\n"
    assert edited(text, "".join(reversed(pieces))) == "3\nx\nfour\nmore\n5\n"


def test_insertions_at_one_position_keep_a_fixed_order() -> None:
    body = "insert before 2:\n+before\ninsert after 1:\n+after\ninsert after 1:\n+after again\n"
    assert edited("1\n2\n", body) == "1\nafter\nafter again\nbefore\n2\n"


def test_insertions_next_to_replaced_lines_are_unambiguous() -> None:
    body = "replace 2..3:\n+x\ninsert before 2:\n+b\ninsert after 3:\n+a\n"
    assert edited("1\n2\n3\n4\n", body) == "1\nb\nx\na\n4\n"


@pytest.mark.parametrize(
    ("text", "body", "expected"),
    [
        ("a\r\nb\r\nc\r\n", "replace 2:\n+x\n+y\n", "a\r\nx\r\ny\r\nc\r\n"),
        ("a\rb\rc\r", "replace 2:\n+x\n+y\n", "a\rx\ry\rc\r"),
        ("a\nb\r\nc\n", "replace 2:\n+x\n+y\n", "a\nx\r\ny\r\nc\n"),
        ("a\nb\r\nc\n", "insert after 2:\n+x\n", "a\nb\r\nx\r\nc\n"),
        ("a\r\nb\nc\n", "replace 1..2:\n+new\n+a\n+b\n", "new\r\na\r\nb\nc\n"),
        ("a\nb\rstill b\nc\n", "replace 3:\n+x\n", "a\nb\rstill b\nx\n"),
        ("a\nb", "insert tail:\n+x\n", "a\nb\nx"),
        ("a\r\nb", "insert after 2:\n+x\n+y\n", "a\r\nb\r\nx\r\ny"),
        ("a", "insert tail:\n+x\n", "a\nx"),
        ("a", "insert head:\n+x\n", "x\na"),
        ("a\nb", "replace 2:\n+x\n+y\n", "a\nx\ny"),
        ("a\nb", "replace 2:\n+\n", "a\n\n"),
        ("a\nb", "delete 2\n", "a"),
        ("a\r\nb", "delete 2\n", "a"),
        ("a\n\nb", "delete 3\n", "a\n\n"),
        ("a", "delete 1\n", ""),
        ("a\nb", "delete 2\ninsert tail:\n+x\n", "a\nx"),
        ("a", "delete 1\ninsert tail:\n+x\n", "x"),
        ("a\n", "delete 1\n", ""),
        ("", "insert head:\n+x\n", "x\n"),
        ("", "insert tail:\n+x\n+y\n", "x\ny\n"),
        ("\n", "replace 1:\n+x\n", "x\n"),
        ("a\u2028b\x0cc\nd\n", "delete 2\n", "a\u2028b\x0cc\n"),
    ],
)
def test_new_rows_use_the_line_ending_of_their_neighbors(text: str, body: str, expected: str) -> None:
    assert edited(text, body) == expected


@pytest.mark.parametrize(
    "body", ["delete 7\n", "replace 6..7:\n+x\n", "insert before 7:\n+x\n", "insert after 7:\n+x\n"]
)
def test_missing_line_is_refused(body: str) -> None:
    error = refused(FILE, body)
    assert error.line == 2
    assert "Line 7 does not exist in a.ts (file has 6 lines)" in str(error)


def test_empty_file_has_no_line_1() -> None:
    assert "(file has 0 lines)" in str(refused("", "replace 1:\n+x\n"))


@pytest.mark.parametrize(
    ("body", "line", "anchor", "other"),
    [
        ("replace 2..4:\n+x\ndelete 4..5\n", 4, 4, 2),
        ("delete 4..5\nreplace 2..4:\n+x\n", 3, 4, 2),
        ("delete 2\ndelete 2\n", 3, 2, 2),
        ("replace 1..6:\n+x\ndelete 3\n", 4, 3, 2),
        ("replace 2..4:\n+x\ninsert after 3:\n+y\n", 4, 3, 2),
        ("replace 2..4:\n+x\ninsert before 3:\n+y\n", 4, 3, 2),
        ("insert after 2:\n+y\nreplace 2..4:\n+x\n", 4, 2, 2),
    ],
)
def test_two_hunks_on_one_line_are_refused(body: str, line: int, anchor: int, other: int) -> None:
    error = refused(FILE, body)
    assert error.line == line
    assert f"anchor line {anchor} is already targeted by another hunk on line {other}" in str(error)
    assert "ONE hunk per range" in str(error)


def test_edit_without_effect_is_refused_with_advice() -> None:
    with pytest.raises(NoChangeError, match="change nothing") as caught:
        edited(FILE, "replace 2:\n+const Y = X;\n")
    assert "a.ts" in str(caught.value)
    assert "read the file again" in str(caught.value)


def block_of_two(path: str, text: str, line: int, /) -> LineSpan | None:
    """Every line but the last starts a block of two lines."""
    return LineSpan(line, line + 1)


@pytest.mark.parametrize(
    ("body", "expected", "echo"),
    [
        ("replace block 2:\n+x\n", "1\nx\n4\n", "replace block 2 → resolved lines 2-3 (2 lines)"),
        ("delete block 2\n", "1\n4\n", "delete block 2 → resolved lines 2-3 (2 lines)"),
        (
            "insert after block 2:\n+x\n",
            "1\n2\n3\nx\n4\n",
            "insert after block 2 → resolved lines 2-3 (2 lines)",
        ),
    ],
)
def test_blocks_are_resolved_and_echoed(body: str, expected: str, echo: str) -> None:
    file = prepared("1\n2\n3\n4\n", body, block_of_two)
    assert file.new_text == expected
    assert [str(block) for block in file.blocks] == [echo]
    assert report(file, "1234").split("\n")[:2] == ["¶a.ts#1234", echo]


def test_block_overlaps_like_its_lines() -> None:
    assert "anchor line 3" in str(refused("1\n2\n3\n4\n", "delete block 2\ndelete 3\n", block_of_two))


def test_resolver_gets_the_key_the_text_and_the_line() -> None:
    asked: list[tuple[str, str, int]] = []

    def resolver(path: str, text: str, line: int, /) -> LineSpan | None:
        asked.append((path, text, line))
        return LineSpan(line, line)

    store = SnapshotStore()
    patch = parse(f"¶a.py#{store.record('/repo/a.py', 'x')}\nreplace block 1:\n+y\n")
    prepare(patch, {"/repo/a.py": "x"}.get, store, resolver, lambda path: f"/repo/{path}")
    assert asked == [("/repo/a.py", "x", 1)]


def unresolved(path: str, text: str, line: int, /) -> LineSpan | None:
    return None


def elsewhere(path: str, text: str, line: int, /) -> LineSpan | None:
    return LineSpan(line - 1, line)


def too_long(path: str, text: str, line: int, /) -> LineSpan | None:
    return LineSpan(line, 1000)


@pytest.mark.parametrize("resolver", [unresolved, elsewhere, too_long, None])
@pytest.mark.parametrize(
    ("body", "named", "instead"),
    [
        ("replace block 4:\n+x\n", "`replace block 4:`", "`replace 4..M:`"),
        ("delete block 4\n", "`delete block 4`", "`delete 4..M`"),
        ("insert after block 4:\n+x\n", "`insert after block 4:`", "`insert after M:`"),
    ],
)
def test_missing_block_is_refused_with_its_surroundings(
    resolver: BlockResolver | None, body: str, named: str, instead: str
) -> None:
    error = refused(FILE, body, resolver)
    assert error.line == 2
    assert named in str(error)
    assert instead in str(error)
    rows = str(error).split("\n\n", 1)[1]
    assert rows == " 2:const Y = X;\n 3:\n*4:console.log(X);\n 5:console.log(Y);\n 6:export { X, Y };"
