"""A session's log: append-only lines that form a tree, one writer, nothing lost between two events."""

import errno
import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import UNSET, structs

from tau.ai.wire import AppMessage, AssistantMessage, ImageContent
from tau.base.clock import iso, now_ms
from tau.base.errors import SessionError
from tau.base.late import late
from tau.base.sizes import KIB
from tau.coding.session import entries as s
from tau.coding.session.context import Context, EntryNode, build_context, extended
from tau.coding.session.storage.ids import file_name, new_entry_id, new_session_id
from tau.coding.session.storage.line_storage import FileStorage, MemoryStorage, Storage
from tau.coding.session.storage.loader import load

blobs_module = late("tau.coding.session.storage.blobs")

# What makes a session worth a file: somebody has said something.
_BEGIN = frozenset({"message", "custom_message", "compaction"})
_LARGE_LINE_BYTES = 256 * KIB  # a shorter line has no image that is large enough for a file of its own
_REFERENCE = b'"blob:sha256:'


class SessionLog:
    """The tree of entries in memory, the entries themselves on disk, or in memory if `path` is None.

    A new session's header waits in memory until the first message, so that looking around leaves no file.
    Images that are large go to files of their own in the folder `blobs`, if there is one.
    """

    def __init__(
        self, header: s.SessionHeader, path: Path | None, storage: Storage, blobs: Path | None = None
    ) -> None:
        self.header = header
        self.path = path
        self.blobs = blobs
        self.warnings: list[str] = []
        self.leaf: str | None = None
        self.read_only: str | None = None  # why nothing can be appended, as a sentence
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
    ) -> "SessionLog":
        """A fresh session, to be kept in `folder`, or only in memory. `parent` is what it was forked from."""
        timestamp = iso(now_ms())
        header = s.SessionHeader(
            id=new_session_id(),
            timestamp=timestamp,
            cwd=str(cwd),
            parent_session=UNSET if parent is None else str(parent),
            title=title or UNSET,
        )
        path = None if folder is None else folder / file_name(timestamp, header.id)
        storage: Storage = MemoryStorage() if path is None else FileStorage(path, new=True)
        storage.append([s.encode(header)], begin=False)
        return cls(header, path, storage, None if path is None else blobs)

    @classmethod
    def open(cls, path: Path, *, blobs: Path | None = None, read_only: bool = False) -> "SessionLog":
        """A session from its file, ours alone to write from now on; with `read_only` anybody may write it.

        Raises SessionLocked if another process writes it.
        """
        loaded = load(path, read_only=read_only)
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
        return None if self.path is None else self.path.with_suffix("")

    @property
    def name(self) -> str | None:
        """What the session is called: the latest name, or the title in the header."""
        if self._info is not None and isinstance(info := self.decode(self._info), s.SessionInfo):
            return info.name or None
        return self.header.title or None

    def append(self, entry: s.KnownEntry) -> str:
        """Add an entry behind the leaf, and make it the leaf; its id. A message is on disk then.

        When it raises SessionError, nothing has changed, here or there.
        """
        if self.read_only is not None:
            raise SessionError(self.read_only)
        whole = structs.replace(
            entry, id=new_entry_id(self._nodes), parent_id=self.leaf, timestamp=iso(now_ms())
        )
        kind = str(entry.__struct_config__.tag)
        try:
            line = _encoded(whole, self.blobs)
            start = self._storage.append([line], begin=kind in _BEGIN)
        except OSError as error:
            is_there = self.path is not None and self.path.exists()
            safe = " What was said before is safe there." if is_there else ""
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                safe += " Make room on the disk, then try it again."
            elif not is_there:
                safe += " tau --no-session does without, and --session-dir keeps it in another folder."
            raise SessionError(
                f"The session cannot be written to {self.path}: {error.strerror or error}.{safe}"
            ) from error
        self._linear = self._linear and self.leaf == next(reversed(self._nodes), None)
        self._nodes[whole.id] = node = EntryNode(kind, whole.id, self.leaf, start, len(line))
        self.leaf = whole.id
        if kind == "session_info":
            self._info = node
        if self._context is not None:
            self._context = extended(self._context, whole)
        return whole.id

    def append_message(self, message: AppMessage) -> str:
        return self.append(s.MessageEntry(message=message))

    def __contains__(self, id: object) -> bool:
        return id in self._nodes

    def nodes(self) -> Iterable[EntryNode]:
        """All entries in the order of the file."""
        return self._nodes.values()

    def node(self, id: str) -> EntryNode | None:
        return self._nodes.get(id)

    def entries(self) -> Iterator[tuple[EntryNode, s.KnownEntry | None]]:
        """All entries in the order of the file, each read and decoded when its turn comes."""
        for node in list(self._nodes.values()):
            yield node, self.decode(node)

    def line(self, node: EntryNode) -> bytes:
        """The entry as it is kept, whatever it is."""
        try:
            return self._storage.read(node.start, node.size)
        except OSError as error:
            raise SessionError(
                f"The session cannot be read from {self.path}: {error.strerror or error}."
            ) from error

    def decode(self, node: EntryNode) -> s.KnownEntry | None:
        """The whole entry; None if it is none that we know."""
        line = self.line(node)
        try:
            entry = s.decode_known(line)
        except (ValueError, RecursionError):
            entry = None
        if entry is None or entry.id != node.id:
            self._warn_of(node, line)
            return None
        if _may_refer(entry) and _REFERENCE in line:
            fetched: s.KnownEntry = blobs_module.Blobs(self.blobs).fetch(entry, self.warn)
            return fetched
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
        """Go on from another entry; None: from the beginning. What is appended next says so on disk."""
        if leaf is not None and leaf not in self._nodes:
            raise SessionError(f"The session has no entry {leaf}.")
        self.leaf = leaf
        self._context = None

    def context(self) -> Context:
        """What the model is told, up to the leaf."""
        if self._context is None:
            with _collecting_nothing():
                self._context = build_context(self.branch(), self.decode)
        return self._context

    def messages(self) -> list[AppMessage]:
        """The conversation up to the leaf. The list is a copy."""
        return self.context().messages

    def close(self) -> None:
        """Give up the file and its lock; what was loaded can still be read."""
        self._storage.close()

    def _warn_of(self, node: EntryNode, line: bytes) -> None:
        """An entry that cannot be had may be one that we do not know; or it is damaged, or gone."""
        try:
            found = msgspec.json.decode(line)
        except UnicodeDecodeError:
            self.warn(f"The entry {node.id} of {self.path} is damaged and is left out.")
            return
        except (ValueError, RecursionError):  # it could be decoded when the session was loaded
            found = None
        if not isinstance(found, dict) or found.get("id") != node.id:
            self.warn(f"{self.path} was changed by another program; what is no longer there is left out.")

    def warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)


def _encoded(entry: s.KnownEntry, blobs: Path | None) -> bytes:
    """The line for an entry, its large images in files of their own if there is a folder for them."""
    line = s.encode(entry)
    if blobs is None or len(line) < _LARGE_LINE_BYTES:
        return line
    return s.encode(blobs_module.Blobs(blobs).keep(entry))


def _may_refer(entry: s.KnownEntry) -> bool:
    """Whether there is a place for a reference at all: quicker to find out than to search a long line."""
    message = entry.message if isinstance(entry, s.MessageEntry) else entry
    if isinstance(message, AssistantMessage):
        return False
    content = getattr(message, "content", None)
    if isinstance(content, list) and any(isinstance(part, ImageContent) for part in content):
        return True
    return isinstance(message, s.ContextEdit) or bool(getattr(message, "attachments", None))


@contextmanager
def _collecting_nothing() -> Iterator[None]:
    """What is built is kept: looking for garbage in it again and again takes as long as building it."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
