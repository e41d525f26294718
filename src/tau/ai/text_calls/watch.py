"""Watches an answer's text as it streams: shows what is text, and keeps back what may be a call.

Calls count only at the end of an answer, outside code, and only if all of them are complete calls of
registered tools; else the text is shown as it is. Whether it is one is checked each time it has doubled.
"""

import re
from collections.abc import Mapping

from tau.ai.dialect import ToolSpec
from tau.ai.text_calls.formats import FORMATS, Item, parse_calls
from tau.ai.text_calls.grammar import CallCursor, Incomplete, NotACall
from tau.ai.text_calls.quotations import is_quoted_line, quotation_after
from tau.base.sizes import MIB

MAX_HELD_CHARS = 4 * MIB
MAX_FALSE_MARKS = 100  # of an answer; the rest of it is text
FIRST_CHECK_CHARS = 64
FENCE_CHARS = 3
MARK_CHARS = max(len(format.mark) for format in FORMATS)
_TOKEN = re.compile(r"[<\[{\n]|`+|~+")
_FENCE_END = re.compile(r"[^\S\n]{0,99}\n")
_MAY_END = re.compile(r"[^\S\n]{0,99}")
_CONTAINERS = re.compile(r"(?:[>*+-]|\d+[.)]|\s)*")  # what quotes and list items begin with
CODE_INDENT = 4
LINE_CHARS = 1_000
QUOTES = "\"'“‘«„"
_INLINE_CODE = re.compile(r"(`+)[^`].*?\1")
_JSON = re.compile(r"\s*[{\[](?!TOOL_CALLS\])")
# Calls begin with one of a few keys, or with a name and a parenthesis.
_KEYS = "name|function|type|id|arguments|parameters"
_JSON_CALL = re.compile(rf"""\s*(?:\[\s*)?\{{\s*(?:"(?:{_KEYS})"|$|"[a-z]*$)|\s*\[\s*(?:$|[\w.-]+(?:$|\())""")


class TextWatch:
    """Feed it text; it returns what to show. `finish` returns the rest and the calls in it."""

    def __init__(self, tools: Mapping[str, ToolSpec]) -> None:
        self._tools = tools
        self._pending = ""  # a few characters that may begin a mark
        self._held: list[str] = []  # from a mark on
        self._held_chars = 0
        self._check_at = 0
        self._is_whole = False  # the held text is the whole answer
        self._false_marks = 0
        self._blank_answer = True  # nothing but blanks so far
        self._blank_line = True
        self._line = ""  # how it begins
        self._last = ""  # the character before
        self._fence = ""  # of the open code block
        self._fence_line = ""  # what its line begins with
        self._code = 0  # backticks that opened code in this line
        self._quotation = ""  # the kind of quotation that is open

    def feed(self, text: str) -> str:
        """The text to show now."""
        if self._held:
            self._held.append(text)
            self._held_chars += len(text)
            if self._held_chars < self._check_at:
                return ""
            return self._check(self._take_held())
        if self._false_marks >= MAX_FALSE_MARKS:
            return text
        if not self._pending and not self._blank_answer and _TOKEN.search(text) is None:
            self._note(text)
            return text
        return self._advance(self._pending + text)

    def finish(self, *, is_complete: bool) -> tuple[str, list[Item], str]:
        """The rest of the text, what it holds, and the tool whose call was cut off.

        Without `is_complete`, the answer was cut off, so nothing in it runs.
        """
        shown, text = self._pending, self._take_held()
        self._pending = ""
        while text:
            cursor = CallCursor(text, self._tools)
            try:
                return shown, parse_calls(cursor, whole=self._is_whole), ""
            except Incomplete:
                is_call = cursor.seen and not is_complete
                return (shown, [], cursor.seen) if is_call else (shown + text, [], "")
            except NotACall:
                pass
            before, mark = self._behind(text)
            shown += text[:1] + before
            text = mark
        return shown, [], ""

    def _behind(self, text: str) -> tuple[str, str]:
        """What follows the first character of a false mark: the text up to the next mark, and the rest."""
        self._false_marks += 1
        self._note(text[:1])
        text = text[1:]
        if self._false_marks >= MAX_FALSE_MARKS:
            return text, ""
        place, is_mark = self._find_mark(text)
        self._is_whole = False
        return (text[:place], text[place:]) if is_mark else (text, "")

    def _take_held(self) -> str:
        text = "".join(self._held)
        self._held, self._held_chars = [], 0
        return text

    def _check(self, held: str) -> str:
        """Hold on to the text if it may be calls, else show it up to the next mark that may be one."""
        shown = ""
        while len(held) > MAX_HELD_CHARS or not self._may_be_calls(held):
            self._false_marks += 1
            self._note(held[:1])
            self._is_whole = False
            shown += held[:1]
            if self._false_marks >= MAX_FALSE_MARKS:
                return shown + held[1:]
            place, is_mark = self._find_mark(held[1:])
            shown += held[1 : 1 + place]
            held = held[1 + place :]
            if not is_mark:
                self._pending = held
                return shown
            if len(held) < FIRST_CHECK_CHARS:
                break
        self._held, self._held_chars = [held], len(held)
        self._check_at = max(2 * len(held), FIRST_CHECK_CHARS)
        return shown

    def _advance(self, text: str) -> str:
        place, is_mark = self._find_mark(text)
        shown, self._pending = text[:place], text[place:]
        if not is_mark:
            return shown
        held, self._pending = self._pending, ""
        self._is_whole = self._blank_answer
        if len(held) >= FIRST_CHECK_CHARS:
            return shown + self._check(held)
        self._held, self._held_chars, self._check_at = [held], len(held), FIRST_CHECK_CHARS
        return shown

    def _may_be_calls(self, held: str) -> bool:
        if self._is_whole and _JSON.match(held) and not _JSON_CALL.match(held):
            return False
        try:
            parse_calls(CallCursor(held, self._tools), whole=self._is_whole)
        except Incomplete:
            return True
        except NotACall:
            return False
        return True

    def _find_mark(self, text: str) -> tuple[int, bool]:
        """Where a mark is, or what may become one with more text. The end of the text if there is none."""
        at = 0
        while (token := _TOKEN.search(text, at)) is not None:
            start, end = token.span()
            self._note(text[at:start])
            at = end
            if token[0] == "\n":
                self._end_line()
                continue
            if token[0][0] in "`~":
                if end == len(text) or (self._fence and _MAY_END.fullmatch(text, end)):
                    return start, False  # there may be more of them, or words that name a language
                self._see_code(token[0], _FENCE_END.match(text, end) is not None)
            elif not (self._fence or self._code):
                is_mark = self._mark_at(text, start)
                if is_mark is not None:
                    return start, is_mark
            self._note(token[0])
        self._note(text[at:])
        return len(text), False

    def _end_line(self) -> None:
        if not self._fence:
            self._quotation = quotation_after(self._quotation, _INLINE_CODE.sub("", self._line))
        self._blank_line, self._line, self._last, self._code = True, "", "", 0

    def _note(self, text: str) -> None:
        if text:
            self._line += text[: LINE_CHARS - len(self._line)]
            self._last = text[-1]
            if not text.isspace():
                self._blank_line = self._blank_answer = False

    def _see_code(self, run: str, ends_line: bool) -> None:
        if self._fence:
            if run.startswith(self._fence) and ends_line and self._may_end_code():
                self._fence = ""
        elif len(run) >= FENCE_CHARS and _CONTAINERS.fullmatch(self._line):
            self._fence, self._fence_line = run, self._line
        elif run[0] == "`":
            self._code = 0 if self._code == len(run) else self._code or len(run)

    def _may_end_code(self) -> bool:
        """Whether this is the place of a fence's end, not a line of the code that looks like one."""
        if ">" in self._fence_line:
            return ">" in self._line and _CONTAINERS.fullmatch(self._line) is not None
        return self._blank_line and _width(self._line) < _width(self._fence_line) + CODE_INDENT

    def _mark_at(self, text: str, start: int) -> bool | None:
        """Whether a mark is at this place; False if it may be once there is more text."""
        if self._blank_answer and text[start] in "{[":
            return True
        rest = text[start : start + MARK_CHARS]
        possible = None
        is_quoted = is_quoted_line(self._line) or (self._last and self._last in QUOTES)
        if quotation_after(self._quotation, self._line):
            return None
        is_indented = not self._blank_answer and _width(self._line) >= CODE_INDENT
        for format in FORMATS:
            if not is_quoted if format.anywhere else self._blank_line and not is_indented:
                if rest.startswith(format.mark):
                    return True
                if format.mark.startswith(rest):
                    possible = False
        return possible


def _width(line: str) -> int:
    return len(line.expandtabs(CODE_INDENT))
