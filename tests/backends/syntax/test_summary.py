"""Summaries: declarations stay, bodies go, and line numbers match the file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.backends.syntax.languages import MAX_SUMMARY_BYTES, MAX_SUMMARY_LINES
from tau.backends.syntax.summary import CodeSummary, SummaryOptions, render, summarize
from tests.backends.syntax.samples import SAMPLES

EVERYTHING = SummaryOptions(min_total_lines=1, unfold_until=0, unfold_limit=0)


def shown(name: str, text: str, options: SummaryOptions | None = None) -> str:
    summary = summarize(name, text, options)
    assert summary is not None
    check(summary, text)
    return render(summary, text)


def check(summary: CodeSummary, text: str) -> None:
    """The segments cover every line once and in order, and the counts agree with them."""
    assert summary.kept[0].first == 1
    assert summary.kept[-1].last == summary.lines_total
    for one, next_one in zip(summary.kept, summary.kept[1:], strict=False):
        assert next_one.first == one.last + 1
    hidden = [
        (part.first + 1, part.last - 1) if part.kind == "merged" else (part.first, part.last)
        for part in summary.kept
        if part.kind != "lines"
    ]
    assert hidden == summary.elided_spans
    assert summary.elided_lines == sum(last - first + 1 for first, last in hidden) > 0


FUNCTIONS = {
    "a.py": ("def f{n}(a):", "    x{i} = a", ""),
    "a.ts": ("export function f{n}(a: number): number {{", "  x{i}(a);", "}"),
    "a.tsx": ("export const F{n} = (a: P) => {{", "  x{i}(a);", "};"),
    "a.js": ("const f{n} = async function (a) {{", "  x{i}(a);", "};"),
    "a.rs": ("pub fn f{n}(a: i32) -> i32 {{", "    x{i}(a);", "}"),
    "a.go": ("func F{n}(a int) int {{", "\tx{i}(a)", "}"),
    "a.java": ("class A{n} {{ int f{n}(int a) {{", "    x{i}(a);", "  } }"),
    "a.c": ("int f{n}(int a) {{", "  x{i}(a);", "}"),
    "a.cpp": ("int A::f{n}(int a) const {{", "  x{i}(a);", "}"),
    "a.cs": ("class A{n} {{ int F(int a) {{", "    x{i}(a);", "  } }"),
    "a.rb": ("def f{n}(a)", "  x{i}(a)", "end"),
    "a.php": ("function f{n}($a) {{", "  x{i}($a);", "}"),
    "a.sh": ("f{n}() {{", "  echo x{i}", "}"),
    "a.css": (".f{n} {{", "  x{i}: red;", "}"),
    "a.kt": ("fun f{n}(a: Int): Int {{", "  x{i}(a)", "}"),
    "a.swift": ("func f{n}(a: Int) -> Int {{", "  x{i}(a)", "}"),
    "a.lua": ("local function f{n}(a)", "  x{i}(a)", "end"),
    "a.scala": ("def f{n}(a: Int): Int = {{", "  x{i}(a)", "}"),
    "a.ex": ("def f{n}(a) do", "  x{i}(a)", "end"),
    "a.sol": ("function f{n}(uint a) {{", "  x{i}(a);", "}"),
    "a.dart": ("int f{n}(int a) {{", "  x{i}(a);", "}"),
    "a.zig": ("fn f{n}(a: i32) void {{", "  x{i}(a);", "}"),
    "a.tf": ('resource "f{n}" "a" {{', "  x{i} = 1", "}"),
    "a.json": ('"f{n}": {{', '  "x{i}": 1,', '  "last": 1 },'),
    "a.yml": ("f{n}:", "  x{i}: 1", ""),
    "a.html": ("<div id=f{n}>", "  <p>x{i}</p>", "</div>"),
    "a.nix": ("f{n} = {{", "  x{i} = 1;", "};"),
    "a.hs": ("f{n} a = do", "  x{i} a", ""),
}
AROUND = {
    "a.go": ("package a\n", ""),
    "a.php": ("<?php\n", ""),
    "a.json": ("{\n", '"end": 1\n}\n'),
    "a.nix": ("{\n", "}\n"),
}


def program(name: str, functions: int = 12, lines: int = 12) -> str:
    head, row, end = FUNCTIONS[name]
    parts = []
    for n in range(functions):
        rows = [head.format(n=n), *(row.format(i=i) for i in range(lines))]
        parts.append("\n".join([*rows, end] if end else rows) + "\n")
    before, behind = AROUND.get(name, ("", ""))
    return before + "\n".join(parts) + behind


@pytest.mark.parametrize("name", FUNCTIONS)
def test_bodies_are_elided_and_their_first_lines_stay(name: str) -> None:
    text = program(name)
    summary = summarize(name, text, SummaryOptions(unfold_until=0))
    assert summary is not None
    check(summary, text)
    assert len(summary.elided_spans) == 12
    outline = render(summary, text)
    assert all(FUNCTIONS[name][0].format(n=n) in outline for n in range(12))
    assert "x5" not in outline


@pytest.mark.parametrize("name", FUNCTIONS)
def test_line_endings_and_other_alphabets_do_not_matter(name: str) -> None:
    text = program(name)
    plain = summarize(name, text)
    assert plain is not None
    assert summarize(name, text.replace("\n", "\r\n")) == plain
    if name in ("a.py", "a.js", "a.rs", "a.yml"):
        assert summarize(name, text.replace("x5", "é名")) == plain


def test_complete_summary() -> None:
    text = (
        '''"""What this is for.

It is for a test.
It has a long story.
Which goes on.
And ends.
"""

import os

TABLE = {
'''
        + "".join(f"    {n}: 'x',\n" for n in range(20))
        + '''}


# One
# two
# three
# four
# five
# six
class A:
    """A."""

    def short(self):
        return 1

    @property
    def long(self):
        """Say it.

        With more words.
        """
        a = 1
        b = 2
        return [
            a,
            b,
        ]  # so
'''
    )
    assert (
        shown("a.py", text, EVERYTHING)
        == '''1:"""What this is for.
...
7:"""
8:
9:import os
10:
11-32:TABLE = { .. }
33:
34:
35:# One
...
41:class A:
42:    """A."""
43:
44:    def short(self):
45:        return 1
46:
47:    @property
48:    def long(self):
49:        """Say it.
...'''
    )


def test_brace_pairs_become_one_row() -> None:
    body = "".join(f"    a{n}();\n" for n in range(6))
    text = (
        f"class A {{\n  f() {{\n{body}  }}\n  g(x) {{\n{body}  }}\n}}\n"
        f"foo(() => {{\n{body}}});\nfunction h()\n{{\n{body}}}\nif (x) {{\n  y();\n}}\n"
    )
    assert shown("a.js", text, EVERYTHING) == (
        "1:class A {\n2-9:  f() { .. }\n10-17:  g(x) { .. }\n18:}\n19-26:foo(() => { .. });\n"
        "27:function h()\n28-35:{ .. }\n36:if (x) {\n37:  y();\n38:}"
    )


def test_object_with_functions_is_not_elided() -> None:
    rows = "".join(f"  a{n}: {n},\n" for n in range(20))
    body = "".join(f"    b{n}();\n" for n in range(6))
    both = f"export const o = {{\n{rows}  f() {{\n{body}  }},\n}};\nconst p = {{\n{rows}}};\n"
    outline = shown("a.ts", both, EVERYTHING)
    assert "a3: 3" in outline and "22-29:  f() { .. }," in outline and "31-52:const p = { .. };" in outline


def test_long_comments_keep_their_first_words_and_their_end() -> None:
    text = "#!/bin/sh\n# one\n" + "# more\n" * 8 + "x\n" + "y=1\n" * 20
    assert shown("a.sh", text, EVERYTHING).startswith("1:#!/bin/sh\n2:# one\n...\n11:x\n")
    text = "/**\n * one\n" + " * more\n" * 8 + " */\n" + "int y;\n" * 20
    assert shown("a.c", text, EVERYTHING).startswith("1:/**\n2: * one\n...\n11: */\n12:int y;\n")


def test_small_bodies_are_shown_while_there_is_room() -> None:
    big = "\n".join(f"def big{n}(a):\n" + "    x = a\n" * 80 for n in range(3))
    small = "\n".join(f"def small{n}(a):\n" + "    y = a\n" * 5 for n in range(4))
    summary = summarize("a.py", big + small)
    assert summary is not None
    visible = summary.lines_total - summary.elided_lines
    assert 30 <= visible <= 100
    assert [last - first + 1 for first, last in summary.elided_spans] == [80, 80, 80]


def test_unfolding_stops_when_enough_is_shown_and_never_exceeds_the_limit() -> None:
    text = "\n".join(f"def f{n}(a):\n" + "    x = a\n" * (5 + n) for n in range(20))
    for until, limit in ((50, 100), (70, 75), (0, 100), (500, 120)):
        summary = summarize("a.py", text, SummaryOptions(unfold_until=until, unfold_limit=limit))
        assert summary is not None
        visible = summary.lines_total - summary.elided_lines
        closed = summary.lines_total - sum(5 + n for n in range(20))
        assert visible <= max(limit, closed)
        assert visible >= min(until, limit - 25, closed)


def test_file_with_one_big_function_shows_its_parts() -> None:
    inner = "".join(f"  function f{n}() {{\n" + "    x();\n" * 20 + "  }\n" for n in range(30))
    outline = shown("a.js", f"(function () {{\n{inner}}})();\n")
    assert outline.startswith("1:(function () {\n2-23:  function f0() { .. }\n")


def test_function_without_parts_has_no_summary() -> None:
    assert summarize("a.js", "(function () {\n" + "  x();\n" * 300 + "})();\n") is None
    assert summarize("a.json", "[\n" + "  {\n    1,\n    2,\n    3,\n    4\n  },\n" * 300 + "0]\n") is None


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.txt", "x\n" * 200),
        ("a.py", ""),
        ("a.py", "x = 1\n" * 200),
        ("a.py", "def f():\n" + "    x\n" * 90),
        ("a.py", "def f(:\n" + "    ((x\n" * 200),
        ("a.md", "# A\n\n" + "text\n" * 200),
        ("a.py", "def f():\n" + "    x\n" * MAX_SUMMARY_LINES),
        ("a.py", "def f():\n" + ("    '" + "x" * 20_000 + "'\n") * (MAX_SUMMARY_BYTES // 20_000)),
        ("a.py", "def f():\n" + "    x = '\ud800'\n" * 200),
    ],
    ids=[
        "unknown",
        "empty",
        "nothing to leave out",
        "short",
        "broken",
        "prose",
        "lines",
        "bytes",
        "surrogate",
    ],
)
def test_no_summary(name: str, text: str) -> None:
    assert summarize(name, text) is None


def test_prose_is_summarized_on_request() -> None:
    text = "".join(f"# Part {n}\n\n" + "Some words.\n" * 20 + "\n" for n in range(12))
    outline = shown("a.md", text, SummaryOptions(prose=True, unfold_until=0))
    assert outline.count("# Part") == 12 and "Some words" not in outline


def test_broken_function_stays_visible_and_the_others_are_elided() -> None:
    text = program("a.js") + "function broken() {\n  a();\n  b(] @;\n  c();\n  d();\n}\n"
    outline = shown("a.js", text, SummaryOptions(unfold_until=0))
    assert "b(] @;" in outline and "x5(a)" not in outline


@given(
    st.sampled_from([sample.name for sample in SAMPLES]),
    st.one_of(st.text(max_size=300), st.sampled_from(SAMPLES).map(lambda sample: sample.text)),
    st.integers(0, 4),
    st.integers(0, 30),
)
def test_any_text_gives_a_consistent_summary(name: str, text: str, lines: int, until: int) -> None:
    options = SummaryOptions(
        min_total_lines=0, min_body_lines=lines, min_comment_lines=lines, unfold_until=until, prose=True
    )
    summary = summarize(name, text, options)
    if summary is not None:
        check(summary, text)
        assert summary.lines_total <= render(summary, text).count("\n") + 1 + summary.elided_lines * 2
