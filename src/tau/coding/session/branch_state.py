"""State stored in the log that follows the branch: the newest entry of a kind."""

from collections.abc import Callable
from typing import Generic, TypeVar

from tau.ai.wire import ToolResultMessage
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import MessageEntry
from tau.coding.session.storage.log import SessionLog

T = TypeVar("T")

MAX_PAST_STOP = 2_000  # entries to search beyond a stop, in case nothing was recorded again after it


class BranchState(Generic[T]):
    """`read` returns an entry's value, or None. Only entries since the last call are searched.

    An entry of the type `stop` ends the search soon, because a session can be very long.
    """

    def __init__(self, log: SessionLog, read: Callable[[EntryNode], T | None], stop: str = "") -> None:
        self._log = log
        self._read = read
        self._stop = stop
        self._cached_leaf: str | None = None  # the leaf for which `_cached` is the newest
        self._cached: T | None = None

    def get(self) -> T | None:
        id = self._log.leaf
        left: int | None = None  # how many more entries to search
        while id is not None and id != self._cached_leaf and left != 0:
            node = self._log.node(id)
            value = None if node is None else self._read(node)
            if node is None or value is not None:
                return self._cache(value)
            if left is not None:
                left -= 1
            elif node.type == self._stop:
                left = MAX_PAST_STOP
            id = node.parent_id
        return self._cache(self._cached if id == self._cached_leaf else None)

    def get_past_stop(self) -> T | None:
        """The newest value on the whole branch, ignoring stops."""
        for node in reversed(self._log.branch()):
            if (value := self._read(node)) is not None:
                return value
        return None

    def _cache(self, value: T | None) -> T | None:
        self._cached_leaf, self._cached = self._log.leaf, value
        return value


def tool_result(log: SessionLog, node: EntryNode, *tools: str) -> ToolResultMessage | None:
    """The entry's tool result if it is of one of these tools, without decoding other entries."""
    if node.type != "message":
        return None
    line = log.line(node)
    if not any(b'"toolName":"%s"' % tool.encode() in line for tool in tools):
        return None
    entry = log.decode(node)
    message = entry.message if isinstance(entry, MessageEntry) else None
    return message if isinstance(message, ToolResultMessage) and message.tool_name in tools else None
