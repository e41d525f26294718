"""Patterns as models write them: what is repaired and what is left alone."""

import re

import pytest

from tau.coding.search.fallback_search import NeedsRipgrep, to_python
from tau.coding.search.regex_repair import across_line_ends, is_multiline, lenient


@pytest.mark.parametrize(
    ("pattern", "repaired"),
    [
        ("interface{}", r"interface\{\}"),
        ("${platform}", r"\$\{platform\}"),
        ("a{2,4}b{3}c{1,}", "a{2,4}b{3}c{1,}"),
        ("a{,3}", r"a\{,3\}"),
        ("{2}", r"\{2\}"),
        ("(|{2})", r"(|\{2\})"),
        (r"\{x\}", r"\{x\}"),
        (r"[{}]\p{L}\x{41}", r"[{}]\p{L}\x{41}"),
        ("foo(", r"foo\("),
        ("foo)", r"foo\)"),
        ("a(b)c(", r"a\(b\)c\("),
        (")(", r"\)\("),
        ("(a)(b)", "(a)(b)"),
        (r"\(a", r"\(a"),
        ("[(]a", "[(]a"),
        ("x{ y: (z }", r"x\{ y: \(z \}"),
    ],
)
def test_unambiguous_literal_braces_and_parentheses_are_escaped(pattern: str, repaired: str) -> None:
    assert lenient(pattern) == repaired
    assert lenient(repaired) == repaired


@pytest.mark.parametrize(
    ("pattern", "multiline"), [("a\nb", True), (r"a\nb", True), ("a.b", False), (r"a\sb", False)]
)
def test_only_a_line_break_makes_a_pattern_multiline(pattern: str, multiline: bool) -> None:
    assert is_multiline(pattern) is multiline


def test_line_breaks_match_crlf_too() -> None:
    pattern = across_line_ends("a\\nb\nc[\\n]")
    assert re.fullmatch(pattern, "a\r\nb\nc\n")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        (r"(?P<a>x)(?<b>y)", "xy"),
        (r"a\z", "a"),
        (r"\x{41}\u{42}\u0043", "ABC"),
        (r"[[:alpha:]_]+\d", "ab_1"),
        (r"(?i)ABC", "abc"),
        (r"(?i:A)b", "ab"),
        (r"[|&]a*?", "|"),
        ("$", ""),
    ],
)
def test_common_syntax_is_translated(pattern: str, text: str) -> None:
    assert re.search(to_python(pattern), text)


@pytest.mark.parametrize(
    "pattern", [r"\p{Greek}", "[a&&b]", "[[a]b]", "a++", "x(?i)y", r"\b{start}a", "[[:^alpha:]]", "a{2}{3}"]
)
def test_syntax_python_lacks_needs_ripgrep(pattern: str) -> None:
    with pytest.raises(NeedsRipgrep):
        to_python(pattern)


@pytest.mark.parametrize("pattern", ["(?=a)", "(?<=a)b", r"(a)\1", r"\y", "[a", "(?P=x)", "(?>a)", r"[\b]"])
def test_invalid_in_ripgrep_is_invalid_here(pattern: str) -> None:
    with pytest.raises(re.error):
        re.compile(to_python(pattern))
