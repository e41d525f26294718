"""Parsed text: the one door to the parser library, which is loaded when the first text comes."""

import time
from typing import Any, TypeAlias

from msgspec import Struct

from tau.backends.syntax.languages import LANGUAGES, MAX_PARSED_CHARS
from tau.base.late import late

ast_grep = late("ast_grep_py")

Node: TypeAlias = Any  # ast_grep_py.SgNode; the library is imported late, its types with it

MAX_KEPT_CHARS = 256 * 1024
MAX_SECONDS_PER_CHAR = 5e-6  # 40 times what code takes
_PROBES = (32 * 1024, 128 * 1024, 512 * 1024)
# Nodes of zero length that are no sign of a missing token.
_EMPTY = {"block_continuation", "heredoc_body", "heredoc_content", "raw_text", "string_content"}


class NodeSpan(Struct, frozen=True):
    """Lines `first` to `last`, both included and counted from 1."""

    first: int
    last: int


class _Last:
    """The tree of the latest text: several blocks of one file are asked for one after the other."""

    key: tuple[str, str] | None = None
    root: Node = None


def parse(text: str, language: str) -> Node | None:
    """The root of the tree, or None for a language or a text that cannot be parsed in reasonable time.

    Positions in the tree count characters of `text`, lines and columns from 0; only `\\n` ends a line there,
    so where a text has none, its `\\r` do.
    """
    if language not in LANGUAGES or len(text) > MAX_PARSED_CHARS:
        return None
    if _Last.key == (text, language):
        return _Last.root
    source = text.replace("\r", "\n") if "\n" not in text else text
    try:
        if _is_slow(source, language):
            return None
        root = ast_grep.SgRoot(source, language).root()
    except UnicodeEncodeError:  # half a character
        return None
    if len(text) <= MAX_KEPT_CHARS:
        _Last.key, _Last.root = (text, language), root
    return root


def _is_slow(source: str, language: str) -> bool:
    """Whether the beginning of a long text is of the kind on which the parser works for minutes.

    It cannot be interrupted, and what is no code at all may cost it time that grows with the square.
    """
    for size in _PROBES:
        if len(source) < 2 * size:
            break
        started = time.thread_time()
        ast_grep.SgRoot(source[:size], language)
        if time.thread_time() - started > size * MAX_SECONDS_PER_CHAR:
            return True
    return False


def is_broken(node: Node) -> bool:
    """Whether there is a syntax error in a node, or the parser had to make up something that is missing."""
    if node.kind() == "ERROR" or node.find(kind="ERROR") is not None:
        return True
    return any(
        found.is_leaf() and found.kind() not in _EMPTY and found.parent() is not None
        for found in node.find_all(regex="^$")
    )
