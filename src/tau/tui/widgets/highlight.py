"""Syntax highlighting with pygments: whole code, or line by line while it streams."""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from msgspec import json

from tau.base.late import late
from tau.tui.style import Theme
from tau.tui.text.clean import clean_row

if TYPE_CHECKING:
    from pygments.lexer import Lexer, RegexLexer
    from pygments.token import _TokenType

lexers = late("pygments.lexers")
lexer_module = late("pygments.lexer")
token_module = late("pygments.token")

_MAX_LINE_CHARS = 1000
"""Longer lines are not highlighted."""
_MAX_CHARS = 100_000
"""Highlighting stops after this much of a block."""
_MAX_WAITING_LINES = 40
"""How many lines to wait for the end of a comment."""
_CACHED_CHARS = 200_000


_Token: TypeAlias = tuple["_TokenType | None", str]


class HighlightSpan(NamedTuple):
    """Part of a line and its theme token."""

    token: str
    text: str


class _State(NamedTuple):
    """The state at the end of a line."""

    stack: tuple[str, ...] = ("root",)
    waiting: tuple[str, ...] = ()
    """Lines of an unfinished comment."""
    closer: str = ""
    """The closer of that comment."""
    chars: int = 0


class Highlighter:
    """Highlights the lines of one code block, each once.

    `feed` returns finished lines: those of an open comment come when it ends. `peek` renders pending lines
    and some more without consuming them.
    """

    def __init__(self, language: str, theme: Theme) -> None:
        self._lexer = _lexer_of(language)
        self._theme = theme
        self._state = _State()

    def feed(self, lines: Sequence[str]) -> list[str]:
        """Add lines; returns those that are final."""
        done, self._state = self._highlight_lines(lines)
        return done

    def flush(self) -> list[str]:
        """Return the pending lines at the end of input."""
        rest = self._waiting(self._state)
        self._state = _State()
        return rest

    def peek(self, lines: Sequence[str]) -> list[str]:
        """Return pending lines, and more, as they look now."""
        done, state = self._highlight_lines(lines)
        return done + self._waiting(state)

    def _highlight_lines(self, lines: Sequence[str]) -> tuple[list[str], _State]:
        state = self._state
        if self._lexer is None:
            return [self._plain(clean_row(line)) for line in lines], state
        done: list[str] = []
        for raw in lines:
            line = clean_row(raw)
            if state.chars > _MAX_CHARS or len(line) > _MAX_LINE_CHARS:
                done += self._waiting(state)
                done.append(self._plain(line))
                state = state._replace(waiting=(), closer="", chars=state.chars + len(line))
                continue
            closer = _open_comment(line, state.closer)
            waiting = (*state.waiting, line)
            chars = state.chars + len(line) + 1
            if closer and len(waiting) < _MAX_WAITING_LINES:
                state = _State(state.stack, waiting, closer, chars)
                continue
            spans, stack = _memory.lexed(self._lexer, waiting, state.stack)
            done += [self._style(line_spans) for line_spans in spans]
            state = _State(stack, chars=chars)
        return done, state

    def _waiting(self, state: _State) -> list[str]:
        if self._lexer is None or not state.waiting:
            return []
        spans, _ = _memory.lexed(self._lexer, (*state.waiting, state.closer), state.stack)
        return [self._style(line_spans) for line_spans in spans[:-1]]

    def _style(self, spans: Sequence[HighlightSpan]) -> str:
        theme = self._theme
        return "".join([theme[span.token](span.text) for span in spans])

    def _plain(self, line: str) -> str:
        return self._theme["codeBlock"](line)


def highlight(code: str, language: str, theme: Theme) -> list[str]:
    """Highlight the lines of code; plain for an unknown language."""
    highlighter = Highlighter(language, theme)
    lines = code.removesuffix("\n").split("\n")
    return [*highlighter.feed(lines), *highlighter.flush()]


@cache
def _comment_opener() -> re.Pattern[str]:
    # Not in the middle of a path or a pattern such as `src/**/*.py`.
    return re.compile(r"(?<![\w\"'*/.])/\*|<!--")


def _open_comment(line: str, closer: str) -> str:
    """Return the closer of the comment open at the end of a line; "" if none."""
    at = 0
    while True:
        if closer:
            end = line.find(closer, at)
            if end < 0:
                return closer
            at, closer = end + len(closer), ""
        match = _comment_opener().search(line, at) if "/*" in line or "<!--" in line else None
        if match is None:
            return ""
        at, closer = match.end(), "*/" if match[0] == "/*" else "-->"


@cache
def _lexer_of(language: str) -> "Lexer | None":
    """Return the lexer of a language, or None. Loads only its own module, and no plugins."""
    name = language.lower()
    name = _table()["aliases"].get(name, name)
    if name not in _known_names():
        return None
    return lexers.get_lexer_by_name(name, stripnl=False, ensurenl=False)


@cache
def _table() -> dict[str, dict[str, str]]:
    path = Path(__file__).with_name("highlight.json")
    return json.decode(path.read_bytes(), type=dict[str, dict[str, str]])


@cache
def _known_names() -> frozenset[str]:
    return frozenset(alias for row in lexers.LEXERS.values() for alias in row[2])


_Lexed = tuple[list[list[HighlightSpan]], tuple[str, ...]]
"""The spans of each line, and the lexer's state after them."""


class _Memory:
    """Caches the last lexed lines: the end of a growing text is requested with each frame."""

    def __init__(self) -> None:
        self._chars = 0
        self._known: dict[tuple[Lexer, tuple[str, ...], tuple[str, ...]], _Lexed] = {}

    def lexed(self, lexer: "Lexer", lines: tuple[str, ...], stack: tuple[str, ...]) -> _Lexed:
        key = (lexer, lines, stack)
        known = self._known.get(key)
        if known is None:
            self._chars += sum([len(line) for line in lines]) + 1
            if self._chars > _CACHED_CHARS:
                self._known.clear()
                self._chars = 0
            known = self._known[key] = _lex(lexer, lines, stack)
        return known


_memory = _Memory()


def _lex(lexer: "Lexer", lines: Sequence[str], stack: tuple[str, ...]) -> _Lexed:
    text = "\n".join(lines) + "\n"
    tokens: list[_Token] = []
    try:
        base = lexer_module.RegexLexer
        if isinstance(lexer, base) and type(lexer).get_tokens_unprocessed is base.get_tokens_unprocessed:
            stack = _run(lexer, text, stack, tokens)
        else:
            tokens += [(kind, value) for _, kind, value in lexer.get_tokens_unprocessed(text)]
    except Exception:  # a lexer failure must not stop a frame
        tokens = [(None, text)]
    rows: list[list[HighlightSpan]] = [[]]
    for kind, value in tokens:
        token = _token_of(kind)
        if "\n" not in value:
            _add(rows[-1], token, value)
            continue
        first, *others = value.split("\n")
        _add(rows[-1], token, first)
        for piece in others:
            rows.append([])
            _add(rows[-1], token, piece)
    rows = rows[: len(lines)]
    rows += [[] for _ in range(len(lines) - len(rows))]
    for row, line in zip(rows, lines, strict=True):
        if "".join([span.text for span in row]) != line:
            row[:] = [HighlightSpan("codeBlock", line)] if line else []
    return rows, stack


def _add(row: list[HighlightSpan], token: str, text: str) -> None:
    if not text:
        return
    if row and (row[-1].token == token or text.isspace()):
        row[-1] = HighlightSpan(row[-1].token, row[-1].text + text)
    else:
        row.append(HighlightSpan(token, text))


def _run(lexer: "RegexLexer", text: str, stack: tuple[str, ...], out: list[_Token]) -> tuple[str, ...]:
    """Run a regex lexer from a state; returns the state at the end of the text."""
    rules = lexer._tokens  # noqa: SLF001  # the library has no public name for it
    states = list(stack)
    token_type = token_module._TokenType  # noqa: SLF001  # nor for their class
    at = 0
    while at < len(text):
        for match_rule, action, new_state in rules[states[-1]]:
            match = match_rule(text, at)
            if match is None:
                continue
            if isinstance(action, token_type):
                out.append((action, match.group()))
            elif action is not None:
                out += [(kind, value) for _, kind, value in action(lexer, match)]
            at = match.end()
            if new_state is not None:
                _change(states, new_state)
            break
        else:
            if text[at] == "\n":
                states = ["root"]
            out.append((None, text[at]))
            at += 1
    return tuple(states)


def _change(states: list[str], new_state: int | str | Sequence[str]) -> None:
    if isinstance(new_state, int):
        del states[max(len(states) + new_state, 1) :]
    elif new_state == "#push":
        states.append(states[-1])
    else:
        for name in new_state:
            if name == "#pop":
                del states[max(len(states) - 1, 1) :]
            else:
                states.append(states[-1] if name == "#push" else name)


_token_names: dict["_TokenType | None", str] = {}


def _token_of(kind: "_TokenType | None") -> str:
    name = _token_names.get(kind)
    if name is None:
        at, names = kind, _table()["tokens"]
        while at and str(at).removeprefix("Token.") not in names:
            at = at.parent
        name = names[str(at).removeprefix("Token.")] if at else "codeBlock"
        _token_names[kind] = name
    return name
