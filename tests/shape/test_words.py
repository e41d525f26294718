"""Text that people and models read is plain American English."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.shape.source_tree import PACKAGE, ROOT, package_sources

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
EXEMPT_FILES = {"CHANGELOG.md"}  # history is not rewritten


def prose_of(text: str) -> Iterator[tuple[int, str]]:
    """Comments and strings of a Python file, with their lines."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.COMMENT, tokenize.STRING) and " " in token.string:
            yield token.start[0], token.string


def clumsy_phrases(text: str) -> list[str]:
    return [
        f'"{match[0]}" (write: {better})'
        for phrase, better in (CLUMSY | BRITISH).items()
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
