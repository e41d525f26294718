"""What tools of agents leave for their caller: the one table that says which data and when a run ends."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import UNSET, Struct

from tau.agent.events import ToolEnd
from tau.coding.task.report_finding import Finding
from tau.coding.task.yield_result import YieldDetails


class ToolExtraction(Struct, frozen=True):
    """`extract` returns what a call leaves, or None; `ends_run`, whether the agent is done after it."""

    extract: Callable[[ToolEnd], Any]
    ends_run: Callable[[ToolEnd], bool] = lambda event: False


def _details(kind: type[Any]) -> Callable[[ToolEnd], Any]:
    def extract(event: ToolEnd) -> Any:
        details = UNSET if isinstance(event.result, str) else event.result.details
        return details if isinstance(details, kind) else None

    return extract


EXTRACTIONS: Mapping[str, ToolExtraction] = {
    "yield": ToolExtraction(_details(YieldDetails), lambda event: _details(YieldDetails)(event) is not None),
    "report_finding": ToolExtraction(_details(Finding)),
}
