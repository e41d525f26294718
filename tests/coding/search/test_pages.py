"""A page of matches: rows, headings, and how the space is shared."""

from tau.coding.search.pages import FileHits, render


def hits(name: str, matched: list[int], lines: int, tag: str | None = None, text: str = "line") -> FileHits:
    return FileHits(
        name=name, matched=matched, lines={n: f"{text} {n}" for n in range(1, lines + 1)}, tag=tag
    )


def test_matches_appear_among_context_lines() -> None:
    page = render([hits("a", [3, 9], 20, "1F2A")], before=1, after=2)
    assert page.text == (
        "¶a#1F2A\n 2:line 2\n*3:line 3\n 4:line 4\n 5:line 5\n 8:line 8\n*9:line 9\n 10:line 10\n 11:line 11"
    )
    assert page.display.splitlines()[:3] == ["# a", "  2│line 2", "* 3│line 3"]
    assert page.matches == {"a": 2}


def test_rows_without_a_tag_are_not_editable() -> None:
    files = [hits("a", [1], 1), hits("b", [1], 1)]
    assert render(files, before=1, after=1).text == "# a\n*1|line 1\n\n# b\n*1|line 1"
    assert render(files[:1], before=1, after=1, single=True).text == "*1|line 1"
    assert render([hits("a", [1], 1, "0000")], before=1, after=1, single=True).text == "¶a#0000\n*1:line 1"


def test_no_file_crowds_out_the_others() -> None:
    files = [hits("hot", list(range(1, 101)), 100), hits("mild", [1, 2], 2), hits("cold", [1], 1)]
    page = render(files, before=0, after=0, max_bytes=120)
    assert set(page.matches) == {"hot", "mild", "cold"}
    assert page.matches["mild"] == 2
    assert 2 <= page.matches["hot"] < 20
    assert len(page.text) <= 120
    assert list(page.matches) == ["hot", "mild", "cold"]


def test_first_match_is_shown_however_long_it_is() -> None:
    page = render([hits("a", [1], 1, text="x" * 600)], before=0, after=0, max_bytes=100)
    assert page.text == f"# a\n*1|{'x' * 512}…"
    assert page.cut_lines
