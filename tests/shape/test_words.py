"""Text that people and models read is plain American English."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import re2

from tests.shape.source_tree import PACKAGE, ROOT, Source, nodes, other_sources, package_sources

# Phrases that a native reader stumbles over, with what to write instead.
CLUMSY = {
    r"go(?:es|ing)? on with": "continue, resume",
    r"(?:is|are|was|were|be|been|gets?) told(?! apart)": "sees, reads, knows; say who tells whom",
    r"tells? (?:of|that|how|what|whether|when|where|which|why|who)\b": "says, shows, reports",
    r"stands? (?:in|for|behind|beside|before|above|below|on|at|there|alone|twice)\b": "is in, represents",
    r"anew": "again",
    r"by itself|by themselves": "automatically, alone",
    r"of its own|of their own|of one's own|of our own": "own, separate",
    r"mend(?:s|ed|ing)?": "fix, repair",
    r"essence": "summary",
    r"in the place of": "instead of, replaces",
    r"kept? (?:nobody|anybody|waiting)": "blocks, waits",
    r"that is to say": "so",
    r"beforehand": "first, in advance",
    r"who(?:ever)? (?:wants|asks|looks|reads|writes|sends|only|has)\b": "callers, users",
    r"set apart": "separate",
    r"taken? (?:back|along)": "undo, carry over",
    r"given? up on": "abandon",
    r"said no|says no to": "declined",
    r"was said (?:so far|before|long ago)": "the conversation",
    r"what (?:was|is) said": "the conversation, the messages",
}
BRITISH = {
    r"\w*colour\w*": "color",
    r"\w*behaviour\w*": "behavior",
    r"\w*(?:summar|normal|neutral|recogn|organ|optim|initial|serial|sanit)is(?:e|ed|es|ing|er)": "-ize",
    r"licence": "license",
    r"catalogue": "catalog",
    r"grey": "gray",
}
# Constructions that only test names are tempted to use.
CLUMSY_NAMES = {
    r"^(?:what|who|whoever|where|of) .*": "name the thing or the actor first",
    r"(?:some|any)body": "someone, the user",
    r"makes? no sense": "invalid",
    r"without words": "empty",
    r"wish(?:es)?": "request",
    r"stands?": "is, stays",
    r"gives? way": "falls back, is replaced",
    r"go(?:es)? on(?! screen)": "continues, resumes",
    r"(?:takes?|taken|brings?|brought|puts?) (?:it |them )?(?:back|again)(?! rows)": "undo, restore",
    r"(?<!there )(?:is|are) no(?! longer| more)": "is not, lacks",
    r"as it (?:is|was|stands)": "unchanged",
    r"(?:is|are) tried again": "is retried",
    r"holds? (?:nobody|nothing) up": "blocks nothing",
}
EXEMPT_FILES = {"CHANGELOG.md"}  # history is not rewritten


def prose_of(text: str) -> Iterator[tuple[int, str]]:
    """Comments and strings of a Python file, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) and " " in token.string:
            yield token.start[0], token.string


def documentation_of(source: Source) -> Iterator[tuple[int, str]]:
    """Comments and docstrings, but not other strings, which are test data."""
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in nodes(source.tree, *kinds):
        if text := ast.get_docstring(node):
            yield node.body[0].lineno, text


# Finds texts that may have a phrase, all phrases at once; look-around, which it lacks, only excludes some.
ANY_PHRASE = re2.compile(rf"(?i)\b(?:{re.sub(r'[(][?]<?!.*?[)]', '', '|'.join(CLUMSY | BRITISH))})\b")


def clumsy_phrases(text: str, phrases: Mapping[str, str] = CLUMSY | BRITISH) -> list[str]:
    return [
        f'"{match[0]}" (write: {better})'
        for phrase, better in phrases.items()
        for match in re.finditer(rf"\b(?:{phrase})\b", text, re.IGNORECASE)
    ]


def pages() -> list[Path]:
    folders = (ROOT, ROOT / "docs", ROOT / "docs" / "tools")
    own = [
        path for folder in folders for path in sorted(folder.glob("*.md")) if path.name not in EXEMPT_FILES
    ]
    return own + sorted(PACKAGE.rglob("*.md"))


@pytest.mark.parametrize(
    ("text", "clumsy"),
    [
        ("Go on with another session", True),
        ("The model is told about it", True),
        ("Drawn anew by itself", True),
        ("The colour", True),
        ("normalise the path", True),
        ("Resume another session", False),
        ("Otherwise raise a precise error", False),
        ("a promise is kept", False),
    ],
)
def test_the_word_list_recognizes_clumsy_phrases(text: str, clumsy: bool) -> None:
    assert bool(clumsy_phrases(text)) is clumsy


def test_source_text_reads_like_plain_english() -> None:
    found = [
        f"{source.where}:{line} {phrase}"
        for source in package_sources()
        if ANY_PHRASE.search(source.text)  # splitting all files into tokens takes ten times as long
        for line, text in prose_of(source.text)
        for phrase in clumsy_phrases(text)
    ]
    assert not found, "\n" + "\n".join(found)


def test_docs_and_prompts_read_like_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{number} {phrase}"
        for path in pages()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for phrase in clumsy_phrases(line)
    ]
    assert not found, "\n" + "\n".join(found)


def words_of(name: str) -> str:
    return name.removeprefix("test_").replace("_", " ")


@pytest.mark.parametrize(
    ("name", "clumsy"),
    [
        ("test_work_goes_on_after_a_failure", True),
        ("test_what_is_open_elsewhere_is_left_alone", True),
        ("test_a_broken_file_is_told", True),
        ("test_text_is_wrapped_anew", True),
        ("test_a_reference_is_no_path", True),
        ("test_nothing_is_sent_while_there_is_no_session", False),
        ("test_broken_header_has_no_size", False),
    ],
)
def test_name_check_recognizes_clumsy_names(name: str, clumsy: bool) -> None:
    assert bool(clumsy_phrases(words_of(name), CLUMSY | BRITISH | CLUMSY_NAMES)) is clumsy


def test_test_names_read_like_plain_english() -> None:
    found = [
        f"{source.at(function)} {function.name}: {phrase}"
        for source in other_sources()
        for function in nodes(source.tree, ast.FunctionDef)
        if function.name.startswith("test_")
        for phrase in clumsy_phrases(words_of(function.name), CLUMSY | BRITISH | CLUMSY_NAMES)
    ]
    assert not found, "\n" + "\n".join(found)


def test_docstrings_and_comments_of_tests_read_like_plain_english() -> None:
    found = [
        f"{source.where}:{line} {phrase}"
        for source in other_sources()
        if source.where.startswith("tests/") and source.path != Path(__file__)
        if ANY_PHRASE.search(source.text)
        for line, text in documentation_of(source)
        for phrase in clumsy_phrases(text)
    ]
    assert not found, "\n" + "\n".join(found)
