"""The format of headers and rows, and parsing them back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.format import Header, format_header, format_row, format_rows, parse_header, strip_pasted


def test_header_and_row_format() -> None:
    assert format_header("src/a.py", "0A3B") == "¶src/a.py#0A3B"
    assert format_header("src/a.py", None) == "¶src/a.py"
    assert format_row(41, "def alpha():") == "41:def alpha():"
    assert format_row(5, "x", "*") == "*5:x"
    assert list(format_rows(9, ["a", "", "b"])) == ["9:a", "10:", "11:b"]


@given(
    st.text(
        st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), blacklist_characters="*¶"),
        min_size=1,
    ),
    st.integers(0, 0xFFFF),
)
def test_header_round_trips(path: str, tag: int) -> None:
    assert parse_header(format_header(path, f"{tag:04X}")) == Header(path, f"{tag:04X}")
    assert parse_header(f"[{path}#{tag:04x}]") == Header(path, f"{tag:04X}")


@pytest.mark.parametrize("line", ["", "a.py#0A3B", "[tool.ruff]", "[1, 2, 3]", "[]", "text ¶a#0000"])
def test_other_lines_are_not_headers(line: str) -> None:
    assert parse_header(line) is None


@pytest.mark.parametrize(
    ("pasted", "clean"),
    [
        ("¶a.py#0A3B\n1:def f():\n2:\n3:    pass\n", "def f():\n\n    pass\n"),
        ("[a.py#0A3B]\n7:x\n8:y", "x\ny"),
        ("1:a\n2:b\n3:\n", "a\nb\n\n"),
        ("*4:a\n 5:b\n", "a\nb\n"),
        ("¶a.py#0A3B\nno numbers\n", "no numbers\n"),
        ("¶a.py#0A3B\n1:only\n", "only\n"),
        ("¶a.py#0A3B\n", ""),
    ],
)
def test_rows_pasted_from_a_listing_are_cleaned(pasted: str, clean: str) -> None:
    assert strip_pasted(pasted) == (clean, True)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "a\nb\n",
        "1:one line only\n",
        "1:a\n3:b\n",
        "1:a\nb\n",
        "1:a\n\n2:b\n",
        "[section]\nkey=1\n",
        "¶\n",
        "¶ text\n",
        "2:b\n1:a\n",
    ],
)
def test_text_that_merely_resembles_a_listing_is_content(content: str) -> None:
    assert strip_pasted(content) == (content, False)


@given(st.text())
def test_stripping_never_fails_and_says_whether_it_changed_something(text: str) -> None:
    clean, changed = strip_pasted(text)
    assert changed == (clean != text)


@given(
    st.lists(st.text(st.characters(blacklist_characters="\r\n"), max_size=6), min_size=2),
    st.integers(1, 5000),
)
def test_whole_listing_gives_the_file_back(rows: list[str], first: int) -> None:
    shown = "\n".join([format_header("f", "ABCD"), *format_rows(first, rows)]) + "\n"
    assert strip_pasted(shown) == ("".join(f"{row}\n" for row in rows), True)
