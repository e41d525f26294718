"""The mode `replace`: exact first, then nearly, never silently and never at one of several places."""

import asyncio

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.edits.change import summary
from tau.coding.edits.fuzzy_match import says_little
from tau.coding.edits.indents import shift, shifted
from tau.coding.edits.replace import Replacement, match, replace_text
from tau.coding.edits.similar import similar_windows
from tau.coding.edits.splices import spliced
from tests.coding.context import CallContext


def edited(text: str, old: str, new: str, **more: bool | float) -> tuple[str, str]:
    """The new text, and what is told."""
    found = match(text, Replacement(old, new, **more), "f")  # type: ignore[arg-type]
    return spliced(text, found.splices), "\n".join(found.notes)


def refused(text: str, old: str, new: str, **more: bool | float) -> str:
    with pytest.raises(ToolError) as raised:
        edited(text, old, new, **more)
    return str(raised.value)


def test_an_exact_match_says_nothing_of_approximation() -> None:
    assert edited("a b c\n", "b", "x") == ("a x c\n", "")
    assert edited("b b\r\n", "b", "x", replace_all=True) == (
        "x x\r\n",
        "`old_text` was replaced in 2 places.",
    )
    assert edited("one\r\ntwo\r\n", "one\ntwo", "1\n2") == ("1\r\n2\r\n", "")


@pytest.mark.parametrize(
    ("text", "old", "new", "expected", "what"),
    [
        (
            "def f():   \n    return compute(1)\nx\n",
            "def f():\n    return compute(1)\n",
            "def f():\n    return compute(2)\n",
            "def f():   \n    return compute(2)\nx\n",
            "trailing whitespace",
        ),
        (
            "call(alpha, beta)\n",
            "call(alpha, beta)   \n",
            "call(beta, alpha)\n",
            "call(beta, alpha)\n",
            "trailing whitespace",
        ),
        (
            "    def f():\n        return compute(1)\n\n    x\n",
            "def f():\n    return compute(1)",
            "def f():\n    if x:\n        return 2\n    return compute(1)",
            "    def f():\n        if x:\n            return 2\n        return compute(1)\n\n    x\n",
            "indentation",
        ),
        (
            "def f():\n    return compute(1)\n",
            "    def f():\n        return compute(1)\n",
            "    def f():\n        return compute(1, 2)\n\n",
            "def f():\n    return compute(1, 2)\n\n",
            "indentation",
        ),
        (
            "\tdef f():\r\n\t\treturn compute(1)\r\n",
            "def f():\n    return compute(1)\n",
            "def f():\n    while True:\n        return compute(1)\n",
            "\tdef f():\r\n\t\twhile True:\r\n\t\t\treturn compute(1)\r\n",
            "indentation",
        ),
        (
            "if x:\n  if y:\n    compute(first)\n",
            "if x:\n    if y:\n        compute(first)\n",
            "if x:\n    if y:\n        compute(first)\n    compute(second)\n",
            "if x:\n  if y:\n    compute(first)\n  compute(second)\n",
            "indentation",
        ),
        (
            "print(“hello there”, 1)  # don’t – ever\n",
            'print("hello there", 1)  # don\'t - ever',
            'print("hello there", 2)  # don\'t - ever',
            "print(“hello there”, 2)  # don’t – ever\n",
            "look-alike",
        ),
        (
            "a = some\u00a0thing(1)\nb = 2\n",
            "a = some thing(1)\nb = 2\n",
            "a = some thing(1)\nb = 3\n",
            "a = some\u00a0thing(1)\nb = 3\n",
            "look-alike",
        ),
        (
            "  “first line here”\n  second(1)\n",
            '"first line here"\nsecond(1)\n',
            '"first line here"\nsecond(2)\n',
            "  “first line here”\n  second(2)\n",
            "indentation and look-alike",
        ),
        (
            "one long line\rtwo long line\nthree\n",
            "one long line\ntwo long line\nthree\n",
            "one long line\n2\nthree\n",
            "one long line\r2\nthree\n",
            "line ends",
        ),
        (
            "start\nthe last line",
            "the last line\n",
            "the last line\nand one more\n",
            "start\nthe last line\nand one more",
            "line ends",
        ),
        (
            "total = compute(alpha, beta, gamma, delta)  # teh sum\nnext(1)\n",
            "total = compute(alpha, beta, gamma, delta)  # the sum\nnext(1)\n",
            "total = compute(alpha, beta, gamma, delta)  # the sum\nnext(2)\n",
            "total = compute(alpha, beta, gamma, delta)  # teh sum\nnext(2)\n",
            "some characters",
        ),
    ],
)
def test_a_near_match_changes_what_was_meant_and_is_announced(
    text: str, old: str, new: str, expected: str, what: str
) -> None:
    result, note = edited(text, old, new)
    assert result == expected
    assert "is approximate: `old_text` differs in" in note
    assert what in note
    assert "was not found" in refused(text, old, new, fuzzy=False)


def test_what_differs_is_shown() -> None:
    _, note = edited("    return compute(1)\nx\n", "return compute(1)  \n", "return compute(2)\n")
    assert note == (
        "The match at line 1 is approximate: `old_text` differs in trailing whitespace.\n"
        "1: quoted 'return compute(1)  ', the file has 'return compute(1)'"
    )


def test_several_near_matches_are_refused_with_count_and_lines() -> None:
    text = "if a:\n    call(alpha, beta) \n    return\nif b:\n    call(alpha, beta)  \n    return\n"
    message = refused(text, "    call(alpha, beta)\n    return\n", "y")
    assert "2 places differ only in trailing whitespace, at lines 2, 5." in message
    assert message == refused(text, "    call(alpha, beta)\n    return\n", "y", replace_all=True)
    message = refused(text, "call(alpha, beta)\nreturn\n", "y\n")
    assert "2 places differ only in indentation, at lines 2, 5." in message


@pytest.mark.parametrize("old", ["x = 1", "} else {", "  return None", "return self\n", "else:", "}\n)\n];"])
def test_a_text_that_says_little_is_only_found_exactly(old: str) -> None:
    assert says_little(old)
    assert "was not found" in refused(f"\t{old.strip()}\t\n", f" {old.strip()}\n", "y")


def test_a_text_that_says_enough_may_be_looked_for_loosely() -> None:
    assert not says_little("return compute(1)")
    assert not says_little("if x:\n    return None\n")


def test_indentation_that_no_rule_explains_is_refused() -> None:
    text = "if x:\n   first_call(1)\n       second_call(2)\n"
    message = refused(text, "if x:\n    first_call(1)\n    second_call(2)\n", "pass\n")
    assert "Only whitespace differs from lines 1-3" in message


def test_similar_lines_need_a_clear_distance_to_the_next_best() -> None:
    lines = ["handler_one = register(alpha, beta, gamma)", "handler_two = register(alpha, beta, gamma)"]
    assert similar_windows(lines, ["handler_ome = register(alpha, beta, gamma)"], 0.9) is None
    far = [lines[0], "entirely different text stands here"]
    found = similar_windows(far, ["handler_ome = register(alpha, beta, gamma)"], 0.9)
    assert found is not None
    assert found.at == 0
    assert similar_windows(far, ["handler_ome = register(alpha, beta, gamma)"], 0.99) is None


def test_the_search_for_similar_lines_is_bounded() -> None:
    lines = [f"value_{number:06} = compute({number * 7:06})" for number in range(60_000)]
    assert similar_windows(lines, ["value_12345x = compute(1234567)"] * 3, 0.95) is None
    assert similar_windows(["x" * 100_000] * 10, ["x" * 99_999 + "y"], 0.95) is None


def test_a_newline_before_the_text_counts_once_in_a_file_with_two_characters_for_it() -> None:
    assert edited("a\r\nb\r\n", "\nb", "\nc") == ("a\r\nc\r\n", "")


INDENTS = st.sampled_from(["", "  ", "    ", "\t"])
LINES = st.lists(st.sampled_from(["alpha(1)", "beta(2)", "", "gamma = 3", "delta"]), min_size=3, max_size=8)


@given(LINES, st.integers(0, 7), INDENTS, st.lists(st.sampled_from(["", " ", "\t"]), min_size=8, max_size=8))
def test_lines_that_are_not_changed_keep_every_byte(
    body: list[str], changed: int, indent: str, trailing: list[str]
) -> None:
    """The file is the quoted text, indented and with white space behind its lines; one line is replaced."""
    assume(body[0])  # a text that begins with a newline begins in the line above
    changed %= len(body)
    file_lines = [
        (indent + line if line else "") + space for line, space in zip(body, trailing, strict=False)
    ]
    text = "def start_of_file():\n" + "\n".join(file_lines) + "\nend_of_file()\n"
    new = [*body[:changed], "changed(9)", *body[changed + 1 :]]
    try:
        result, _ = edited(text, "\n".join(body) + "\n", "\n".join(new) + "\n")
    except ToolError:
        return
    lines = result.split("\n")
    assert lines[0] == "def start_of_file():"
    assert lines[-2:] == ["end_of_file()", ""]
    kept = [*file_lines[:changed], None, *file_lines[changed + 1 :]]
    assert [line for line in lines[1:-2] if line.strip() != "changed(9)"] == [
        line for line in kept if line is not None
    ]
    assert sum(line.strip() == "changed(9)" for line in lines) == 1


@given(LINES, INDENTS)
def test_a_shift_of_the_indentation_is_found_again(body: list[str], more: str) -> None:
    deeper = [more + line if line else line for line in body]
    rule = shift(body, deeper)
    assert rule is not None
    assert shifted(body, rule) == deeper
    back = shift(deeper, body)
    assert back is not None
    assert shifted(deeper, back) == body


def test_a_file_is_changed_and_the_approximation_told(ctx: CallContext) -> None:
    path = ctx.cwd / "a.py"
    path.write_bytes(b"\xef\xbb\xbfdef f():\r\n    return compute(1) \r\n")
    written = asyncio.run(replace_text(path, Replacement("return compute(1)\n", "return compute(2)\n"), ctx))
    assert path.read_bytes() == b"\xef\xbb\xbfdef f():\r\n    return compute(2)\r\n"
    assert summary(written.change).startswith(
        "Edited a.py (+1 -1 lines, first at line 2).\nThe match at line 2 is approximate: "
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("", "x", "`old_text` is empty"),
        ("one", "one", "are the same"),
        ("one\n", "one\r\n", "differ only in line endings"),
        ("o", "\ud800", "cannot encode"),
        ("n", "x", "occurs 2 times in a.txt, at lines 1, 2"),
    ],
)
def test_what_makes_no_sense_is_refused(ctx: CallContext, old: str, new: str, message: str) -> None:
    (ctx.cwd / "a.txt").write_text("one\nn\n")
    with pytest.raises(ToolError, match=message):
        asyncio.run(replace_text(ctx.cwd / "a.txt", Replacement(old, new), ctx))
    assert (ctx.cwd / "a.txt").read_text() == "one\nn\n"
