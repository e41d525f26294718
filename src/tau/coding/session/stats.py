"""Usage of a session so far, over its whole tree."""

from collections.abc import Callable, Iterable
from functools import cache
from itertools import islice

import msgspec
from msgspec import UNSET, Struct, UnsetType, field
from msgspec.structs import replace

from tau.agent.loop_owner import Complete
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, CacheMiss, Cost, Usage
from tau.base.clock import from_iso
from tau.coding.session.context import EntryNode
from tau.coding.session.entries import UsageEntry
from tau.coding.session.storage.log import SessionLog

ANSWER = "answer"
_PAID = frozenset({"message", "compaction", "branch_summary", "usage"})
_COUNTED = _PAID | {"model_change"}


class _Part(Struct, frozen=True, gc=False):
    type: str = ""


class _MessageUsage(Struct, frozen=True, rename="camel"):
    """The counted fields of a message; the rest is skipped when decoding."""

    role: str = ""
    content: str | list[_Part] = ""
    provider: str = ""
    model: str = ""
    usage: Usage | UnsetType = UNSET
    stop_reason: str = ""


class UsageRecord(Struct, frozen=True, rename="camel"):
    """The usage fields of any line of a session file."""

    type: str
    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""
    message: _MessageUsage | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    kind: str = ""
    provider: str = ""
    model: str = ""
    model_id: str = ""
    role: str = ""


@cache
def _decoder() -> "msgspec.json.Decoder[UsageRecord]":
    return msgspec.json.Decoder(UsageRecord)


class RequestCost(Struct, frozen=True, gc=False):
    """One request and its cost. `turn` is the entry of the user message it was made for.

    `kind` is "answer", "compaction", "branch_summary", or the kind of a side request.
    """

    turn: str
    time_ms: int
    kind: str
    provider: str
    model: str
    usage: Usage
    failed: bool = False


class CostLedger(Struct):
    """Takes the lines of one session in file order and returns the cost of each.

    A summary does not name its model: its cost goes to the model that its branch was using.
    """

    _places: dict[str, tuple[str, tuple[str, str]]] = {}  # turn and model, by entry
    _last: tuple[str, tuple[str, str]] = ("", ("", ""))
    _models: dict[tuple[str, str], tuple[str, str]] = {}  # one copy of each name

    def add(self, line: UsageRecord) -> RequestCost | None:
        place = turn, model = self._places.get(line.parent_id or "", self._last)
        message, cost = line.message, None
        if line.type == "message" and isinstance(message, _MessageUsage):
            if message.role == "user":
                place = (line.id, model)
            elif message.role == "assistant":
                named = (message.provider, message.model)
                if named != model:
                    place = (turn, self._models.setdefault(named, named))
                if isinstance(message.usage, Usage):
                    failed = message.stop_reason in ("error", "aborted")
                    cost = RequestCost(
                        turn, from_iso(line.timestamp), ANSWER, *place[1], message.usage, failed
                    )
        elif line.type == "model_change":
            named = _chosen_model(line) or model
            place = (turn, self._models.setdefault(named, named))
        elif line.type in _PAID and isinstance(line.usage, Usage):
            named = (line.provider, line.model) if line.type == "usage" else model
            kind = line.kind if line.type == "usage" else line.type
            cost = RequestCost(turn, from_iso(line.timestamp), kind, *named, line.usage)
        self._last = place
        if line.id:
            self._places[line.id] = place
        return cost


def _chosen_model(line: UsageRecord) -> tuple[str, str] | None:
    if line.model_id:
        return line.provider, line.model_id
    if not line.model or line.role not in ("", "default"):
        return None
    provider, _, id = line.model.partition("/")
    return provider, id


class Tally:
    __slots__ = ("cost", "requests", "tokens")

    def __init__(self) -> None:
        self.requests = 0
        self.tokens = [0, 0, 0, 0]
        self.cost = [0.0, 0.0, 0.0, 0.0, 0.0]

    def add(self, usage: Usage, requests: int = 1) -> None:
        tokens, cost, dollars = self.tokens, self.cost, usage.cost
        self.requests += requests
        tokens[0] += usage.input
        tokens[1] += usage.output
        tokens[2] += usage.cache_read
        tokens[3] += usage.cache_write
        cost[0] += dollars.input
        cost[1] += dollars.output
        cost[2] += dollars.cache_read
        cost[3] += dollars.cache_write
        cost[4] += dollars.total

    @property
    def usage(self) -> Usage:
        input, output, cache_read, cache_write = self.tokens
        return Usage(input, output, cache_read, cache_write, Cost(*self.cost))


class TurnUsage(Struct, frozen=True, rename="camel"):
    """`id` is the entry of the user message; "" before the first one."""

    id: str
    requests: int
    usage: Usage


class ModelUsage(Struct, frozen=True, rename="camel"):
    provider: str
    model: str
    requests: int
    usage: Usage


class TokenCounts(Struct, frozen=True, rename="camel"):
    input: int
    output: int
    cache_read: int
    cache_write: int
    total: int


class SessionStats(Struct, frozen=True, rename="camel", kw_only=True):
    """Usage as modes show it. Messages of all branches count."""

    session_file: str | UnsetType = UNSET
    session_id: str
    user_messages: int
    assistant_messages: int
    tool_calls: int
    tool_results: int
    total_messages: int
    tokens: TokenCounts
    cache_hit_rate: float
    cost: float


def cache_hit_rate(usage: Usage) -> float:
    """The share of the input that came from the provider's cache, from 0 to 1."""
    sent = usage.input + usage.cache_read + usage.cache_write
    return usage.cache_read / sent if sent > 0 else 0.0


def counts(usage: Usage) -> TokenCounts:
    parts = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return TokenCounts(*parts, total=sum(parts))


class UsageStats(Struct):
    """Counts each entry once, on demand.

    `children` returns the usage of subagent sessions, which is part of every sum except `turns`.
    """

    log: SessionLog
    children: Callable[[], Iterable[ModelUsage]] = lambda: ()
    _counted: int = 0
    _ledger: CostLedger = field(default_factory=CostLedger)
    _total: Tally = field(default_factory=Tally)
    _models: dict[tuple[str, str], Tally] = {}
    _roles: dict[str, int] = {}
    _calls: int = 0
    _misses: dict[str, tuple[int, int]] = {}  # by reason: requests and tokens

    @property
    def cache_misses(self) -> dict[str, tuple[int, int]]:
        """Requests, and tokens that were not read from the cache, by the reason that the server gave."""
        self._count()
        return self._misses

    @property
    def usage(self) -> Usage:
        """All tokens and costs, including failed and aborted answers and summaries: they were paid for."""
        self._count()
        total = self._total.usage
        for child in self.children():
            total = add_usage(total, child.usage)
        return total

    @property
    def turns(self) -> list[TurnUsage]:
        """In order of their first request."""
        tallies: dict[str, Tally] = {}
        ledger = CostLedger()
        for node in self.log.nodes():
            if (cost := ledger.add(self._line(node))) is not None:
                tallies.setdefault(cost.turn, Tally()).add(cost.usage)
        return [TurnUsage(id, tally.requests, tally.usage) for id, tally in tallies.items()]

    @property
    def models(self) -> list[ModelUsage]:
        """Most expensive first."""
        self._count()
        tallies: dict[tuple[str, str], Tally] = {}
        own = (ModelUsage(*name, tally.requests, tally.usage) for name, tally in self._models.items())
        for part in (*own, *self.children()):
            tallies.setdefault((part.provider, part.model), Tally()).add(part.usage, part.requests)
        usages = [ModelUsage(*name, tally.requests, tally.usage) for name, tally in tallies.items()]
        return sorted(usages, key=lambda part: (-part.usage.cost.total, -counts(part.usage).total))

    def summary(self) -> SessionStats:
        usage = self.usage
        roles = self._roles
        return SessionStats(
            session_file=UNSET if self.log.path is None else str(self.log.path),
            session_id=self.log.header.id,
            user_messages=roles.get("user", 0),
            assistant_messages=roles.get("assistant", 0),
            tool_calls=self._calls,
            tool_results=roles.get("toolResult", 0),
            total_messages=sum(roles.values()),
            tokens=counts(usage),
            cache_hit_rate=cache_hit_rate(usage),
            cost=usage.cost.total,
        )

    def _count(self) -> None:
        for node in list(islice(self.log.nodes(), self._counted, None)):
            self._counted += 1
            line = self._line(node)
            if isinstance(line.message, _MessageUsage):
                self._count_message(line.message)
            cost = self._ledger.add(line)
            if cost is not None:
                self._total.add(cost.usage)
                self._models.setdefault((cost.provider, cost.model), Tally()).add(cost.usage)

    def _line(self, node: EntryNode) -> UsageRecord:
        """The usage of an entry, with the log's own id string, to avoid keeping a copy."""
        line = decode_usage(self.log.line(node)) if node.type in _COUNTED else None
        if line is None:
            return UsageRecord(node.type, node.id, node.parent_id)
        return replace(line, id=node.id)

    def _count_message(self, message: _MessageUsage) -> None:
        self._roles[message.role] = self._roles.get(message.role, 0) + 1
        if message.role == "assistant" and isinstance(message.content, list):
            self._calls += sum(part.type == "toolCall" for part in message.content)
        if isinstance(message.usage, Usage) and isinstance(miss := message.usage.cache_miss, CacheMiss):
            requests, tokens = self._misses.get(miss.reason, (0, 0))
            self._misses[miss.reason] = (requests + 1, tokens + miss.tokens)


def decode_usage(line: bytes) -> UsageRecord | None:
    try:
        return _decoder().decode(line)
    except (ValueError, RecursionError):
        return None


def add_usage(one: Usage, other: Usage) -> Usage:
    tally = Tally()
    tally.add(one)
    tally.add(other)
    return tally.usage


def record_costs(complete: Complete, log: SessionLog, kind: str = "tool") -> Complete:
    """Wrap `complete` so that the cost of each request is logged, if no other entry records it."""

    async def ask(model: Model, request: Request) -> AssistantMessage:
        answer = await complete(model, request)
        if log.read_only is None:
            log.append(UsageEntry(kind=kind, provider=model.provider, model=model.id, usage=answer.usage))
        return answer

    return ask
