"""Hunks of any shape on files of any shape: a clear refusal, or only named lines are lost."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.edits.hunks import HunkRow, PatchHunk
from tau.coding.edits.lines import TextLines
from tau.coding.edits.placement import patched
from tau.coding.edits.replace import Replacement, match
from tau.coding.edits.splices import spliced

WORDS = st.sampled_from(["a", "a ", " a", "b", "", "“c”", '"c"', "d\r", "class K:", "    def f(self):"])
ENDS = st.sampled_from(["\n", "\n", "\r\n", "\r"])
TEXTS = st.lists(st.tuples(WORDS, ENDS), max_size=14).map(lambda rows: "".join(a + b for a, b in rows))
ROWS = st.lists(st.builds(HunkRow, st.sampled_from([" ", "-", "+"]), WORDS), min_size=1, max_size=6)
HUNKS = st.lists(
    st.builds(
        lambda rows, scopes, line, at_end, unended: PatchHunk(
            number=1,
            rows=tuple(rows),
            scopes=tuple(scopes),
            line=line,
            at_end=at_end or unended,
            new_unended=unended,
        ),
        ROWS,
        st.lists(st.sampled_from(["class K:", "def f", "nowhere"]), max_size=2),
        st.none() | st.integers(0, 20),
        st.booleans(),
        st.booleans(),
    ),
    min_size=1,
    max_size=3,
)


def visible_text(line: str) -> str:
    return line.strip("\r ").replace("“", '"').replace("”", '"')


@given(TEXTS, HUNKS)
def test_hunks_remove_only_lines_they_name(text: str, hunks: list[PatchHunk]) -> None:
    try:
        found = patched(text, hunks, "f")
    except ToolError as error:
        assert str(error)
        return
    new = spliced(text, found.splices)
    faithful = any("\r" in row.text for hunk in hunks for row in hunk.rows)
    before = Counter(map(visible_text, TextLines(text, faithful=faithful).bodies))
    after = Counter(map(visible_text, TextLines(new, faithful=faithful).bodies))
    removed = Counter(visible_text(row.text) for hunk in hunks for row in hunk.rows if row.kind == "-")
    added = Counter(visible_text(row.text) for hunk in hunks for row in hunk.rows if row.kind == "+")
    if TextLines(text, faithful=faithful).separator == TextLines(new, faithful=faithful).separator:
        assert not before - removed - after
        assert not after - added - before
    assert all(left.end <= right.start for left, right in zip(found.splices, found.splices[1:], strict=False))


PIECES = st.text(alphabet=st.sampled_from("abc (\"'“’ \t\n\n\r–-"), min_size=10, max_size=60)


@given(PIECES, st.data(), PIECES)
def test_fuzzy_search_raises_only_tool_errors_and_keeps_the_rest(
    text: str, data: st.DataObject, new: str
) -> None:
    """The search text is a piece of the text with its quotes, blanks or line endings spelled differently."""
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    swap = data.draw(st.sampled_from([("“", '"'), ("\t", " "), ("\r", "\n"), ("\n", " \n"), (" \n", "\n")]))
    old = text[start:end].replace(*swap)
    try:
        found = match(text, Replacement(old, new), "f")
    except ToolError as error:
        assert str(error)
        return
    result = spliced(text, found.splices)
    if found.splices:
        head, tail = text[: found.splices[0].start], text[found.splices[-1].end :]
        assert result.startswith(head)
        assert result.endswith(tail)


@pytest.mark.parametrize(
    ("text", "index", "ending"),
    (
        ("a\r\nb\nc\n", 2, "\n"),
        ("a\nb\r\nc\n", 2, "\r\n"),
        ("a\r\nb\n", 0, "\r\n"),
        ("a\r\nb", 2, "\r\n"),
    ),
    ids=("above", "above, CRLF", "below", "two above"),
)
def test_new_line_ends_like_the_line_above_it_else_below(text: str, index: int, ending: str) -> None:
    assert TextLines(text).usual_ending(index) == ending
