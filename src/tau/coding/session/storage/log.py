"""A session's log: append-only lines that form a tree, with one writer."""

import errno
import gc
import os
from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import UNSET, structs

from tau.ai.wire import AppMessage, ImageContent
from tau.base import secrets
from tau.base.clock import iso, now_ms
from tau.base.errors import SessionError
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.session import entries as s
from tau.coding.session.context import Context, EntryNode, build_context, extend_context
from tau.coding.session.storage.line_storage import FileStorage, MemoryStorage, Storage

blobs_module = late("tau.coding.session.storage.blobs")
hashlib = late("hashlib")
loader = late("tau.coding.session.storage.loader")

# Entries that make a session worth a file.
_DURABLE = frozenset({"message", "custom_message", "compaction"})
_LARGE_LINE_BYTES = 256 * KIB  # a shorter line has no image large enough for its own file
_REFERENCE = b'"blob:sha256:'


class SessionLog:
    """The tree is in memory, the entries are on disk, or in memory too if `path` is None.

    A new session's header stays in memory until the first message, so that an unused session leaves no file.
    Secrets are masked on disk; the context in memory is complete.
    Large images are stored in the folder `blobs`, if there is one.
    """

    def __init__(
        self, header: s.SessionHeader, path: Path | None, storage: Storage, blobs: Path | None = None
    ) -> None:
        self.header = header
        self.path = path
        self.blobs = blobs
        self.artifacts: Path | None = None
        self.warnings: list[str] = []
        self.leaf: str | None = None
        self.read_only: str | None = None  # why nothing can be appended, as a sentence
        self.on_append: Callable[[s.KnownEntry], None] | None = None
        self._nodes: dict[str, EntryNode] = {}
        self._storage = storage
        self._context: Context | None = None  # of the branch that ends in the leaf
        self._info: EntryNode | None = None  # that names the session
        self._linear = True  # each entry follows the one before it

    @classmethod
    def new(
        cls,
        folder: Path | None,
        cwd: Path,
        *,
        blobs: Path | None = None,
        parent: Path | None = None,
        title: str | None = None,
        name: str | None = None,
    ) -> "SessionLog":
        """Create a session in `folder`, or in memory only. `parent` is the session it was forked from.

        The file has a unique name, unless `name` gives one.
        """
        timestamp = iso(now_ms())
        header = s.SessionHeader(
            id=new_session_id(),
            timestamp=timestamp,
            cwd=str(cwd),
            parent_session=UNSET if parent is None else str(parent),
            title=(title if folder is None else secrets.mask(title)) if title else UNSET,
        )
        path = None if folder is None else folder / (name or file_name(timestamp, header.id))
        storage: Storage = MemoryStorage() if path is None else FileStorage(path, new=True)
        storage.append([s.encode(header)], durable=False)
        return cls(header, path, storage, None if path is None else blobs)

    @classmethod
    def open(cls, path: Path, *, blobs: Path | None = None, read_only: bool = False) -> "SessionLog":
        """Open a session file and lock it for writing, unless `read_only`.

        Raises SessionLocked if another process is writing it.
        """
        loaded = loader.load(path, read_only=read_only)
        log = cls(loaded.header, path, loaded.storage, blobs)
        log.leaf = next(reversed(loaded.nodes), None)
        log.read_only = loaded.read_only
        log.warnings += loaded.warnings
        log._nodes = loaded.nodes
        log._info = loaded.info
        log._linear = loaded.linear
        return log

    @property
    def artifacts_folder(self) -> Path | None:
        """Where the session keeps its other files: beside its own one, unless that is not in our store."""
        return None if self.path is None else self.artifacts or self.path.with_suffix("")

    @property
    def name(self) -> str | None:
        """The latest name of the session, or the title in the header."""
        if self._info is not None and isinstance(info := self.decode(self._info), s.SessionInfo):
            return info.name or None
        return self.header.title or None

    def append(self, entry: s.KnownEntry) -> str:
        """Append an entry after the leaf, make it the leaf, and return its id. A message is then on disk.

        If it raises SessionError, nothing has changed in memory or on disk.
        """
        if self.read_only is not None:
            raise SessionError(self.read_only)
        complete = structs.replace(
            entry, id=new_entry_id(self._nodes), parent_id=self.leaf, timestamp=iso(now_ms())
        )
        kind = str(entry.__struct_config__.tag)
        try:
            line = _encoded(complete, self.blobs)
            if self.path is not None:
                line = secrets.mask_line(line)
            start = self._storage.append([line], durable=kind in _DURABLE)
        except OSError as error:
            exists = self.path is not None and self.path.exists()
            advice = " Earlier messages are saved." if exists else ""
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                advice += " Free up disk space, then try again."
            elif not exists:
                advice += " Use --session-dir for another folder, or --no-session to not save the session."
            raise SessionError(
                f"The session cannot be written to {self.path}: {error.strerror or error}.{advice}"
            ) from error
        self._linear = self._linear and self.leaf == next(reversed(self._nodes), None)
        self._nodes[complete.id] = node = EntryNode(kind, complete.id, self.leaf, start, len(line))
        self.leaf = complete.id
        if kind == "session_info":
            self._info = node
        if self._context is not None:
            self._context = extend_context(self._context, complete)
        if self.on_append is not None:
            self.on_append(complete)
        return complete.id

    def append_message(self, message: AppMessage) -> str:
        return self.append(s.MessageEntry(message=message))

    def __contains__(self, id: object) -> bool:
        return id in self._nodes

    def nodes(self) -> Iterable[EntryNode]:
        """All entries in file order."""
        return self._nodes.values()

    def node(self, id: str) -> EntryNode | None:
        return self._nodes.get(id)

    def entries(self) -> Iterator[tuple[EntryNode, s.KnownEntry | None]]:
        """All entries in file order, each read and decoded on demand."""
        for node in list(self._nodes.values()):
            yield node, self.decode(node)

    def line(self, node: EntryNode) -> bytes:
        """The raw line of an entry."""
        try:
            return self._storage.read(node.start, node.size)
        except OSError as error:
            raise SessionError(
                f"The session cannot be read from {self.path}: {error.strerror or error}."
            ) from error

    def decode(self, node: EntryNode) -> s.KnownEntry | None:
        """The whole entry; None if it is unknown."""
        line = self.line(node)
        try:
            entry = s.decode_known(line)
        except (ValueError, RecursionError):
            entry = None
        if entry is None or entry.id != node.id:
            self._warn_of(node, line)
            return None
        if _may_refer(entry) and _REFERENCE in line:
            return blobs_module.Blobs(self.blobs).load_images(entry, self.warn)
        return entry

    def branch(self, leaf: str | None = "") -> list[EntryNode]:
        """From the root to the leaf, or to another entry."""
        id = self.leaf if leaf == "" else leaf
        if self._linear and id == next(reversed(self._nodes), ""):
            return list(self._nodes.values())
        found: list[EntryNode] = []
        while id is not None and (node := self._nodes.get(id)) is not None:
            found.append(node)
            id = node.parent_id
        found.reverse()
        return found

    def move(self, leaf: str | None) -> None:
        """Continue from another entry; None: from the start. The next entry records it on disk."""
        if leaf is not None and leaf not in self._nodes:
            raise SessionError(f"The session has no entry {leaf}.")
        self.leaf = leaf
        self._context = None

    def context(self) -> Context:
        """The model's context, up to the leaf."""
        if self._context is None:
            with pause_gc():
                self._context = build_context(self.branch(), self.decode)
        return self._context

    def messages(self) -> list[AppMessage]:
        """The conversation up to the leaf, as a new list."""
        return self.context().messages

    def close(self) -> None:
        """Release the file and its lock; what was loaded can still be read."""
        self._storage.close()

    def _warn_of(self, node: EntryNode, line: bytes) -> None:
        """Warn of an undecodable entry, unless it is just unknown."""
        try:
            found = msgspec.json.decode(line)
        except UnicodeDecodeError:
            self.warn(f"The entry {node.id} of {self.path} is damaged and was skipped.")
            return
        except (ValueError, RecursionError):  # it could be decoded when the session was loaded
            found = None
        if not isinstance(found, dict) or found.get("id") != node.id:
            self.warn(f"{self.path} was changed by another program; missing entries were skipped.")

    def warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def _encoded(entry: s.KnownEntry, blobs: Path | None) -> bytes:
    """The line for an entry; its large images go to files if there is a folder for them."""
    line = s.encode(entry)
    if blobs is None or len(line) < _LARGE_LINE_BYTES:
        return line
    return s.encode(blobs_module.Blobs(blobs).store_images(entry))


def _may_refer(entry: s.KnownEntry) -> bool:
    """Whether the entry can hold a reference; faster than a search in a long line."""
    message = entry.message if isinstance(entry, s.MessageEntry) else entry
    content = getattr(message, "content", None)
    if isinstance(content, list) and any(isinstance(part, ImageContent) for part in content):
        return True
    return isinstance(message, s.ContextEdit) or bool(getattr(message, "attachments", None))


@contextmanager
def pause_gc() -> Iterator[None]:
    """Pause garbage collection: everything built here is kept, and collecting would double the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def new_session_id() -> str:
    """A version 7 UUID, which sorts by time, without importing the uuid module."""
    stamp = now_ms().to_bytes(6, "big")
    noise = bytearray(os.urandom(10))
    noise[0] = 0x70 | noise[0] & 0x0F
    noise[2] = 0x80 | noise[2] & 0x3F
    text = (stamp + noise).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def new_entry_id(taken: Container[str]) -> str:
    """Eight hex digits that no other entry of the session has."""
    while True:
        id = os.urandom(4).hex()
        if id not in taken:
            return id


def file_name(timestamp: str, id: str) -> str:
    return f"{timestamp.replace(':', '-').replace('.', '-')}_{id}.jsonl"
