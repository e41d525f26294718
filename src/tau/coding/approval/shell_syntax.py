"""Reads shell text as simple commands, for deciding whether it may run without a question.

It understands words, quotes, pipes and lists, and nothing else: whatever a shell would expand, substitute,
assign, redirect to a file or run in another way makes it give up. Giving up costs a question, no more.
"""

from collections.abc import Iterator

from msgspec import Struct

MAX_CHARS = 10_000
_SEPARATORS = ("&&", "||", "|", ";")
_GLOBS = "*?["
_DIGITS = tuple("0123456789")
_REDIRECTIONS = (">>", ">&", ">", "<")
_ENDS = ("", " ", ";", "|", "&", "<", ">")
# What begins more than a simple command, or ends it.
_KEYWORDS = frozenset(
    (
        *("if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in"),
        *("function", "select", "time", "coproc", "[[", "repeat", "foreach", "end", "always", "nocorrect"),
        *("noglob", "-", "exec", "builtin"),
    )
)


class ShellWord(Struct, frozen=True):
    """What a program is given, and whether a part of it stood in quotes."""

    text: str
    quoted: bool = False


class _NotSimple(Exception):
    """It is more than simple commands."""


def simple_commands(text: str) -> list[tuple[str, ...]] | None:
    """The words of each command of a list or a pipeline; None for all that is more than that."""
    # A tab, a newline, a control character, or one that looks like a blank and is none.
    if len(text) > MAX_CHARS or not text.isprintable():
        return None
    try:
        return _Reader(text).read()
    except _NotSimple:
        return None


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def read(self) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        while True:
            words = list(self._words())
            separator = next((sign for sign in _SEPARATORS if self._text.startswith(sign, self._at)), "")
            if not words:
                # Only a final semicolon may stand behind nothing.
                if found and not separator and self._text.rstrip().endswith(";"):
                    return found
                raise _NotSimple
            found.append(_checked(words))
            if not separator:
                if self._at < len(self._text):
                    raise _NotSimple
                return found
            self._at += len(separator)
            if self._text.startswith((";", "&", "|"), self._at):
                raise _NotSimple

    def _words(self) -> Iterator[ShellWord]:
        """Up to the end of this command."""
        while True:
            while self._text.startswith(" ", self._at):
                self._at += 1
            if self._peek() in ("", ";", "|", "&"):
                return
            if self._redirected():
                continue
            yield self._word()

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _redirected(self) -> bool:
        """Step over a redirection that can do no harm; give up at any other one."""
        at = self._at
        while self._text[at : at + 1] in _DIGITS:
            at += 1
        number = self._text[self._at : at]
        sign = next((sign for sign in _REDIRECTIONS if self._text.startswith(sign, at)), "")
        if not sign:
            return False
        at += len(sign)
        is_copy = sign == ">&"
        while not is_copy and self._text.startswith(" ", at):
            at += 1
        end = at
        while self._text[end : end + 1] not in _ENDS:
            end += 1
        allowed = ("1", "2") if is_copy else ("/dev/null",)
        is_glued = self._text[end : end + 1] in ("<", ">")
        if number not in ("", "1", "2") or self._text[at:end] not in allowed or is_glued:
            raise _NotSimple
        self._at = end
        return True

    def _word(self) -> ShellWord:
        parts: list[str] = []
        quoted = False
        start = self._at
        while (letter := self._peek()) not in _ENDS:
            self._at += 1
            if letter == "'":
                parts.append(self._until_quote())
                quoted = True
            elif letter == '"':
                parts.append(self._in_double_quotes())
                quoted = True
            elif letter == "\\":
                parts.append(self._escaped())
                quoted = True
            else:
                self._check_bare(letter, "".join(parts), is_first=self._at == start + 1)
                parts.append(letter)
        if self._peek() in ("<", ">"):
            raise _NotSimple  # `2>`, where a number is glued to a word
        return ShellWord("".join(parts), quoted)

    def _check_bare(self, letter: str, before: str, *, is_first: bool) -> None:
        """Give up at a letter that means something to a shell where it stands."""
        if letter in "$`(){}!#" or (is_first and letter in "=^"):
            raise _NotSimple
        if letter in _GLOBS and (before in ("", "~") or before.startswith("-")):
            # Files whose names begin with a dash would become options.
            raise _NotSimple

    def _until_quote(self) -> str:
        end = self._text.find("'", self._at)
        if end < 0:
            raise _NotSimple
        inside, self._at = self._text[self._at : end], end + 1
        return inside

    def _in_double_quotes(self) -> str:
        parts: list[str] = []
        while (letter := self._peek()) != '"':
            self._at += 1
            if letter in ("", "$", "`", "!"):
                raise _NotSimple
            if letter == "\\" and self._peek() in ("$", "`", '"', "\\"):
                letter = self._escaped()
            parts.append(letter)
        self._at += 1
        return "".join(parts)

    def _escaped(self) -> str:
        letter = self._peek()
        if not letter:
            raise _NotSimple
        self._at += 1
        return letter


def _checked(words: list[ShellWord]) -> tuple[str, ...]:
    """The words, if the first is the name of a program as it stands."""
    first = words[0]
    if not first.text or first.quoted or "=" in first.text or first.text in _KEYWORDS:
        raise _NotSimple
    if any(letter in first.text for letter in _GLOBS):
        raise _NotSimple
    return tuple(word.text for word in words)
