"""Splices to try, and a strict `patch` for the diffs made from them."""

from hypothesis import strategies as st

from tau.coding.edits.splices import Splice


@st.composite
def splices_for(draw: st.DrawFn, length: int) -> list[Splice]:
    cuts = sorted(draw(st.lists(st.integers(0, length), max_size=6)))
    pairs = zip(cuts[::2], cuts[1::2], strict=False)
    return [Splice(start, end, draw(st.text(alphabet="xy\n", max_size=5))) for start, end in pairs]


def rebuilt(old: str, diff: str) -> str:
    """Apply the rows of a unified diff to the text, by their own line numbers."""
    source = lines_of(old)
    result: list[str] = []
    at = 0
    rows = diff.split("\n")[2:-1] if diff else []
    index = 0
    counts = [0, 0]
    while index < len(rows):
        row = rows[index]
        unended = index + 1 < len(rows) and rows[index + 1].startswith("\\")
        text = row[1:] + ("" if unended else "\n")
        if row.startswith("@@"):
            assert counts == [0, 0] and not unended
            start, count = map(int, row.split()[1][1:].split(","))
            start -= count > 0
            result += source[at:start]
            at = start
            new_start, new_count = map(int, row.split()[2][1:].split(","))
            assert len(result) == new_start - (new_count > 0)
            counts = [count, new_count]
        elif row.startswith("+"):
            result.append(text)
            counts[1] -= 1
        else:
            assert source[at] == text
            result += [text] if row.startswith(" ") else []
            counts = [counts[0] - 1, counts[1] - row.startswith(" ")]
            at += 1
        index += 2 if unended else 1
    assert counts == [0, 0]
    return "".join([*result, *source[at:]])


def lines_of(text: str) -> list[str]:
    lines = [line + "\n" for line in text.split("\n")]
    lines[-1] = lines[-1][:-1]
    return [line for line in lines if line]
