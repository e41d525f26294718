"""A session's log: append-only lines that form a tree, one writer, nothing lost between two events."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
from msgspec import structs

from tau.ai.wire import AppMessage
from tau.base.clock import iso, now_ms
from tau.base.errors import SessionError
from tau.base.jsonl import JsonlFile, read_jsonl
from tau.coding.session import entries as s
from tau.coding.session.context import Context, Node, build_context, extended
from tau.coding.session.ids import file_name, new_entry_id, new_session_id

# What makes a session worth a file: somebody has said something.
_BEGIN = frozenset({"message", "custom_message", "compaction"})


class SessionLog:
    """Entries in memory and, unless `path` is None, on disk.

    A new session's header waits in memory until the first message, so that looking around leaves no file.
    """

    def __init__(self, header: s.SessionHeader, path: Path | None) -> None:
        self.header = header
        self.path = path
        self.warnings: list[str] = []
        self.leaf: str | None = None
        self._nodes: dict[str, Node] = {}
        self._lines: dict[str, bytes] = {}
        self._context: Context | None = None  # of the branch that ends in the leaf
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

    @property
    def name(self) -> str | None:
        """What the session is called: the latest name, or the title in the header."""
        for node in reversed(self._nodes.values()):
            if node.type == "session_info" and isinstance(info := self.decode(node), s.SessionInfo):
                return info.name or None
        return self.header.title or None

    def append(self, entry: s.KnownEntry) -> str:
        """Add an entry behind the leaf, and make it the leaf; its id. A message is on disk then."""
        parent = self.leaf
        whole = structs.replace(
            entry, id=new_entry_id(self._nodes), parent_id=parent, timestamp=iso(now_ms())
        )
        line = s.encode(whole)
        kind = str(entry.__struct_config__.tag)
        if kind in _BEGIN or not self._unwritten:
            self._write([*self._unwritten, line])
            self._unwritten = []
        else:
            self._unwritten.append(line)
        self._place(Node(kind, whole.id, parent, 0, 0), line)
        if self._context is not None:
            self._context = extended(self._context, whole)
        return whole.id

    def append_message(self, message: AppMessage) -> str:
        return self.append(s.MessageEntry(message=message))

    def __contains__(self, id: object) -> bool:
        return id in self._nodes

    def nodes(self) -> Iterable[Node]:
        """All entries in the order of the file."""
        return self._nodes.values()

    def node(self, id: str) -> Node | None:
        return self._nodes.get(id)

    def decode(self, node: Node) -> s.KnownEntry | None:
        """The whole entry; None if it is none that we know."""
        return s.decode_known(self._lines[node.id])

    def branch(self, leaf: str | None = "") -> list[Node]:
        """From the root to the leaf, or to another entry."""
        found: list[Node] = []
        id = self.leaf if leaf == "" else leaf
        while id is not None and (node := self._nodes.get(id)) is not None:
            found.append(node)
            id = node.parent_id
        found.reverse()
        return found

    def move(self, leaf: str | None) -> None:
        """Go on from another entry; None: from the beginning. What is appended next says so on disk."""
        if leaf is not None and leaf not in self._nodes:
            raise SessionError(f"The session has no entry {leaf}.")
        self.leaf = leaf
        self._context = None

    def context(self) -> Context:
        """What the model is told, up to the leaf."""
        if self._context is None:
            self._context = build_context(self.branch(), self.decode)
        return self._context

    def messages(self) -> list[AppMessage]:
        """The conversation up to the leaf. The list is a copy."""
        return self.context().messages

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _place(self, node: Node, line: bytes) -> None:
        self._nodes[node.id] = node
        self._lines[node.id] = line
        self.leaf = node.id

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
                place = _place_decoder.decode(line)
            except msgspec.DecodeError:
                strange += 1
                continue
            self._place(Node(place.type, place.id, place.parent_id, 0, len(line)), line)
        if strange:
            self.warnings.append(f"{strange} lines of the session are not entries and are left out.")


class _Place(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    type: str
    id: str
    parent_id: str | None


_place_decoder = msgspec.json.Decoder(_Place)


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
