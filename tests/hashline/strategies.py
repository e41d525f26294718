"""Random files and random patches for them."""

from hypothesis import strategies as st

from tau.hashline.format import format_header
from tau.hashline.records import Hunk, Section
from tests.hashline.model import read_lines

ENDS = ("\n", "\r\n", "\r")
ROWS = st.one_of(
    st.sampled_from(
        ["", "a", "b", "  indented", "+plus", "-minus", "12", "delete 1", "¶x#0000", "é…\u2028", "tab\t"]
    ),
    st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=("Cs",)), max_size=8),
)


@st.composite
def texts(draw: st.DrawFn, rows: st.SearchStrategy[str] = ROWS, max_lines: int = 12) -> str:
    """All styles of line endings, also mixed, with and without a final one; a bare CR may be content."""
    style = draw(st.sampled_from([("\n",), ("\r\n",), ("\r",), ("\n", "\r\n"), ENDS]))
    body = draw(st.lists(rows, max_size=max_lines))
    text = "".join(row + draw(st.sampled_from(style)) for row in body)
    return text + draw(st.sampled_from(["", "", "open end"]))


@st.composite
def hunk_lists(draw: st.DrawFn, count: int, *, rows: st.SearchStrategy[str] = ROWS) -> list[Hunk]:
    """Hunks for a text of `count` lines that do not overlap, in any order."""
    bodies = st.lists(rows, min_size=1, max_size=4).map(tuple)
    hunks: list[Hunk] = []
    taken: set[int] = set()
    inner: set[int] = set()  # gaps inside a range
    number = 1
    while number <= count:
        number += draw(st.integers(0, 4))
        last = min(number + draw(st.integers(0, 3)), count)
        if number > count or last < number:
            break
        delete = draw(st.booleans())
        hunks.append(Hunk("delete" if delete else "replace", number, last, () if delete else draw(bodies), 0))
        taken |= set(range(number, last + 1))
        inner |= set(range(number + 1, last + 1))
        number = last + 1
        if draw(st.booleans()):
            break
    for _ in range(draw(st.integers(0 if hunks else 1, 3))):
        kind = draw(st.sampled_from(["insert head", "insert tail", "insert before", "insert after"]))
        anchor = draw(st.integers(1, count)) if count and kind in ("insert before", "insert after") else 0
        if anchor == 0:
            kind = kind if kind in ("insert head", "insert tail") else "insert tail"
        if anchor + (kind == "insert after") in inner:
            kind, anchor = "insert head", 0
        hunks.append(Hunk(kind, anchor, anchor, draw(bodies), 0))
    return draw(st.permutations(hunks))


@st.composite
def files_and_hunks(draw: st.DrawFn) -> tuple[str, list[Hunk]]:
    text = draw(texts())
    return text, draw(hunk_lists(len(read_lines(text))))


def written(hunk: Hunk) -> str:
    """A hunk in its strict form."""
    colon = "" if hunk.kind.startswith("delete") else ":"
    return f"{hunk.header}{colon}\n" + "".join(f"+{row}\n" for row in hunk.rows)


def written_patch(*sections: Section) -> str:
    return "".join(
        format_header(section.path, section.tag) + "\n" + "".join(map(written, section.hunks))
        for section in sections
    )


def patch_of(path: str, tag: str | None, hunks: list[Hunk]) -> str:
    assert tag is not None
    return written_patch(Section(path, tag, tuple(hunks), 1))
