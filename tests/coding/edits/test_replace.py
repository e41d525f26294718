"""The mode `replace`: exact, then approximate, never silently and never at one of several matches."""

import asyncio

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tau.base.errors import ToolError
from tau.coding.edits.change import summary
from tau.coding.edits.fuzzy_match import is_generic, shift, shifted
from tau.coding.edits.replace import Replacement, match, replace_text
from tau.coding.edits.splices import spliced
from tests.coding.context import CallContext


def edited(text: str, old: str, new: str, **more: bool | float) -> tuple[str, str]:
    """The new text and the report."""
    found = match(text, Replacement(old, new, **more), "f")  # type: ignore[arg-type]
    return spliced(text, found.splices), "\n".join(found.notes)


def refused(text: str, old: str, new: str, **more: bool | float) -> str:
    with pytest.raises(ToolError) as raised:
        edited(text, old, new, **more)
    return str(raised.value)


def test_exact_match_has_no_note_about_approximation() -> None:
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
    ],
)
def test_near_match_is_applied_and_announced(text: str, old: str, new: str, expected: str, what: str) -> None:
    result, note = edited(text, old, new)
    assert result == expected
    assert "is approximate: `old_text` differs in" in note
    assert what in note
    assert "was not found" in refused(text, old, new, fuzzy=False)


def test_differences_are_shown() -> None:
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
def test_short_text_must_match_exactly(old: str) -> None:
    assert is_generic(old)
    assert "was not found" in refused(f"\t{old.strip()}\t\n", f" {old.strip()}\n", "y")


def test_long_enough_text_may_match_approximately() -> None:
    assert not is_generic("return compute(1)")
    assert not is_generic("if x:\n    return None\n")


def test_unexplained_indentation_is_refused() -> None:
    text = "if x:\n   first_call(1)\n       second_call(2)\n"
    message = refused(text, "if x:\n    first_call(1)\n    second_call(2)\n", "pass\n")
    assert "Only whitespace differs from lines 1-3" in message


@pytest.mark.parametrize(
    ("there", "quoted"),
    [
        ("total = compute(alpha, 10)", "total = compute(alpha, 11)"),
        ("total = compute(alpha, beta)", "total = compute(alpha, bata)"),
        ("if first_value <= second_value:", "if first_value < second_value:"),
        ("while not finished(everything):", "until not finished(everything):"),
        ("result = left_side + +right_side", "result = left_side ++ right_side"),
        ("value = some_thing(argument)", "value = something(argument)"),
        ("return compute(alpha)  # teh sum", "return compute(alpha)  # the sum"),
        ("return not ready_or_waiting", "return notready_or_waiting"),
    ],
)
def test_quote_with_another_number_name_or_operator_was_applied(there: str, quoted: str) -> None:
    text = f"def f():\n    first_line_of_it(1)\n    {there}\n    last_line_of_it(2)\n"
    old = f"    first_line_of_it(1)\n    {quoted}\n    last_line_of_it(2)\n"
    message = refused(text, old, old.replace("last", "very_last"))
    assert (
        f"Where it quotes `    {quoted}`, the file has `    {there}` (line 3). The nearest lines are:"
        in message
    )
    assert "was not found" in refused(text, f"    {quoted}\n", "    pass\n")


def test_white_space_within_lines_may_differ() -> None:
    text = "call( alpha,beta )\nresult  =  left+right\n"
    result, note = edited(
        text, "call(alpha, beta)\nresult = left + right\n", "call(alpha, beta)\nresult = 1\n"
    )
    assert result == "call( alpha,beta )\nresult = 1\n"
    assert "white space" in note


@pytest.mark.parametrize("space", ["", " "])
def test_one_line_quote_broke_the_indentation_of_the_lines_after_it(space: str) -> None:
    text = f"def f():\n    if x:\n        compute_it(1){space}\n        done()\n"
    expected = "def f():\n    if x:\n        if y:\n            compute_it(1)\n        done()\n"
    result, _ = edited(text, "    compute_it(1)\n", "    if y:\n        compute_it(1)\n")
    assert result == expected
    result, _ = edited(text, f"compute_it(1){space}", "if y:\n            compute_it(1)")
    assert result == expected
    assert "Quote whole lines" in refused(text, f"compute_it(1){space}", "if y:\n    compute_it(1)")


def test_body_of_a_block_landed_beside_its_head() -> None:
    text = "def f(x):\n    if x > 1 and x < 3:\n        done()\n"
    assert "Quote whole lines" in refused(
        text, "if x > 1 and x < 3:", "if x > 1:\n    if x < 3:\n        y()"
    )
    new = "- if x:\n    - item\n"
    assert edited("a:\n    key: 1\n", "key: 1", "key:\n    - item")[0] == "a:\n    key:\n    - item\n", new


def test_spaces_were_put_behind_the_tabs_of_the_file() -> None:
    text = "def f():\n\tif  first_value:\n\t\tdone()\n"
    assert "Only whitespace differs" in refused(text, "if first_value:", "if second_value:\n    x = 1")
    aligned = "\tcompute(first,\n\t        second)\n"
    result, _ = edited(aligned, "compute( first,\n        second)", "compute( first,\n        third)")
    assert result == "\tcompute(first,\n\t        third)\n"


def test_leading_newline_matches_crlf_once() -> None:
    assert edited("a\r\nb\r\n", "\nb", "\nc") == ("a\r\nc\r\n", "")


INDENTS = st.sampled_from(["", "  ", "    ", "\t"])
LINES = st.lists(st.sampled_from(["alpha(1)", "beta(2)", "", "gamma = 3", "delta"]), min_size=3, max_size=8)


@given(LINES, st.integers(0, 7), INDENTS, st.lists(st.sampled_from(["", " ", "\t"]), min_size=8, max_size=8))
def test_unchanged_lines_keep_every_byte(
    body: list[str], changed: int, indent: str, trailing: list[str]
) -> None:
    """The file is the quoted text, indented and with trailing whitespace; one line is replaced."""
    assume(body[0])  # a text that starts with a newline starts on the line above
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
def test_shifted_indentation_matches(body: list[str], more: str) -> None:
    deeper = [more + line if line else line for line in body]
    rule = shift(body, deeper)
    assert rule is not None
    assert shifted(body, rule) == deeper
    back = shift(deeper, body)
    assert back is not None
    assert shifted(deeper, back) == body


def test_file_is_changed_and_the_approximation_reported(ctx: CallContext) -> None:
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
def test_invalid_arguments_are_refused(ctx: CallContext, old: str, new: str, message: str) -> None:
    (ctx.cwd / "a.txt").write_text("one\nn\n")
    with pytest.raises(ToolError, match=message):
        asyncio.run(replace_text(ctx.cwd / "a.txt", Replacement(old, new), ctx))
    assert (ctx.cwd / "a.txt").read_text() == "one\nn\n"


def test_note_names_six_lines_that_differ() -> None:
    for count, more in ((6, ""), (7, "\n[… 1 more lines differ]")):
        text = "".join(f"call_{number}(alpha)  \n" for number in range(count))
        _, note = edited(text, text.replace("  \n", "\n"), "done\n")
        assert note.count("the file has") == 6
        assert note.endswith("'" + more)


def test_quote_of_fewer_than_ten_characters_is_not_matched_approximately() -> None:
    assert is_generic("abc.def(g")
    assert not is_generic("abc.def(gh")
    assert is_generic("ab c.d ef(g")


def test_twenty_places_are_named_and_a_hundred_thousand_are_too_many() -> None:
    assert refused("b\n" * 20, "b", "x").startswith("`old_text` occurs 20 times in f, at lines 1, 2,")
    assert " 19, 20. Quote" in refused("b\n" * 20, "b", "x")
    assert " 19, 20 and 1 more. Quote" in refused("b\n" * 21, "b", "x")
    text, _ = edited("b" * 100_000, "b", "x", replace_all=True)
    assert text == "x" * 100_000
    assert "occurs over 100000 times" in refused("b" * 100_001, "b", "x", replace_all=True)
