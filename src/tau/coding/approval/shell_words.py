"""Reads the words of shell text from its syntax tree: removes quotes and finds what a shell would expand."""

import os
import re
from collections.abc import Callable, Iterator
from typing import Literal, TypeAlias

from msgspec import Struct

from tau.backends.syntax.trees import Node

Expansion: TypeAlias = Literal[
    "parameter",
    "command",
    "process",
    "arithmetic",
    "array",
    "ansi-c",
    "brace",
    "tilde",
    "history",
    "glob",
    "option-glob",  # one that may match a name that begins with a dash
    "zsh",  # something that only zsh expands
    "found",  # a path below this one, as in `find FOLDER -exec`
]
Span: TypeAlias = tuple[int, int]
MAX_DEPTH = 100
MAX_NODES = 3_000

SUBSTITUTIONS: dict[str, Expansion] = {"command_substitution": "command", "process_substitution": "process"}
EXPANSIONS: dict[str, Expansion] = {
    **SUBSTITUTIONS,
    "simple_expansion": "parameter",
    "expansion": "parameter",
    "arithmetic_expansion": "arithmetic",
    "brace_expression": "brace",
    "array": "array",
}
_BARE = frozenset(("word", "number", "extglob_pattern", "regex", "variable_name", "test_operator"))
WORD_NODES = _BARE | EXPANSIONS.keys() | {"concatenation", "string", "raw_string", "ansi_c_string"}
# SyntaxNodes that consist of parts of words.
_WORDS = frozenset(
    (
        *("command_name", "concatenation", "variable_assignment", "subscript"),
        *("binary_expression", "unary_expression"),
    )
)
METACHARACTERS = " \t\n;|&<>()"
_GLOBS = "*?["
# Expansions that leave one word as it is, or whose result is known.
_LITERAL: frozenset[Expansion] = frozenset(("tilde", "ansi-c", "history", "zsh"))
# What a character may mean to some shell, even where bash takes it literally.
_SIGNS: dict[str, Expansion] = {"{": "brace", "}": "brace", "!": "history", "#": "zsh", "$": "parameter"}
_AFTER_DOLLAR = r"[\w({\[@*#?$!-]"
_HIDDEN_SUBSTITUTION = r"`|\$[({\[]|[<>]\("
_CLOSINGS = {"((": "))", "$((": "))", "$[": "]", "${": "}"}
_ANSI_C = r"\\(?:(?P<letter>[abeEfnrtv\\'\"?])|x(?P<hex>[0-9a-fA-F]{1,2})|(?P<octal>[0-7]{1,3})|.?)"
_ANSI_C_LETTERS = dict(zip("abeEfnrtv", "\a\b\x1b\x1b\f\n\r\t\v", strict=True))


class SyntaxNode(Struct, frozen=True):
    """A node of the tree, with its position, which costs the parser a walk through the text."""

    kind: str
    start: int
    end: int
    is_named: bool
    children: tuple["SyntaxNode", ...]


class ShellWord(Struct, frozen=True):
    """`text` is the word without its quotes. What a shell would expand in it stays as written."""

    text: str
    source: str
    expansions: frozenset[Expansion] = frozenset()


class NotUnderstoodError(Exception):
    """The text is beyond this parser; the message says why."""


class WordReader:
    """`read_substitution` reads the commands inside `$(...)` and the like."""

    def __init__(self, text: str, read_substitution: Callable[[SyntaxNode], None]) -> None:
        self._text = text
        self._read_substitution = read_substitution

    def read(self, parts: list[SyntaxNode]) -> ShellWord:
        """One word from its parts."""
        text = ""
        found: set[Expansion] = set()
        for part in parts:
            kind, start, end = part.kind, part.start, part.end
            source = self._text[start:end]
            require(not source[0].isspace())
            if kind == "raw_string":
                text += source[1:-1]
            elif kind == "string":
                text += self.read_quoted(part, (start + 1, end - 1), found)
            elif kind == "ansi_c_string":
                text += re.sub(_ANSI_C, _ansi_c, source[2:-1])
                found.add("ansi-c")
            elif kind in EXPANSIONS:
                text += source
                self._read_expansion(part, found)
            else:
                require(kind in _BARE or not part.is_named)
                text = self._read_bare(text, (start, end), parts[0].start, found)
        return ShellWord(text, self._text[parts[0].start : parts[-1].end], frozenset(found))

    def _read_bare(self, text: str, span: Span, word_start: int, found: set[Expansion]) -> str:
        """Returns `text`, the beginning of the word, with what follows."""
        at, end = span
        while at < end:
            letter, following = self._text[at], self._text[at + 1 : at + 2]
            if letter == "\\":
                require(at + 1 < end and following != "\n")
                text += following
                at += 2
                continue
            require(letter not in METACHARACTERS + "'\"`")
            require(letter != "$" or not re.match(_AFTER_DOLLAR + "|['\"]", following))
            if letter in _SIGNS:
                found.add(_SIGNS[letter])
            elif letter in "=^" and at == word_start:
                found.add("zsh")
            elif letter == "~" and text[-1:] in ("", "=", ":"):
                found.add("tilde")
            elif letter in _GLOBS:
                found.add("glob")
                if text in ("", "~") or text.startswith("-"):
                    found.add("option-glob")
            text += letter
            at += 1
        return text

    def read_quoted(self, node: SyntaxNode, span: Span, found: set[Expansion]) -> str:
        """What is inside double quotes, or a here-document."""
        text = ""
        at, end = span
        for inner in _inner(node):
            text += self._unescape((at, inner.start), found) + self._text[inner.start : inner.end]
            self._read_expansion(inner, found)
            at = inner.end
        return text + self._unescape((at, end), found)

    def _unescape(self, span: Span, found: set[Expansion]) -> str:
        source = self._text[span[0] : span[1]]
        literal = re.sub(r"\\[$`\"\\\n]", "", source)
        require(not re.search(rf"`|\${_AFTER_DOLLAR}", literal))
        found |= {_SIGNS[sign] for sign in "!$" if sign in literal}
        return re.sub(r"\\(?:([$`\"\\])|\n)", r"\1", source)

    def _read_expansion(self, node: SyntaxNode, found: set[Expansion]) -> None:
        kind = node.kind
        if kind == "string":
            self.read_quoted(node, (node.start + 1, node.end - 1), found)
            return
        found.add(EXPANSIONS[kind])
        if kind in SUBSTITUTIONS:
            self._read_substitution(node)
        else:
            self.check_expression(node)

    def check_expression(self, node: SyntaxNode) -> None:
        """Reads the substitutions inside; the grammar must have found them all."""
        source = self._text[node.start : node.end]
        opening = re.match(r"\s*(\$\(\(|\(\(|\$\[|\$\{|\$|)", source)
        assert opening is not None
        at, rest = node.start + opening.end(), ""
        for inner in _inner(node):
            rest += self._text[at : inner.start] + " "
            self._read_expansion(inner, set())
            at = inner.end
        rest += self._text[at : node.end]
        require(not re.search(_HIDDEN_SUBSTITUTION, rest))
        if opening[1] == "$":
            require(bool(re.fullmatch(r"\w+|[@*#?$!-]", rest)))
        elif opening[1]:
            # Bash may find the end elsewhere.
            require(not re.search(r"[(){}]", rest.removesuffix(_CLOSINGS[opening[1]])))


def known_value(word: ShellWord) -> str | None:
    """The one word that a shell makes of it, or None if that depends on more than the text."""
    text, more = word.text, word.expansions - _LITERAL
    is_literal = text == "[" or (more == {"brace"} and not re.search(r",|\.\.", text))
    if more and not is_literal:
        return None
    if "tilde" not in word.expansions:
        return text
    start = re.match(r"(?:\w+=)?(?=~)", text)
    if start is None or re.match(r"~[-+\d]|.*[:=]~", text[start.end() :]):
        return None
    path = os.path.expanduser(text[start.end() :])  # noqa: PTH111 - keeps a final slash, never raises
    return None if path.startswith("~") else text[: start.end()] + path


def require(is_understood: bool) -> None:
    if not is_understood:
        raise NotUnderstoodError("it has a form that shells read in different ways")


def copy_tree(root: Node) -> SyntaxNode:
    """The tree below a node of the parser. Everything that walks it may rely on its limits."""
    count = 0

    def copy(node: Node, depth: int) -> SyntaxNode:
        nonlocal count
        count += 1
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise NotUnderstoodError("it is nested too deeply" if depth > MAX_DEPTH else "it is too long")
        span = node.range()
        children = tuple([copy(child, depth + 1) for child in node.children()])
        return SyntaxNode(node.kind(), span.start.index, span.end.index, node.is_named(), children)

    return copy(root, 0)


def parts_of(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The parts of words in a node. Those with nothing between them are one word."""
    if node.kind in _WORDS:
        for child in node.children:
            yield from parts_of(child)
    else:
        yield node


def _inner(node: SyntaxNode) -> Iterator[SyntaxNode]:
    """The outermost expansions and strings inside a node."""
    for child in node.children:
        if child.kind in EXPANSIONS or child.kind == "string":
            yield child
        else:
            yield from _inner(child)


def _ansi_c(escape: re.Match[str]) -> str:
    if escape["letter"]:
        return _ANSI_C_LETTERS.get(escape["letter"], escape["letter"])
    code = int(escape["hex"], 16) if escape["hex"] else int(escape["octal"] or "0", 8)
    require(0 < code < 128)  # not a byte, nor one of the rarer escapes
    return chr(code)
