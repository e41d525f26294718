"""The strict grammar shipped for constrained decoding agrees with the parser."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.lark import from_lark
from lark import Lark, UnexpectedInput

from tau.hashline.errors import ParseError
from tau.hashline.parser import parse
from tau.hashline.prompt import grammar_text, prompt_text
from tau.hashline.records import Hunk, Section
from tests.hashline.strategies import hunk_lists, written_patch

BLOCKS = st.lists(
    st.sampled_from(
        [
            Hunk("replace block", 5, 5, ("x", ""), 0),
            Hunk("delete block", 12, 12, (), 0),
            Hunk("insert after block", 7, 7, ("+y",), 0),
        ]
    ),
    max_size=2,
)


@cache
def grammar() -> Lark:
    return Lark(grammar_text(), parser="lalr")


@given(hunk_lists(9), BLOCKS, st.booleans())
def test_strict_output_matches_the_grammar(hunks: list[Hunk], blocks: list[Hunk], envelope: bool) -> None:
    sections = [Section("src/a.py", "0A3B", tuple(hunks), 1), Section("b", "FFFF", (*blocks, *hunks), 1)]
    text = written_patch(*sections)
    text = f"*** Begin Patch\n{text}*** End Patch\n" if envelope else text
    patch = parse(text)
    assert not patch.warnings
    assert grammar().parse(text) is not None


@given(from_lark(Lark(grammar_text(), parser="lalr")))
def test_text_generated_from_the_grammar_is_a_patch(text: str) -> None:
    try:
        patch = parse(text)
    except ParseError as error:
        assert "ends before it starts" in str(error)
        return
    assert patch.sections
    assert not patch.warnings


@pytest.mark.parametrize(
    "text",
    [
        *("", "delete 1\n", "¶a\ndelete 1\n", "¶a#0a3b\ndelete 1\n", "¶a#0A3B\n", "¶a#0A3B\ndelete 1:\n"),
        *("¶a#0A3B\nreplace 1..1:\n", "¶a#0A3B\nreplace 1..1:\nbare\n", "¶a#0A3B\ninsert head\n+x\n"),
        *("¶a#0A3B\nreplace 1-2:\n+x\n", "¶a#0A3B\ndelete 0\n", "¶a#0A3B\ndelete 1\n-x\n"),
    ],
)
def test_grammar_is_strict(text: str) -> None:
    with pytest.raises(UnexpectedInput):
        grammar().parse(text)


def test_prompt_example_matches_the_grammar() -> None:
    prompt = prompt_text()
    example = prompt.rpartition("Example:\n\n")[2] + "\n"
    assert grammar().parse(example) is not None
    assert [hunk.header for hunk in parse(example).sections[0].hunks] == ["replace 4..4", "insert after 1"]


def test_prompt_is_short_and_names_every_operation() -> None:
    prompt = prompt_text()
    assert len(prompt.encode()) < 1600
    for operation in (
        "replace N..M:",
        "delete N..M",
        "insert before N:",
        "insert after N:",
        "insert head:",
        "insert tail:",
    ):
        assert operation in prompt
    for operation in ("replace block N:", "delete block N", "insert after block N:", "¶PATH#TAG", "`+TEXT`"):
        assert operation in prompt
