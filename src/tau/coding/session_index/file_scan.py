"""Reads one session file for the index: from its beginning, or from the byte where reading stopped before."""

import os
import stat
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import TypeVar, cast
from zlib import crc32

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tau.ai.normalization import clean
from tau.ai.wire import Cost, Usage
from tau.base.clock import from_iso
from tau.base.jsonl import Scan
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.session import entries as s
from tau.coding.session.stats import Tally, decoded
from tau.coding.session_index.records import (
    FileFingerprint,
    ScanProgress,
    ScanResult,
    SearchableText,
    SessionSummary,
)

migration = late("tau.coding.session.storage.migration")

T = TypeVar("T")

TEXT_CHARS = 4_000  # of an entry's words that can be searched
PROMPT_CHARS = 400  # of the first prompt, to show
NAME_CHARS = 400
PLACE_CHARS = 4_096  # of a path or a model's name that somebody has written into a file
MAX_TEXTS = (1 << 20) - 1  # of a session; the index numbers them
_BLOCK_BYTES = 512 * KIB
_LARGEST = 2**63 - 1
_TOOL_RESULT = b'{"role":"toolResult"'

NO_HEADER = "It does not begin with a session header."
NEWER = "It was written by a newer tau."


class _Place(Struct, frozen=True, gc=False, rename="camel"):
    type: str
    id: str = ""
    parent_id: str | None = None  # looked at for its type only, as when a session is opened
    message: Raw = Raw(b"")


class _Words(Struct, frozen=True, gc=False):
    """A part of a message; thinking and calls have no `text`."""

    text: str = ""


class _Said(Struct, frozen=True, gc=False):
    """Of a message, what the index wants to know; the rest is skipped, not built."""

    role: str = ""
    content: str | list[_Words] = ""
    provider: str = ""
    model: str = ""
    usage: Usage | UnsetType = UNSET
    command: str = ""
    code: str = ""


class _Version(Struct, frozen=True):
    version: int = 1


_said_decoder = msgspec.json.Decoder(_Said)
_place_decoder = msgspec.json.Decoder(_Place)
_version_decoder = msgspec.json.Decoder(_Version)


def read_session(path: bytes, known: ScanProgress | None = None) -> ScanResult | None:
    """The session in a file; None if there is no such file, or something else has its name.

    What cannot be read is left out, and `problem` says so. With `known` only what has come since is read,
    provided that nothing else has changed.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        return _unreadable(path, error)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            return None
        signature = signature_of(info)
        part = None if known is None else _grown(fd, known, signature)
        if part is not None and known is not None:
            reading = _Reading(msgspec.structs.replace(known.summary), known.ids())
            reading.entries(part.records())
            found = reading.found(part, signature)
            found.grown = True
            return found
        return _whole(fd, signature)
    except OSError as error:
        return _unreadable(path, error)
    finally:
        os.close(fd)


def signature_of(info: os.stat_result) -> FileFingerprint:
    return FileFingerprint(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)


def _unreadable(path: bytes, error: OSError) -> ScanResult | None:
    try:
        signature = signature_of(os.stat(path))  # noqa: PTH116 - it is bytes
    except OSError:
        return None
    summary = SessionSummary(problem=f"It cannot be read: {error.strerror or error}.")
    return ScanResult(summary=summary, signature=signature, done=-1, checksum=0, ids=[], texts=[])


def _grown(fd: int, known: ScanProgress, signature: FileFingerprint) -> "_Part[_Place] | None":
    """The lines behind what is known, if those before them are the same bytes as then."""
    if known.done <= 0 or signature.inode != known.inode or signature.size < known.done:
        return None
    checksum = at = 0
    while at < known.done and (data := os.pread(fd, min(_BLOCK_BYTES, known.done - at), at)):
        checksum = crc32(data, checksum)
        at += len(data)
    if at != known.done or checksum != known.checksum:
        return None
    return _Part(fd, _place_decoder, at, signature.size, checksum)


def _whole(fd: int, signature: FileFingerprint) -> ScanResult:
    part = _Part(fd, _place_decoder, 0, signature.size)
    records = part.records()
    reading = _Reading(SessionSummary(), set())
    version = reading.header(part, records)
    if version >= s.VERSION or reading.summary.problem:
        reading.entries(records)
        return reading.found(part, signature)
    for _ in records:
        pass  # the checksum and the faults are those of the file
    _read_old(fd, reading, version)
    found = reading.found(part, signature)
    found.done = -1
    return found


def _read_old(fd: int, reading: "_Reading", version: int) -> None:
    """A file of an older version, as it will be when it is opened next."""
    raw: Scan[Raw] = Scan(fd, msgspec.json.Decoder(Raw))
    try:
        lines = migration.migrated([bytes(line) for line, _, _ in raw], version)
    except (ValueError, AttributeError, TypeError):
        reading.summary.problem = NO_HEADER
        return
    for line in lines[1:]:
        try:
            place = _place_decoder.decode(line)
        except ValueError:
            continue
        reading.entries([(place, line)])


class _Part(Scan[T]):
    """The lines between two places of a file. `done` is the end of the last line that has its newline."""

    def __init__(
        self, fd: int, decoder: msgspec.json.Decoder[T], start: int, end: int, checksum: int = 0
    ) -> None:
        super().__init__(fd, decoder, texts=False)
        self.done = start
        self.end = end
        self.checksum = checksum

    def records(self) -> Iterator[tuple[T, bytes]]:
        """Each record with its line."""
        for start, data, cut in self._blocks():
            lines = data[:cut].split(b"\n")
            # One object on each line: anything else is looked at line by line.
            if not lines.pop() and {line[:1] for line in lines} <= {b"{"}:
                try:
                    values = self._decoder.decode_lines(memoryview(data)[:cut])
                except (ValueError, RecursionError):
                    values = []
                if len(values) == len(lines):
                    self._lines += len(values)
                    yield from zip(values, lines, strict=False)
                    continue
            for value, at, size in self._one_by_one(start, data[:cut]):
                yield value, data[at - start : at - start + size]

    def _blocks(self) -> Iterator[tuple[int, bytes, int]]:
        size = _BLOCK_BYTES
        while data := os.pread(self._fd, min(size, self.end - self.done), self.done):
            start = self.done
            cut = data.rfind(b"\n") + 1
            if cut:
                self.checksum = crc32(data if cut == len(data) else memoryview(data)[:cut], self.checksum)
                self.done += cut
                size = _BLOCK_BYTES
            elif start + len(data) < self.end and len(data) == size:
                size *= 2
                continue
            yield start, data, cut or len(data)
            if not cut:
                return


class _Reading:
    """Adds lines to a summary."""

    def __init__(self, summary: SessionSummary, ids: set[str]) -> None:
        self.summary = summary
        self._ids = ids
        self._tally = Tally()
        tokens = summary.input_tokens, summary.output_tokens, summary.cache_read_tokens
        self._tally.add(Usage(*tokens, summary.cache_write_tokens, Cost(total=summary.cost)))
        self._model: str | _Said = summary.model  # the latest, or the answer that names it
        self._new_ids: list[str] = []
        self._texts: list[SearchableText] = []

    def header(self, part: _Part[_Place], records: Iterator[tuple[_Place, bytes]]) -> int:
        """Take the first line for the header, and return its version."""
        summary = self.summary
        first = next(records, None)
        if first is None:
            summary.problem = "It is empty." if part.end == 0 else NO_HEADER
            return s.VERSION
        _, line = first
        try:
            version = _version_decoder.decode(line).version
            if version < s.VERSION:
                (line,) = migration.migrated([line], version)
            header = s.decode_header(line)
        except ValueError:
            summary.problem = NO_HEADER
            self.entries([first])
            return s.VERSION
        if version > s.VERSION:
            summary.problem = NEWER
        summary.cwd = _kept(header.cwd, PLACE_CHARS)
        summary.created_ms = from_iso(header.timestamp)
        summary.title = _kept(header.title or "", NAME_CHARS)
        summary.parent = _kept(header.parent_session or "", PLACE_CHARS)
        return version

    def entries(self, records: Iterable[tuple[_Place, bytes]]) -> None:
        """Take entries in; one whose id is taken does not count."""
        ids, new_ids, messages = self._ids, self._new_ids, 0
        for place, line in records:
            id = place.id
            if not id or id in ids:
                continue
            ids.add(id)
            new_ids.append(id)
            if place.type != "message":
                self._other(place.type, line)
                continue
            messages += 1
            # The output of tools is most of a file, and nothing of it is wanted.
            if not bytes(place.message).startswith(_TOOL_RESULT):
                self._message(place.message, line)
        self.summary.messages += messages

    def _other(self, kind: str, line: bytes) -> None:
        if kind in _PAID:
            if (paid := decoded(line)) is not None and isinstance(paid.usage, Usage):
                self._tally.add(paid.usage)
        elif kind == "session_info":
            self._info(s.decode_known(line))
        elif kind == "model_change" and isinstance(change := s.decode_known(line), s.ModelChange):
            name = f"{change.provider}/{change.model_id}" if change.model_id else change.model
            if name:
                self._model = name

    def found(self, part: _Part[_Place], signature: FileFingerprint) -> ScanResult:
        summary = self.summary
        sane = self._put_usage()
        model = self._model
        name = model if isinstance(model, str) else f"{model.provider}/{model.model}"
        summary.model = _kept(name, PLACE_CHARS)
        summary.damaged += len(part.damaged)
        complete = part.done == part.end
        continuable = complete and summary.problem != NEWER and sane
        if not complete and part.torn.strip(b"\0 \t\r"):
            summary.damaged += 1
        return ScanResult(
            summary=summary,
            signature=signature,
            done=part.done if continuable else -1,
            checksum=part.checksum,
            ids=self._new_ids,
            texts=self._texts,
        )

    def _put_usage(self) -> bool:
        """A sum that no machine number holds was made up by somebody; nothing takes its place then."""
        usage, summary = self._tally.usage, self.summary
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        sane = all(0 <= count <= _LARGEST for count in counts) and isfinite(usage.cost.total)
        if not sane:
            usage = Usage()
        summary.input_tokens, summary.output_tokens = usage.input, usage.output
        summary.cache_read_tokens, summary.cache_write_tokens = usage.cache_read, usage.cache_write
        summary.cost = usage.cost.total
        return sane

    def _message(self, message: Raw, line: bytes) -> None:
        try:
            said = _said_decoder.decode(message)
        except (ValueError, RecursionError):
            self._pay(line)
            return
        role, summary = said.role, self.summary
        if role == "assistant":
            if isinstance(said.usage, Usage) and line.isascii():
                self._tally.add(said.usage)
            else:  # where there may be something that is no text, the one rule for all decides
                self._pay(line)
            self._model = said
            if type(said.content) is list:
                self._searchable(role, "".join([part.text for part in said.content]))
        elif role == "user":
            content = said.content
            if type(content) is list:
                words = "\n".join([part.text for part in content if part.text])
                content = words or ("(image)" if content else "")
            summary.prompts += 1
            if summary.prompts == 1:
                summary.first_prompt = _kept(cast(str, content), PROMPT_CHARS)
            self._searchable(role, cast(str, content))
        elif role in ("bashExecution", "pythonExecution"):
            self._searchable("user", said.command or said.code)

    def _pay(self, line: bytes) -> None:
        """Count an answer, also one that has something strange elsewhere: it was paid for."""
        paid = decoded(line)
        said = None if paid is None else paid.message
        if said and said.role == "assistant" and isinstance(said.usage, Usage):
            self._tally.add(said.usage)

    def _info(self, entry: s.KnownEntry | None) -> None:
        self.summary.named = isinstance(entry, s.SessionInfo)
        if isinstance(entry, s.SessionInfo):
            self.summary.name = _kept(entry.name or "", NAME_CHARS)

    def _searchable(self, role: str, text: str) -> None:
        summary = self.summary
        text = text[:TEXT_CHARS]
        if "\n" in text or "\t" in text or "  " in text:
            text = " ".join(text.split())
        text = _kept(text, TEXT_CHARS)
        if text and summary.texts < MAX_TEXTS:
            summary.texts += 1
            self._texts.append(SearchableText(summary.texts, role, text))


_PAID = frozenset({"usage", "compaction", "branch_summary"})


def _kept(text: str, max_chars: int) -> str:
    """The beginning of a text, as a database takes it."""
    text = text[:max_chars]
    return clean(text).replace("\0", " ") if not text.isascii() or "\0" in text else text
