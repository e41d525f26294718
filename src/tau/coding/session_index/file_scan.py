"""Scans one session file for the index: from its start, or from where the last scan stopped."""

import os
import stat
from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path
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

headers = late("tau.coding.session.storage.header")
migration = late("tau.coding.session.storage.migration")

T = TypeVar("T")

TEXT_CHARS = 4_000  # of an entry's searchable text
PROMPT_CHARS = 400  # of the first prompt, to show
NAME_CHARS = 400
PATH_CHARS = 4_096  # of a path or a model name in a file
MAX_TEXTS = (1 << 20) - 1  # of a session; the index numbers them
_BLOCK_BYTES = 512 * KIB
_LARGEST = 2**63 - 1
_TOOL_RESULT = b'{"role":"toolResult"'

NO_HEADER = "It does not start with a session header."
NEWER = "It was written by a newer tau."


class _LineFields(Struct, frozen=True, gc=False, rename="camel"):
    type: str
    id: str = ""
    parent_id: str | None = None  # only its type is checked, as when a session is opened
    message: Raw = Raw(b"")


class _ContentPart(Struct, frozen=True, gc=False):
    """A part of a message; thinking and calls have no `text`."""

    text: str = ""


class _MessageFields(Struct, frozen=True, gc=False):
    """The fields of a message that the index needs; the rest is skipped when decoding."""

    role: str = ""
    content: str | list[_ContentPart] = ""
    provider: str = ""
    model: str = ""
    usage: Usage | UnsetType = UNSET
    command: str = ""
    code: str = ""


class _Version(Struct, frozen=True):
    version: int = 1


_message_decoder = msgspec.json.Decoder(_MessageFields)
_line_decoder = msgspec.json.Decoder(_LineFields)
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
        part = None if known is None else _appended_part(fd, known, signature)
        if part is not None and known is not None:
            scan = _SessionScan(msgspec.structs.replace(known.summary), known.ids())
            scan.entries(part.records())
            result = scan.result(part, signature)
            result.grown = True
            return result
        return _scan_whole(Path(os.fsdecode(path)), fd, signature)
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


def _appended_part(fd: int, known: ScanProgress, signature: FileFingerprint) -> "_Part[_LineFields] | None":
    """The lines after the known ones, if the known bytes are unchanged."""
    if known.done <= 0 or signature.inode != known.inode or signature.size < known.done:
        return None
    checksum = at = 0
    while at < known.done and (data := os.pread(fd, min(_BLOCK_BYTES, known.done - at), at)):
        checksum = crc32(data, checksum)
        at += len(data)
    if at != known.done or checksum != known.checksum:
        return None
    return _Part(fd, _line_decoder, at, signature.size, checksum)


def _scan_whole(path: Path, fd: int, signature: FileFingerprint) -> ScanResult:
    part = _Part(fd, _line_decoder, 0, signature.size)
    records = part.records()
    scan = _SessionScan(SessionSummary(), set())
    version = scan.header(part, records)
    is_damaged = scan.summary.problem == NO_HEADER
    if not is_damaged and (version >= s.VERSION or scan.summary.problem):
        scan.entries(records)
        return scan.result(part, signature)
    for _ in records:
        pass  # the checksum and the damage are those of the file
    _read_old(path, fd, scan, None if is_damaged else version)
    result = scan.result(part, signature)
    result.done = -1
    return result


def _read_old(path: Path, fd: int, scan: "_SessionScan", version: int | None) -> None:
    """Read a file of an older version, or with a damaged header, as it will be after it is rewritten."""
    raw: Scan[Raw] = Scan(fd, msgspec.json.Decoder(Raw))
    try:
        old = [bytes(line) for line, _, _ in raw]
        if version is None or 1 in raw.damaged:
            lines = headers.rebuild(path, old)
        else:
            lines = migration.migrate_lines(old, version)
    except (ValueError, AttributeError, TypeError):
        lines = None
    if lines is None:
        scan.summary.problem = NO_HEADER
        return
    scan.summary.problem = ""
    scan.take_header(s.decode_header(lines[0]))
    for line in lines[1:]:
        try:
            fields = _line_decoder.decode(line)
        except ValueError:
            continue
        scan.entries([(fields, line)])


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


class _SessionScan:
    """Adds lines to a summary."""

    def __init__(self, summary: SessionSummary, ids: set[str]) -> None:
        self.summary = summary
        self._ids = ids
        self._tally = Tally()
        tokens = summary.input_tokens, summary.output_tokens, summary.cache_read_tokens
        self._tally.add(Usage(*tokens, summary.cache_write_tokens, Cost(total=summary.cost)))
        self._model: str | _MessageFields = summary.model  # the latest, or the one in an answer
        self._new_ids: list[str] = []
        self._texts: list[SearchableText] = []

    def header(self, part: _Part[_LineFields], records: Iterator[tuple[_LineFields, bytes]]) -> int:
        """Read the first line as the header and return its version."""
        summary = self.summary
        first = next(records, None)
        if first is None:
            summary.problem = "It is empty." if part.end == 0 else NO_HEADER
            return s.VERSION
        fields, line = first
        title = b""
        if fields.type == "title" and (after := next(records, None)) is not None:  # omp's first line
            title, first = line, after
            _, line = after
        try:
            version = _version_decoder.decode(line).version
            if version < s.VERSION:
                (line,) = migration.migrate_lines([line], version)
            header = s.decode_header(line)
            header = headers.with_title(header, title) if title else header
        except ValueError:
            summary.problem = NO_HEADER
            return s.VERSION
        if version > s.VERSION:
            summary.problem = NEWER
        self.take_header(header)
        return version

    def take_header(self, header: s.SessionHeader) -> None:
        summary = self.summary
        summary.cwd = _clean_start(header.cwd, PATH_CHARS)
        summary.created_ms = from_iso(header.timestamp)
        summary.title = _clean_start(header.title or "", NAME_CHARS)
        summary.parent = _clean_start(header.parent_session or "", PATH_CHARS)

    def entries(self, records: Iterable[tuple[_LineFields, bytes]]) -> None:
        """Read entries; those with a duplicate id do not count."""
        ids, new_ids, messages = self._ids, self._new_ids, 0
        for fields, line in records:
            id = fields.id
            if not id or id in ids:
                continue
            ids.add(id)
            new_ids.append(id)
            if fields.type != "message":
                self._other(fields.type, line)
                continue
            messages += 1
            # Tool output is most of a file, and the index needs none of it.
            if not bytes(fields.message).startswith(_TOOL_RESULT):
                self._message(fields.message, line)
        self.summary.messages += messages

    def _other(self, kind: str, line: bytes) -> None:
        if kind in _PAID:
            if (record := decode_usage(line)) is not None and isinstance(record.usage, Usage):
                self._tally.add(record.usage)
        elif kind == "session_info":
            self._info(s.decode_known(line))
        elif kind == "model_change" and isinstance(change := s.decode_known(line), s.ModelChange):
            name = f"{change.provider}/{change.model_id}" if change.model_id else change.model
            if name:
                self._model = name

    def result(self, part: _Part[_LineFields], signature: FileFingerprint) -> ScanResult:
        summary = self.summary
        plausible = self._store_usage()
        model = self._model
        name = model if isinstance(model, str) else f"{model.provider}/{model.model}"
        summary.model = _clean_start(name, PATH_CHARS)
        summary.damaged += len(part.damaged)
        complete = part.done == part.end
        continuable = complete and summary.problem != NEWER and plausible
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

    def _store_usage(self) -> bool:
        """Put the usage in the summary; False if it is absurdly large, and so counts as none."""
        usage, summary = self._tally.usage, self.summary
        counts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
        plausible = all(0 <= count <= _LARGEST for count in counts) and isfinite(usage.cost.total)
        if not plausible:
            usage = Usage()
        summary.input_tokens, summary.output_tokens = usage.input, usage.output
        summary.cache_read_tokens, summary.cache_write_tokens = usage.cache_read, usage.cache_write
        summary.cost = usage.cost.total
        return plausible

    def _message(self, raw: Raw, line: bytes) -> None:
        try:
            message = _message_decoder.decode(raw)
        except (ValueError, RecursionError):
            self._add_usage(line)
            return
        role, summary = message.role, self.summary
        if role == "assistant":
            if isinstance(message.usage, Usage) and line.isascii():
                self._tally.add(message.usage)
            else:  # content that may not be text goes through the full decoder
                self._add_usage(line)
            self._model = message
            if type(message.content) is list:
                self._searchable(role, "".join([part.text for part in message.content]))
        elif role == "user":
            content = message.content
            if type(content) is list:
                words = "\n".join([part.text for part in content if part.text])
                content = words or ("(image)" if content else "")
            summary.prompts += 1
            if summary.prompts == 1:
                summary.first_prompt = _clean_start(cast(str, content), PROMPT_CHARS)
            self._searchable(role, cast(str, content))
        elif role in ("bashExecution", "pythonExecution"):
            self._searchable("user", message.command or message.code)

    def _add_usage(self, line: bytes) -> None:
        """Count an answer, even if other parts of it are invalid: it was paid for."""
        record = decode_usage(line)
        message = None if record is None else record.message
        if message and message.role == "assistant" and isinstance(message.usage, Usage):
            self._tally.add(message.usage)

    def _info(self, entry: s.KnownEntry | None) -> None:
        self.summary.named = isinstance(entry, s.SessionInfo)
        if isinstance(entry, s.SessionInfo):
            self.summary.name = _clean_start(entry.name or "", NAME_CHARS)

    def _searchable(self, role: str, text: str) -> None:
        summary = self.summary
        text = text[:TEXT_CHARS]
        if "\n" in text or "\t" in text or "  " in text:
            text = " ".join(text.split())
        text = _clean_start(text, TEXT_CHARS)
        if text and summary.texts < MAX_TEXTS:
            summary.texts += 1
            self._texts.append(SearchableText(summary.texts, role, text))


_PAID = frozenset({"usage", "compaction", "branch_summary"})


def _clean_start(text: str, max_chars: int) -> str:
    """The start of a text, in a form that a database accepts."""
    text = text[:max_chars]
    return clean(text).replace("\0", " ") if not text.isascii() or "\0" in text else text
