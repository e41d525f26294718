"""A session's log: append-only lines that form a tree, one writer, nothing lost between two events."""

from pathlib import Path

import msgspec

from tau.ai.model import Model, ThinkingLevel
from tau.ai.wire import AppMessage, AssistantMessage
from tau.base.clock import iso, now_ms
from tau.base.errors import SessionError
from tau.base.jsonl import JsonlFile, read_jsonl
from tau.coding.session import entries as s
from tau.coding.session.ids import file_name, new_entry_id, new_session_id


class SessionLog:
    """Entries in memory and, unless `path` is None, on disk.

    A new session's header waits in memory until the first message, so that looking around leaves no file.
    """

    def __init__(self, header: s.SessionHeader, path: Path | None) -> None:
        self.header = header
        self.path = path
        self.warnings: list[str] = []
        self.leaf: str | None = None
        self._entries: dict[str, s.Entry] = {}
        self._messages: list[AppMessage] | None = None  # of the branch that ends in the leaf
        self._file: JsonlFile | None = None
        self._unwritten: list[bytes] = [s.encode(header)]

    @classmethod
    def new(cls, folder: Path | None, cwd: Path) -> "SessionLog":
        """A fresh session, to be kept in `folder`, or only in memory."""
        timestamp = iso(now_ms())
        header = s.SessionHeader(id=new_session_id(), timestamp=timestamp, cwd=str(cwd))
        return cls(header, None if folder is None else folder / file_name(timestamp, header.id))

    @classmethod
    def open(cls, path: Path) -> "SessionLog":
        """A session from its file, ours alone to write from now on."""
        file = _own(path)
        try:
            lines = read_jsonl(path)
            header = _header(path, lines.lines)
        except BaseException:
            file.close()
            raise
        log = cls(header, path)
        log._file = file
        log._unwritten = []
        if file.torn:
            log.warnings.append(
                f"The last entry of {path.name} was never finished and is left out; "
                f"its bytes are in {path.name}.torn."
            )
        if lines.damaged:
            numbers = ", ".join(map(str, lines.damaged[:10])) + (
                " and more" if len(lines.damaged) > 10 else ""
            )
            log.warnings.append(f"{path.name} has damaged lines that are left out: {numbers}.")
        log._load(lines.lines[1:])
        return log

    @property
    def artifacts_folder(self) -> Path | None:
        return None if self.path is None else self.path.with_suffix("")

    def append_message(self, message: AppMessage) -> None:
        """On disk when this returns."""
        id, parent, timestamp = self._next()
        self._append(s.MessageEntry(id, parent, timestamp, message), durable=True)
        if self._messages is not None:
            self._messages.append(message)

    def append_model(self, model: Model) -> None:
        id, parent, timestamp = self._next()
        self._append(s.ModelChange(id, parent, timestamp, model.provider, model.id))

    def append_thinking(self, level: ThinkingLevel) -> None:
        id, parent, timestamp = self._next()
        self._append(s.ThinkingLevelChange(id, parent, timestamp, level))

    def branch(self) -> list[s.Entry]:
        """From the root to the leaf."""
        found: list[s.Entry] = []
        id = self.leaf
        while id is not None and (entry := self._entries.get(id)) is not None:
            found.append(entry)
            id = entry.parent_id
        found.reverse()
        return found

    def messages(self) -> list[AppMessage]:
        """The conversation up to the leaf. The list is a copy."""
        if self._messages is None:
            known = (s.decode_known(entry) for entry in self.branch() if entry.type == "message")
            self._messages = [entry.message for entry in known if isinstance(entry, s.MessageEntry)]
        return list(self._messages)

    def model(self) -> tuple[str, str] | None:
        """Provider and id of the model that was last in use on this branch."""
        for entry in reversed(self.branch()):
            match s.decode_known(entry):
                case s.ModelChange(provider=provider, model_id=id):
                    return provider, id
                case s.MessageEntry(message=AssistantMessage(provider=provider, model=id)):
                    return provider, id
        return None

    def thinking(self) -> str | None:
        for entry in reversed(self.branch()):
            match s.decode_known(entry):
                case s.ThinkingLevelChange(thinking_level=level):
                    return level
        return None

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _next(self) -> tuple[str, str | None, str]:
        return new_entry_id(self._entries), self.leaf, iso(now_ms())

    def _append(self, entry: s.KnownEntry, *, durable: bool = False) -> None:
        """Write a line. What is not a message may wait for the first message of a new session."""
        line = s.encode(entry)
        if durable or not self._unwritten:
            self._write([*self._unwritten, line])
            self._unwritten = []
        else:
            self._unwritten.append(line)
        kind = str(entry.__struct_config__.tag)
        self._entries[entry.id] = s.Entry(kind, entry.id, entry.parent_id, entry.timestamp, msgspec.Raw(line))
        self.leaf = entry.id

    def _write(self, lines: list[bytes]) -> None:
        if self.path is None:
            return
        try:
            if self._file is None:
                self._file = _own(self.path)
            self._file.append(*lines)
        except OSError as error:
            raise SessionError(
                f"The session cannot be written to {self.path}: {error.strerror or error}. "
                "What was said before is safe there."
            ) from error

    def _load(self, lines: list[bytes]) -> None:
        strange = 0
        for line in lines:
            try:
                entry = s.decode_entry(line)
            except msgspec.DecodeError:
                strange += 1
                continue
            self._entries[entry.id] = entry
            self.leaf = entry.id
        if strange:
            self.warnings.append(f"{strange} lines of the session are not entries and are left out.")


def _header(path: Path, records: list[bytes]) -> s.SessionHeader:
    try:
        header = s.decode_header(records[0])
    except (IndexError, msgspec.DecodeError):
        raise SessionError(f"{path} does not begin with a session header, so it is not a session.") from None
    if header.version != s.VERSION:
        raise SessionError(f"{path} has version {header.version}; this tau reads version {s.VERSION}.")
    return header


def _own(path: Path) -> JsonlFile:
    """The file, locked: two writers would tangle two conversations."""
    file = JsonlFile(path)
    if not file.lock():
        file.close()
        raise SessionError(f"{path} is open in another tau; close it there, or start another session here.")
    return file
