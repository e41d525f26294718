"""Memories on a Hindsight server, as one project's sessions see them."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import Any, TypeVar
from urllib.parse import urlencode

from tau.ai.auth import resolve_value
from tau.ai.http import HttpTransport
from tau.backends.memory.hindsight import (
    ANSWER_S,
    NOT_FOUND,
    BankStats,
    FoundFacts,
    HindsightClient,
    HindsightError,
    HindsightFact,
    MentalModel,
    MentalModels,
    Reflection,
)
from tau.backends.memory.retain_queue import QueuedMemory, RetainQueue
from tau.backends.memory.store import clean_memory
from tau.base import log
from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.run import Runner
from tau.base.tasks import Background
from tau.base.text import clean_line, plain, quantity, shortened
from tau.coding.memory.port import MemoryRow, fitting, indented
from tau.coding.project_memory import ProjectMemory, primary_checkout, shown
from tau.coding.untrusted_text import fence
from tau.config.paths import Paths
from tau.config.settings import HindsightSettings

T = TypeVar("T")

NAME = "tau"
MODELS_S, END_S = 1.5, 2.0
REFLECT_S = 120.0
MAX_QUERY_CHARS = 4_000
MAX_DOCUMENT_CHARS = 200_000
MAX_MODELS = 50
CONFLICT = 409
# Mental models of a new bank: id, name, the question that the server keeps answered. The first is about the
# user in all projects.
SEEDS = (
    ("user-preferences", "User preferences", "How does the user like to work, and what do they prefer?"),
    ("project-conventions", "Project conventions", "Which conventions and commands does this project use?"),
    ("project-decisions", "Project decisions", "What was decided about this project, and why?"),
)


class HindsightMemory:
    """Implements `Memory`. Nothing is sent before it is needed."""

    local: ProjectMemory | None = None
    stored = "queued"

    def __init__(
        self, client: HindsightClient, folder: Path, settings: HindsightSettings, project: str
    ) -> None:
        self._background = Background()
        self.client, self.remote = client, self
        self.queue = RetainQueue(folder, client, self._background)
        self.settings = settings
        self.retains = settings.auto_retain
        self.recalled: list[MemoryRow] = []
        self.retain_now: Callable[[], Awaitable[int]] | None = None
        name = "-".join(filter(None, (settings.bank_id_prefix, settings.bank_id or NAME)))
        self.bank = f"{name}-{project}" if settings.scoping == "per-project" else name
        self.tags = [f"project:{project}"] if settings.scoping == "per-project-tagged" else []
        self._models: list[MentalModel] = []
        self._models_until = 0.0
        self._turns: list[tuple[str, str]] = []
        self._part = 1
        self._started = iso(now_ms())

    @property
    def hosts(self) -> tuple[str, ...]:
        return (self.client.host,)

    async def find_rows(self, query: str, *, scored: bool = False) -> list[MemoryRow]:
        body = {
            "query": query[:MAX_QUERY_CHARS],
            "budget": self.settings.recall_budget,
            "max_tokens": self.settings.recall_max_tokens,
            "types": self.settings.recall_types,
            **self._scope,
        }
        found = await self.ask("POST", "/memories/recall", FoundFacts, _masked(body))
        return [MemoryRow(_row(fact)) for fact in found.results if fact.text.strip()]

    async def retain(self, items: Sequence[tuple[str, str]]) -> int:
        """Raises MemoryStoreError."""
        queued = [
            self._queued(text, context, _digest(self.bank, *self.tags, text)) for text, context in items
        ]
        await asyncio.to_thread(self.queue.add, queued)
        self.queue.wake()
        return len(queued)

    async def reflect(self, query: str, context: str) -> str:
        body = {"query": query, "budget": self.settings.recall_budget, **self._scope}
        body |= {"context": context} if context else {}
        found = await self.ask("POST", "/reflect", Reflection, _masked(body), limit_s=REFLECT_S)
        return plain(found.text).strip()

    async def block(self, query: str, max_chars: int) -> tuple[str, list[MemoryRow]]:
        """What rides with a user's message: the mental models, and what matches. The text is fenced."""
        searching = self.find_rows(query), self._known_models()
        rows, known = await asyncio.gather(*searching, return_exceptions=True)
        if isinstance(rows, BaseException):
            raise rows
        used = fitting(rows, max_chars)
        texts = "\n".join(row.text for row in used)
        models = [] if isinstance(known, BaseException) else known
        summaries = render_models(models, self.settings.mental_model_max_render_chars)
        origin = f"the Hindsight server {self.client.host}"
        parts = [(tag, text) for tag, text in (("mental_models", summaries), ("memories", texts)) if text]
        return "\n".join(f"<{tag}>\n{fence([text], origin)[0]}\n</{tag}>" for tag, text in parts), used

    async def learn(self, said: Sequence[tuple[str, str]], session: str) -> int:
        """Queue the conversation, from which the server extracts memories."""
        turns = sum(who == "user" for who, _ in said)
        self._turns += said
        document = f"{session}-{_digest(self._started)[:8]}"
        if self.settings.retain_mode == "last-turn":
            self._turns = _latest(self._turns, turns + self.settings.retain_overlap_turns)
            self._part += 1
        elif sum(len(text) for _, text in self._turns) > MAX_DOCUMENT_CHARS:
            self._turns, self._part = list(said), self._part + 1
        text = "\n\n".join(f"{who}: {each}" for who, each in self._turns)
        item = self._queued(text, self.settings.retain_context, f"{document}-{self._part}", session)
        await asyncio.to_thread(self.queue.add, [item])
        self.queue.wake()
        return 1

    async def mental_models(self) -> list[MentalModel]:
        """Cached; seeded in a new bank."""
        if not self.settings.mental_models_enabled or monotonic() < self._models_until:
            return self._models
        path = (
            f"/mental-models?{urlencode({'detail': 'content', 'limit': MAX_MODELS, 'tags': self.tags}, True)}"
        )
        found = [*await self._shared_models(), *(await self.ask("GET", path, MentalModels)).items]
        self._models = found
        self._models_until = monotonic() + self.settings.mental_model_refresh_interval_ms / 1_000
        return found

    async def _known_models(self) -> list[MentalModel]:
        """Without those of a server that is slow to list them; memories are worth more."""
        try:
            async with asyncio.timeout(MODELS_S):
                found = await self.mental_models()
        except (TauError, TimeoutError) as error:
            log.warning("The mental models were not fetched.", error)
            return self._models
        own = {self._seed_id(number) for number in range(1, len(SEEDS))}
        wanted = self.settings.mental_models_enabled and self.settings.mental_model_auto_seed
        if wanted and own.isdisjoint(model.id for model in found):
            self._background.start(self._seed_quietly())
        return found

    async def _shared_models(self) -> list[MentalModel]:
        """A list with tags leaves out models without tags."""
        if not self.tags:
            return []
        try:
            return [await self.ask("GET", f"/mental-models/{SEEDS[0][0]}?detail=content", MentalModel)]
        except HindsightError as error:
            if error.status != NOT_FOUND:
                raise
            return []

    def _seed_id(self, number: int) -> str:
        """In a bank of several projects, each has its own, except for what is about the user."""
        suffix = f"-{_digest(*self.tags)[:8]}" if self.tags and number else ""
        return SEEDS[number][0] + suffix

    async def _seed_quietly(self) -> None:
        try:
            await self.seed()
        except TauError as error:
            log.warning("The mental models were not created.", error)

    async def seed(self) -> int:
        """Create the mental models that are missing; returns how many."""
        made = 0
        for number, (_, name, question) in enumerate(SEEDS):
            tags = self.tags if number else []
            body = {"id": self._seed_id(number), "name": name, "source_query": question, "tags": tags}
            try:
                await self.ask("POST", "/mental-models", dict[str, Any], body)
                made += 1
            except HindsightError as error:
                if error.status != CONFLICT:
                    raise
        return made

    def forget_models(self) -> None:
        self._models_until = 0.0

    async def describe(self) -> list[str]:
        """The state of the server and of the queue. Raises TauError."""
        stats, waiting = await self.ask("GET", "/stats", BankStats), len(self.queue.waiting())
        count = quantity(stats.total_nodes, "memory", "memories")
        return [
            f"{count} in the bank {self.bank} at {self.client.host}",
            f"{waiting:,} waiting to be sent, {stats.pending_operations:,} being processed,"
            f" {stats.failed_operations:,} failed on the server",
        ]

    async def ask(
        self, method: str, path: str, answer: type[T], body: object = None, limit_s: float = ANSWER_S
    ) -> T:
        return await self.client.ask(method, self.bank, path, answer, body, limit_s)

    async def close(self) -> None:
        self.queue.finish()
        await self._background.close(END_S)
        await self.client.close()

    @property
    def _scope(self) -> dict[str, Any]:
        return {"tags": self.tags, "tags_match": "any"} if self.tags else {}

    def _queued(self, text: str, context: str, document: str, session: str = "") -> QueuedMemory:
        return QueuedMemory(
            url=self.client.url,
            bank=self.bank,
            content=clean_memory(text),
            document_id=document,
            timestamp=iso(now_ms()),
            context=clean_memory(context),
            tags=self.tags,
            metadata={"session": session} if session else {},
        )


def open_hindsight(
    paths: Paths, cwd: Path, settings: HindsightSettings, environ: Mapping[str, str], runner: Runner
) -> HindsightMemory:
    """`runner` runs the command that prints the key, if a command does."""

    async def find_key() -> str | None:
        return await resolve_value(settings.api_token, environ, runner) if settings.api_token else None

    missions = {"reflect_mission": settings.bank_mission, "retain_mission": settings.retain_mission}
    profile = {name: text for name, text in missions.items() if text}
    client = HindsightClient(
        settings.api_url, HttpTransport(environ), find_key, profile, debug=settings.debug
    )
    project = primary_checkout(cwd).name or "root"
    return HindsightMemory(client, paths.home / "memory" / "hindsight-queue", settings, project)


def render_models(models: Sequence[MentalModel], max_chars: int) -> str:
    """What fits of the mental models that have content."""
    text = "\n\n".join(
        f"{clean_line(model.name or model.id)}:\n{plain(model.content).strip()}"
        for model in models
        if model.content
    )
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text):,} characters)"


def _row(fact: HindsightFact) -> str:
    notes = "".join(
        f" {left}{shortened(clean_line(text), 40)}{right}"
        for left, text, right in (("[", fact.type, "]"), ("(", fact.mentioned_at, ")"))
        if text
    )
    return f"- {indented(shown(plain(fact.text).strip()))}{notes}"


def _latest(turns: Sequence[tuple[str, str]], count: int) -> list[tuple[str, str]]:
    """The messages of the last turns; each begins with the user."""
    starts = [place for place, (who, _) in enumerate(turns) if who == "user"]
    return list(turns[starts[-count] :] if count < len(starts) else turns)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:32]


def _masked(body: dict[str, Any]) -> dict[str, Any]:
    return {name: clean_memory(value) if isinstance(value, str) else value for name, value in body.items()}
