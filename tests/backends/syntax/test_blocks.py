"""The block starting on a line, in every language; and never a wrong one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.backends.syntax.blocks import resolve_block
from tau.backends.syntax.trees import NodeSpan
from tests.backends.syntax.samples import SAMPLES, Sample


def spans(name: str, text: str) -> dict[int, int | None]:
    found: dict[int, int | None] = {}
    for line in range(1, text.count("\n") + 3):
        span = resolve_block(name, text, line)
        assert span is None or span.first == line
        found[line] = None if span is None else span.last
    return found


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_block_spans_from_its_first_line_to_the_closing_one(sample: Sample) -> None:
    found = spans(sample.name, sample.text)
    assert {line: found[line] for line in sample.blocks} == sample.blocks


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.name)
def test_line_endings_do_not_matter(sample: Sample) -> None:
    expected = spans(sample.name, sample.text)
    assert spans(sample.name, sample.text.replace("\n", "\r\n")) == expected


def test_file_with_bare_carriage_returns_has_lines_too() -> None:
    assert resolve_block("a.py", "x = 1\rdef f():\r    y\r    z\rw\r", 2) == NodeSpan(2, 4)


def test_multibyte_characters_do_not_shift_the_lines() -> None:
    text = "é = 'ü𝄞👩‍👩‍👧'\n# ñ\ndef 名(ß):\n\t'…'\n\treturn '𝄞'\n\nä = 1\n"
    assert spans("a.py", text) == {1: 1, 2: 2, 3: 5, 4: 4, 5: 5, 6: None, 7: 7, 8: None, 9: None}


@pytest.mark.parametrize("line", [-1, 0, 4, 100])
def test_missing_line_has_no_block(line: int) -> None:
    assert resolve_block("a.py", "def f():\n    x\n    y\n", line) is None


def test_unknown_language_has_no_blocks() -> None:
    assert resolve_block("a.txt", "def f():\n    x\n", 1) is None


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.py", "def f():\n    x = (1\n    y\n", 1),
        ("a.py", "def f(:\n    y\n", 1),
        ("a.js", "function f() {\n  x(;\n}\n", 1),
        ("a.js", "function f() {\n  x();\n", 1),
        ("a.c", "int f() {\n  x();\n", 1),
        ("a.java", "class A {\n  void f() {\n}\n", 1),
        ("a.go", "package a\nfunc f() {\n", 2),
        ("a.rs", "fn f() {\n  let x = ;\n}\n", 1),
        ("a.rs", "fn f() {\n  let x = ;\n}\n", 2),
        ("a.json", '{\n  "a": ,\n}\n', 1),
        ("a.html", "<div>\n<p>\n", 1),
    ],
)
def test_block_with_a_syntax_error_is_refused(name: str, text: str, line: int) -> None:
    assert resolve_block(name, text, line) is None


def test_error_elsewhere_does_not_matter() -> None:
    text = "def f():\n    x\n    y\n\ndef g(:\n    z\n"
    assert resolve_block("a.py", text, 1) == NodeSpan(1, 3)


def test_block_whose_last_line_contains_more_code_is_refused() -> None:
    assert resolve_block("a.js", "function a() {\n} function b() {\n}\n", 1) is None
    assert resolve_block("a.js", "foo(\n  () => {\n    x();\n  }, 5)\n", 2) is None
    assert resolve_block("a.py", "x = f([\n    g(\n        1), 2])\n", 2) is None


def test_separators_and_comments_may_follow_a_block() -> None:
    assert resolve_block("a.js", "x = {\n  a: {\n    b: 1\n  }, // why\n}\n", 2) == NodeSpan(2, 4)
    assert resolve_block("a.py", "x = [\n    (\n        1,\n    ),  # why\n]\n", 2) == NodeSpan(2, 4)


def test_part_of_a_declaration_is_not_a_block() -> None:
    assert resolve_block("a.go", "package a\nfunc f(\n\tx int) int {\n\treturn x\n}\n", 3) is None
    assert resolve_block("a.c", "static\nint f(void)\n{\n}\n", 1) == NodeSpan(1, 4)
    assert resolve_block("a.c", "static\nint f(void)\n{\n}\n", 2) is None


def test_closing_line_is_part_of_a_block() -> None:
    text = "const a = useMemo(\n  () => ({\n    b,\n  }),\n  [b],\n);\nif (a) {\n  b();\n}\n"
    assert resolve_block("a.ts", text, 1) == NodeSpan(1, 6)
    assert resolve_block("a.ts", text, 2) == NodeSpan(2, 4)
    assert resolve_block("a.ts", text, 7) == NodeSpan(7, 9)


NAMES = [sample.name for sample in SAMPLES]
WORDS = """def f(): | { | } | ( | ) | [ | ] | if x | else | end | do | x = 1 | ; | " | ' | /* | */ | # | <a> |
</a> | - | : | é𝄞 | \\ | \0 | <<~E | E | ` | @a | class A | fn f() | $"""
PIECES = st.sampled_from([word.strip() for word in WORDS.split("|")])
CODE = st.lists(
    st.tuples(st.sampled_from(["", " ", "    ", "\t"]), PIECES, st.sampled_from(["", "\n", "\r\n"]))
)


@given(
    st.sampled_from(NAMES),
    st.one_of(st.text(max_size=200), CODE.map(lambda rows: "".join(map("".join, rows)))),
)
def test_blocks_of_any_text_lie_in_it_and_nest(name: str, text: str) -> None:
    total = text.count("\n" if "\n" in text else "\r") + 1
    found = [span for line in range(total + 2) if (span := resolve_block(name, text, line)) is not None]
    assert all(1 <= span.first <= span.last <= total for span in found)
    open_ends: list[int] = []
    for span in found:  # ordered by first line
        while open_ends and open_ends[-1] < span.first:
            open_ends.pop()
        assert not open_ends or span.last <= open_ends[-1]
        open_ends.append(span.last)


@given(st.sampled_from(SAMPLES), st.data())
def test_sample_with_a_piece_cut_out_never_has_a_block_outside_the_file(
    sample: Sample, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(sample.text)))
    end = data.draw(st.integers(start, min(start + 10, len(sample.text))))
    text = sample.text[:start] + sample.text[end:]
    total = text.count("\n") + 1
    for line in range(1, total + 1):
        span = resolve_block(sample.name, text, line)
        assert span is None or line == span.first <= span.last <= total
