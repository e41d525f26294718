"""The text of one streaming answer, block by block, as rules see it."""

import asyncio
import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from tau.ai import dialect as d
from tau.ai.assembler import partial_arguments
from tau.base.late import late
from tau.coding.rules.rule import RuleFile, Source

patterns = late("tau.coding.rules.patterns")
written = late("tau.coding.rules.written_files")

_ESCAPE = r'\\(?:u([0-9a-fA-F]{4})|([bfnrt"\\/]))'
_OPEN_ESCAPE = r"(?<!\\)(?:\\\\)*(\\(?:u[0-9a-fA-F]{0,3})?)$"
MAX_CHARS_ON_LOOP = 32_000  # longer texts are searched in a thread
_CHARACTERS = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class RuleTrigger(Protocol):
    """What decides about matches; `trigger` raises StreamInterrupted."""

    @property
    def compiled(self) -> "patterns.RulePatterns": ...
    def covering(self, source: Source, tool: str = "") -> list[RuleFile]: ...
    async def search(self, texts: Sequence[str], rules: Sequence[RuleFile]) -> list[RuleFile]: ...
    def trigger(self, matched: Sequence[RuleFile], source: Source, call: int = -1) -> None: ...


class _Call(Struct):
    position: int
    tool: str
    window: "patterns.TextWindow | None"  # None: no rule watches this tool
    pieces: list[str] = []  # of the JSON
    size: int = 0  # of the JSON, in characters
    rest: str = ""  # the beginning of an escape
    code: "asyncio.Future[list[RuleFile]] | None" = None  # a search in a thread

    @property
    def json(self) -> str:
        return "".join(self.pieces)

    def complete_lines(self) -> Mapping[str, object]:
        """The arguments up to the last line break in them: nothing in them can still change."""
        head, found, _ = self.json.rpartition("\\n")
        return partial_arguments(head + found)

    def unescape(self, json: str) -> str:
        """Return the text in the next piece of JSON."""
        self.pieces.append(json)
        json = self.rest + json
        self.rest = ""
        if "\\" not in json:
            return json
        if found := re.search(_OPEN_ESCAPE, json):
            self.rest = found[1]
            json = json[: found.start(1)]
        return re.sub(_ESCAPE, _character, json)


class StreamedAnswer:
    """The blocks of one answer while they stream."""

    def __init__(self, rules: RuleTrigger) -> None:
        self._rules = rules
        self._source: Source = "text"
        self._prose: patterns.TextWindow | None = None
        self._covered: list[RuleFile] | None = None  # by the prose that streams
        self._calls: dict[int, _Call] = {}

    async def check(self, delta: d.Delta) -> None:
        match delta:
            case d.CallPiece(key, text):
                self.feed_call(key, text)
            case d.TextPiece(text):
                await self.prose("text", text)
            case d.ThinkingPiece(text):
                await self.prose("thinking", text)
            case d.CallStart(key, _, name):
                await self.end_prose()
                self.start_call(key, name)
            case d.CallEnd(key):
                await self.end_call(key)
            case d.BlockEnd() | d.Done():
                await self.end_prose()

    async def prose(self, source: Source, text: str) -> None:
        if self._covered is not None and source != self._source:
            await self.end_prose()
        if self._covered is None:
            self._source, self._covered = source, self._rules.covering(source)
            if self._covered:
                self._prose = patterns.TextWindow(self._rules.compiled.early(source, ""))
        if self._prose is not None and (hits := self._prose.feed(text)):
            self._rules.trigger([rule for rule in hits if rule.covers_paths(source, "", ())], source)

    async def end_prose(self) -> None:
        window, covered = self._prose, self._covered
        self._prose = self._covered = None
        if window is not None and covered:
            found = await self._rules.search([window.text], covered)
            self._rules.trigger(
                [rule for rule in found if rule.covers_paths(self._source, "", ())], self._source
            )

    def start_call(self, key: int, tool: str) -> None:
        window = None
        if self._rules.covering("tool", tool):
            window = patterns.TextWindow(self._rules.compiled.early("tool", tool))
        self._calls[key] = _Call(len(self._calls), tool, window)

    def feed_call(self, key: int, json: str) -> None:
        """Match the arguments as plain text, whether or not a line break is escaped."""
        call = self._calls.get(key)
        if call is None or call.window is None:
            return
        call.size += len(json)
        if call.size > MAX_CHARS_ON_LOOP:  # checked at the end, in a thread
            call.pieces.append(json)
            return
        if call.window.feed(call.unescape(json)) and "\\n" in json:
            arguments = call.complete_lines()
            hits = call.window.search(written.texts_of(arguments))  # without what the call removes
            self._trigger(call, hits, [file.path for file in written.written_files(arguments)])
        self._check_code(call)

    def _check_code(self, call: _Call) -> None:
        """Search the newest source in a thread, one search at a time."""
        if call.code is not None:
            if not call.code.done():
                return
            found, call.code = call.code.result(), None
            if found:
                self._trigger(call, found, None)
        rules = [rule for rule in self._rules.covering("tool", call.tool) if rule.ast_conditions]
        if rules and "\\n" in call.pieces[-1]:
            arguments = call.complete_lines()
            loop = asyncio.get_running_loop()
            call.code = loop.run_in_executor(None, _search_code, rules, call.tool, arguments)

    async def end_call(self, key: int) -> None:
        """Check the whole call: it may run only after this."""
        call = self._calls.get(key)
        if call is None or call.window is None:
            return
        if call.code is not None:
            await asyncio.wait([call.code])
            call.code = None
        covered = self._rules.covering("tool", call.tool)
        coded = [rule for rule in covered if rule.ast_conditions]
        is_short = call.size <= MAX_CHARS_ON_LOOP
        whole = _read_call(call) if is_short else await asyncio.to_thread(_read_call, call)
        found = await self._rules.search(whole.texts, covered)
        if coded:
            matched = await asyncio.to_thread(_search_code, coded, call.tool, whole.arguments)
            self._trigger(call, matched, None)
        self._trigger(call, found, whole.paths)

    def _trigger(self, call: _Call, rules: Sequence[RuleFile], paths: Sequence[str] | None) -> None:
        """`paths`: the files that the call names; None if each rule was matched against its own."""
        fitting = [rule for rule in rules if paths is None or rule.covers_paths("tool", call.tool, paths)]
        self._rules.trigger(fitting, "tool", call.position)


class _ReadCall(Struct, frozen=True):
    arguments: Mapping[str, Any]
    texts: Sequence[str]
    paths: Sequence[str]


def _read_call(call: _Call) -> _ReadCall:
    """What a complete call writes, and where; may run in a thread."""
    arguments = partial_arguments(call.json)
    paths = [file.path for file in written.written_files(arguments)]
    return _ReadCall(arguments, written.texts_of(arguments), paths)


def _search_code(rules: Sequence[RuleFile], tool: str, arguments: Mapping[str, object]) -> list[RuleFile]:
    found: dict[str, RuleFile] = {}
    for file in written.written_files(arguments):
        fitting = [rule for rule in rules if rule.covers_paths("tool", tool, [file.path])]
        found |= {rule.name: rule for rule in patterns.search_code(fitting, file.path, file.source)}
    return list(found.values())


def _character(escape: re.Match[str]) -> str:
    return chr(int(escape[1], 16)) if escape[1] else _CHARACTERS.get(escape[2], escape[2])
