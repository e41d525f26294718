"""Parses text: the only module that uses the parser library, loaded on first use."""

import time
from typing import TypeAlias

from msgspec import Struct

from tau.backends.syntax.languages import LANGUAGES, MAX_PARSED_CHARS
from tau.base.late import late

ast_grep = late("ast_grep_py")

# Strings because the library is imported late; unions with them must be quoted.
Node: TypeAlias = "ast_grep.SgNode"
NodeRange: TypeAlias = "ast_grep.Range"

MAX_KEPT_CHARS = 256 * 1024
MAX_SECONDS_PER_CHAR = 5e-6  # 40 times what code needs
_PROBES = (32 * 1024, 128 * 1024, 512 * 1024)
# Zero-length nodes that do not mean a missing token.
_EMPTY = {"block_continuation", "heredoc_body", "heredoc_content", "raw_text", "string_content"}


class NodeSpan(Struct, frozen=True):
    """Lines `first` to `last`, inclusive and 1-based."""

    first: int
    last: int


class _ParseCache:
    """Cache of the latest tree: callers often resolve several blocks of one file in a row.

    One value, because files are also parsed on threads.
    """

    latest: "tuple[str, str, Node] | None" = None


def parse(text: str, language: str) -> "Node | None":
    """Return the root node, or None for an unknown language or a text too slow to parse.

    Positions count characters of `text`, lines and columns are 0-based; only `\\n` ends a line, so in a text
    without any, `\\r` does.
    """
    if language not in LANGUAGES or len(text) > MAX_PARSED_CHARS:
        return None
    latest = _ParseCache.latest
    if latest is not None and latest[:2] == (text, language):
        return latest[2]
    source = text.replace("\r", "\n") if "\n" not in text else text
    try:
        if _is_slow(source, language):
            return None
        root = ast_grep.SgRoot(source, language).root()
    except UnicodeEncodeError:  # a lone surrogate
        return None
    if len(text) <= MAX_KEPT_CHARS:
        _ParseCache.latest = (text, language, root)
    return root


def _is_slow(source: str, language: str) -> bool:
    """Whether the parser would need minutes for a long text, judged by its beginning.

    It cannot be interrupted, and text that is not code may take quadratic time.
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
    """Whether a node has a syntax error or a missing token that the parser inserted."""
    if node.kind() == "ERROR" or node.find(kind="ERROR") is not None:
        return True
    return any(
        empty.is_leaf() and empty.kind() not in _EMPTY and empty.parent() is not None
        for empty in node.find_all(regex="^$")
    )
