"""Scans one session file for the index: from its start, or from where the last scan stopped."""

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
from tau.coding.session.stats import Tally, decode_usage
from tau.coding.session_index.records import (
    FileFingerprint,
    ScanProgress,
    ScanResult,
    SearchableText,
    SessionSummary,
)

migration = late("tau.coding.session.storage.migration")

T = TypeVar("T")

TEXT_CHARS = 4_000  # of an entry's searchable text
PROMPT_CHARS = 400  # of the first prompt, to show
NAME_CHARS = 400
PLACE_CHARS = 4_096  # of a path or a model name in a file
MAX_TEXTS = (1 << 20) - 1  # of a session; the index numbers them
_BLOCK_BYTES = 512 * KIB
_LARGEST = 2**63 - 1
_TOOL_RESULT = b'{"role":"toolResult"'

NO_HEADER = "It does not start with a session header."
NEWER = "It was written by a newer tau."


class _Place(Struct, frozen=True, gc=False, rename="camel"):
    type: str
    id: str = ""
    parent_id: str | None = None  # only its type is checked, as when a session is opened
    message: Raw = Raw(b"")


class _Words(Struct, frozen=True, gc=False):
    """A part of a message; thinking and calls have no `text`."""

    text: str = ""


class _Said(Struct, frozen=True, gc=False):
    """The fields of a message that the index needs; the rest is skipped when decoding."""

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
    """Scan a session file; None if there is no regular file at `path`.

    Unreadable parts are skipped, and `problem` says so. With `known`, only what was appended since is read,
    if nothing else has changed.
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
    """The lines after the known ones, if the known bytes are unchanged."""
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
        pass  # the checksum and the damage are those of the file
    _read_old(fd, reading, version)
    found = reading.found(part, signature)
    found.done = -1
    return found


def _read_old(fd: int, reading: "_Reading", version: int) -> None:
    """Read a file of an older version as it will be after migration."""
    raw: Scan[Raw] = Scan(fd, msgspec.json.Decoder(Raw))
    try:
        lines = migration.migrate_lines([bytes(line) for line, _, _ in raw], version)
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
    """The lines between two offsets of a file. `done` is the end of the last complete line."""

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
            # One object per line; anything else is read line by line.
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
        self._model: str | _Said = summary.model  # the latest, or the one in an answer
        self._new_ids: list[str] = []
        self._texts: list[SearchableText] = []

    def header(self, part: _Part[_Place], records: Iterator[tuple[_Place, bytes]]) -> int:
        """Read the first line as the header and return its version."""
        summary = self.summary
        first = next(records, None)
        if first is None:
            summary.problem = "It is empty." if part.end == 0 else NO_HEADER
            return s.VERSION
        _, line = first
        try:
            version = _version_decoder.decode(line).version
            if version < s.VERSION:
                (line,) = migration.migrate_lines([line], version)
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
        """Read entries; those with a duplicate id do not count."""
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
            # Tool output is most of a file, and the index needs none of it.
            if not bytes(place.message).startswith(_TOOL_RESULT):
                self._message(place.message, line)
        self.summary.messages += messages

    def _other(self, kind: str, line: bytes) -> None:
        if kind in _PAID:
            if (paid := decode_usage(line)) is not None and isinstance(paid.usage, Usage):
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
        """Put the usage in the summary; False if it is absurdly large, and so counts as none."""
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
            else:  # content that may not be text goes through the full decoder
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
        """Count an answer, even if other parts of it are invalid: it was paid for."""
        paid = decode_usage(line)
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
    """The start of a text, in a form that a database accepts."""
    text = text[:max_chars]
    return clean(text).replace("\0", " ") if not text.isascii() or "\0" in text else text
