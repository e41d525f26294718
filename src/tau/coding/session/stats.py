"""What a session has used so far: all of its tree, whatever branch one is on."""

from itertools import islice

from tau.ai.wire import AssistantMessage, Cost, Usage
from tau.coding.session import entries as s
from tau.coding.session.log import SessionLog

_PAID = frozenset({"message", "compaction", "branch_summary", "usage"})


class Stats:
    """Counts each entry once, when it is first asked for after that entry came."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._counted = 0
        self._usage = Usage()

    @property
    def usage(self) -> Usage:
        """All tokens and all money, failed and aborted answers and summaries included: they were paid for."""
        for node in list(islice(self._log.nodes(), self._counted, None)):
            self._counted += 1
            if node.type in _PAID and (paid := _usage_of(self._log.decode(node))) is not None:
                self._usage = added(self._usage, paid)
        return self._usage


def _usage_of(entry: s.KnownEntry | None) -> Usage | None:
    match entry:
        case s.MessageEntry(message=AssistantMessage(usage=usage)) | s.UsageEntry(usage=usage):
            return usage
        case s.CompactionEntry() | s.BranchSummaryEntry():
            return entry.usage if isinstance(entry.usage, Usage) else None
    return None


def added(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
        cost=Cost(
            input=one.cost.input + other.cost.input,
            output=one.cost.output + other.cost.output,
            cache_read=one.cost.cache_read + other.cost.cache_read,
            cache_write=one.cost.cache_write + other.cost.cache_write,
            total=one.cost.total + other.cost.total,
        ),
    )
