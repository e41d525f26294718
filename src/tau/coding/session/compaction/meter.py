"""Measures the context: the server's count for the latest answer plus an estimate of the rest.

Called before each request, so it looks only at what is new since the last call.
"""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from tau.agent.loop_owner import Setup
from tau.agent.tool import Tool
from tau.ai.model import Model
from tau.ai.wire import AppMessage, AssistantMessage
from tau.coding.session.compaction.estimate import frame_tokens, message_tokens, usage_tokens
from tau.coding.session.context import ContextItem
from tau.coding.session.storage.log import SessionLog

# Entries of these kinds change earlier messages, which invalidates a server's earlier count.
_REWRITES = frozenset({"compaction", "context_edit"})
RATIOS = (0.5, 4.0)


class ContextMeasurement(Struct, frozen=True, kw_only=True):
    """`tokens` is the best figure available; `costs` are estimates, one per item.

    `frame` is the estimate for the prompt and the tools, `ratio` the real tokens per estimated one.
    """

    tokens: int
    items: Sequence[ContextItem]
    costs: Sequence[int]
    estimated: int  # frame and all items
    frame: int
    ratio: float = 1.0
    counted: AssistantMessage | None = None  # the answer whose usage is part of `tokens`


class Meter(Struct):
    log: SessionLog
    _items: Sequence[ContextItem] = ()
    _costs: list[int] = []
    _total: int = 0
    _counted: int = -1  # index of the newest answer with valid usage
    _up_to_counted: int = 0  # the estimate of all items up to it
    _frame: tuple[str, Sequence[Tool[Any]], Model, int] | None = None

    def read(self, setup: Setup) -> ContextMeasurement:
        items = self.log.context().items
        known = len(self._costs)
        if items is not self._items or len(items) < known:
            self._restart(items)
            known = len(items)
        for index in range(known, len(items)):
            self._add(index, items[index])
        frame = self._frame_tokens(setup)
        estimated = frame + self._total
        if self._counted == -1:
            return ContextMeasurement(
                tokens=estimated, items=items, costs=self._costs, estimated=estimated, frame=frame
            )
        answer = items[self._counted].message
        assert isinstance(answer, AssistantMessage)
        used = usage_tokens(answer.usage)
        low, high = RATIOS
        return ContextMeasurement(
            tokens=used + self._total - self._up_to_counted,
            items=items,
            costs=self._costs,
            estimated=estimated,
            frame=frame,
            ratio=min(max(used / (frame + self._up_to_counted), low), high),
            counted=answer,
        )

    def _restart(self, items: Sequence[ContextItem]) -> None:
        """Measure a new list, reusing known estimates."""
        counted = zip(self._items, self._costs, strict=False)  # the list may have grown since
        known = {item.id: (item.message, cost) for item, cost in counted}
        self._items = items
        self._costs = []
        self._total = 0
        self._counted = -1
        countable = self._ids_after_rewrite()
        for index, item in enumerate(items):
            old = known.get(item.id)
            cost = old[1] if old is not None and old[0] is item.message else None
            self._add(index, item, cost, counts=item.id in countable)

    def _add(self, index: int, item: ContextItem, cost: int | None = None, *, counts: bool = True) -> None:
        if cost is None:
            cost = message_tokens(item.message)
        self._costs.append(cost)
        self._total += cost
        if counts and _is_counted(item.message):
            self._counted = index
            self._up_to_counted = self._total

    def _ids_after_rewrite(self) -> set[str]:
        """The entries after the latest one that changed earlier messages."""
        ids: set[str] = set()
        id = self.log.leaf
        while id is not None and (node := self.log.node(id)) is not None and node.type not in _REWRITES:
            ids.add(id)
            id = node.parent_id
        return ids

    def _frame_tokens(self, setup: Setup) -> int:
        frame, tools = self._frame, setup.offered_tools()
        if frame is not None and frame[:2] == (setup.system, tools) and frame[2] is setup.model:
            return frame[3]
        tokens = frame_tokens(setup.system, setup.specs())
        self._frame = (setup.system, tools, setup.model, tokens)
        return tokens


def _is_counted(message: AppMessage) -> bool:
    return (
        isinstance(message, AssistantMessage)
        and message.stop_reason not in ("error", "aborted")
        and usage_tokens(message.usage) > 0
    )
