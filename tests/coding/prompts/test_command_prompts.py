"""Placeholders in a command file are filled from the arguments, once, and nothing else changes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.coding.prompts.prompt_template import expand, skill_prompt, split_arguments

PLAIN = st.text(st.characters(exclude_characters="$", exclude_categories=["Cs"]))
WORDS = st.lists(
    st.text(
        st.characters(exclude_characters="\"'\\", exclude_categories=["Cs", "Z", "C"]), min_size=1
    ).filter(lambda word: not any(letter.isspace() for letter in word)),
    max_size=12,
)


@pytest.mark.parametrize(
    ("template", "typed", "expanded"),
    [
        ("Fix $1 in $2.", "bug parser", "Fix bug in parser."),
        ("Fix $1 in $2.", "bug", "Fix bug in ."),
        ("All: $@", "a 'b c' d", "All: a b c d"),
        ("As typed: $ARGUMENTS", "a 'b c'  d ", "As typed: a 'b c'  d"),
        ("From the second: ${@:2}", "a b c", "From the second: b c"),
        ("Two of them: ${@:2:2}", "a b c d", "Two of them: b c"),
        ("Branch ${1:-main}, ${2:-}.", "dev", "Branch dev, ."),
        ("Branch ${1:-the main one}; $${1:-x}", "", "Branch the main one; ${1:-x}"),
        ("From 0: ${@:0}", "a b", "From 0: a b"),
        ("None: [${@:9}][${@:1:0}]", "a b", "None: [][]"),
        ("$1 and $1", "x", "x and x"),
        ("Leave $0, $10, $100, $HOME, ${x}, $ARGUMENTSX and $ alone; $1", "a", None),
        (
            "An escaped $$1, $$@, $$ARGUMENTS and $${@:2}; $1",
            "a",
            "An escaped $1, $@, $ARGUMENTS and ${@:2}; a",
        ),
        ("The shell's own $$ stays; $1", "a", "The shell's own $$ stays; a"),
        ("No place.", "some words", "No place.\n\nsome words"),
        ("No place, $$1 is none.", "some words", "No place, $1 is none.\n\nsome words"),
        ("No place.", "  ", "No place."),
        ("$1", "'$2' x", "$2"),
        ("$@", "$ARGUMENTS ${@:1}", "$ARGUMENTS ${@:1}"),
    ],
)
def test_placeholders_are_filled(template: str, typed: str, expanded: str | None) -> None:
    if expanded is None:
        expanded = template.removesuffix("$1") + "a"
    assert expand(template, typed) == expanded


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("", []),
        ("  a \t b\nc ", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("don't break, won't", ["don't", "break,", "won't"]),
        ("'open quote", ["'open", "quote"]),
        ('say "a \\"b\\" c"', ["say", 'a "b" c']),
        ("'a\\b'", ["a\\b"]),
        ("a\\ b c", ["a b", "c"]),
        ("\\d+ C:\\x", ["\\d+", "C:\\x"]),
        ("'a'b", ["ab"]),
        ("''", [""]),
        ("end\\", ["end\\"]),
    ],
)
def test_arguments_are_split_with_forgiving_quoting(typed: str, words: list[str]) -> None:
    assert split_arguments(typed) == words


@given(PLAIN)
def test_text_without_placeholders_is_unchanged(template: str) -> None:
    assert expand(template, "") == template


@given(st.text(), st.text())
def test_expansion_never_fails(template: str, typed: str) -> None:
    assert isinstance(expand(template, typed), str)


@given(WORDS)
def test_plain_words_survive_splitting(words: list[str]) -> None:
    assert split_arguments(" ".join(words)) == words
    assert expand("$@", " ".join(words)) == " ".join(words)
    for number, word in enumerate(words[:9], start=1):
        assert expand(f"<${number}>", " ".join(words)) == f"<{word}>"


@given(WORDS, st.integers(0, 15), st.integers(0, 15))
def test_slice_selects_part_of_the_arguments(words: list[str], first: int, count: int) -> None:
    begin = max(first - 1, 0)
    assert expand(f"${{@:{first}:{count}}}", " ".join(words)) == " ".join(words[begin : begin + count])
    assert expand(f"${{@:{first}}}", " ".join(words)) == " ".join(words[begin:])


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=6))
def test_quoted_argument_round_trips(arguments: list[str]) -> None:
    quoted = []
    for text in arguments:
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        quoted.append(f'"{escaped}"')
    assert split_arguments(" ".join(quoted)) == arguments


def test_skill_is_sent_with_its_folder_and_the_request() -> None:
    prompt = skill_prompt("pdf", Path("/skills/pdf"), "Read forms.md first.\n", " fill in a.pdf ")
    assert '<skill name="pdf">\nRead forms.md first.\n</skill>' in prompt
    assert "Its files are in /skills/pdf;" in prompt
    assert prompt.endswith("\n\nfill in a.pdf")
    assert skill_prompt("pdf", Path("/s"), "x", "").endswith("Do what it says.")
