"""Memories on a Hindsight server, as one project's sessions see them."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self

from tau.ai.auth import resolve_value
from tau.ai.http import HttpTransport
from tau.backends.memory.hindsight import (
    ANSWER_S,
    HindsightAnswer,
    HindsightClient,
    HindsightError,
    HindsightFact,
    MentalModel,
)
from tau.backends.memory.retain_queue import RetainQueue
from tau.backends.memory.store import clean_memory
from tau.base import log
from tau.base.clock import iso, now_ms
from tau.base.errors import TauError
from tau.base.run import Runner
from tau.base.tasks import Background
from tau.base.text import clean_line, plain, quantity, shortened
from tau.coding.memory.port import MemoryRow, fitting, indented
from tau.coding.project_memory import primary_checkout, shown
from tau.coding.untrusted_text import fence
from tau.config.paths import Paths
from tau.config.settings import HindsightSettings

if TYPE_CHECKING:
    from tau.coding.project_memory import ProjectMemory

NAME = "tau"
MODELS_S, END_S = 1.5, 2.0
REFLECT_S = 120.0
MAX_QUERY_CHARS = 4_000
MAX_DOCUMENT_CHARS = 200_000
MAX_MODELS = 100
CONFLICT = 409
# Mental models of a new bank, and the question that each answers. The first is about the user everywhere.
USER = "user-preferences"
SEEDS = {
    USER: "How does the user like to work, and what do they prefer?",
    "project-conventions": "Which conventions and commands does this project use?",
    "project-decisions": "What was decided about this project, and why?",
}


class HindsightMemory:
    """Implements `Memory`. Nothing is sent before it is needed."""

    local: "ProjectMemory | None" = None
    stored = "queued"

    def __init__(
        self, paths: Paths, cwd: Path, settings: HindsightSettings, environ: Mapping[str, str], runner: Runner
    ) -> None:
        """`runner` runs the command that prints the key, if one does. Raises ProviderError."""
        self.settings, self._environ, self._runner = settings, environ, runner
        missions = {"reflect_mission": settings.bank_mission, "retain_mission": settings.retain_mission}
        profile = {name: text for name, text in missions.items() if text}
        transport = HttpTransport(environ)
        self.client = HindsightClient(settings.api_url, transport, self._find_key, profile, settings.debug)
        self.remote: HindsightMemory | None = self
        self._background = Background()
        self.queue = RetainQueue(paths.home / "memory" / "hindsight-queue", self.client, self._background)
        self.hosts: tuple[str, ...] = (self.client.place.authority,)
        self.retains = settings.auto_retain
        self.recalled: list[MemoryRow] = []
        self.retain_now: Callable[[], Awaitable[int]] | None = None
        project = primary_checkout(cwd).name or "root"
        name = "-".join(filter(None, (settings.bank_id_prefix, settings.bank_id or NAME)))
        self.bank = f"{name}-{project}" if settings.scoping == "per-project" else name
        self.tags = [f"project:{project}"] if settings.scoping == "per-project-tagged" else []
        self._scope = {"tags": self.tags, "tags_match": "any"} if self.tags else {}
        self._models: list[MentalModel] = []
        self.models_until = 0.0
        self._turns: list[tuple[str, str]] = []
        self._document, self._part = _digest(iso(now_ms()))[:8], 1

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        self.queue.finish()
        await self._background.close(END_S)
        await self.client.transport.close()

    async def _find_key(self) -> str | None:
        named = self.settings.api_token
        return await resolve_value(named, self._environ, self._runner) if named else None

    async def ask(
        self, method: str, path: str, body: Mapping[str, object] | None = None, limit_s: float = ANSWER_S
    ) -> HindsightAnswer:
        """Ask about the bank. Raises TauError."""
        if body is not None:
            body = {key: clean_memory(one) if isinstance(one, str) else one for key, one in body.items()}
        return await self.client.ask(method, self.bank, path, body, limit_s)

    async def find_rows(self, query: str, *, scored: bool = False) -> list[MemoryRow]:
        own = self.settings
        limits = {"budget": own.recall_budget, "max_tokens": own.recall_max_tokens, "types": own.recall_types}
        body = {"query": query[:MAX_QUERY_CHARS], **limits, **self._scope}
        found = await self.ask("POST", "/memories/recall", body)
        return [MemoryRow(_row(fact)) for fact in found.results if fact.text.strip()]

    async def retain(self, items: Sequence[tuple[str, str]]) -> int:
        """Raises MemoryStoreError."""
        texts = [self._text(text, context, _digest(self.bank, *self.tags, text)) for text, context in items]
        await self.queue.add(texts, self.bank)
        return len(texts)

    async def reflect(self, query: str, context: str) -> str:
        body = {"query": query, "context": context, "budget": self.settings.recall_budget, **self._scope}
        found = await self.ask("POST", "/reflect", body, REFLECT_S)
        return plain(found.text).strip()

    async def block(self, query: str, max_chars: int) -> tuple[str, list[MemoryRow]]:
        """What rides with a user's message: the mental models, and what matches. The text is fenced."""
        searching = self.find_rows(query), self._known_models()
        rows, models = await asyncio.gather(*searching, return_exceptions=True)
        if isinstance(rows, BaseException):
            raise rows
        used = fitting(rows, max_chars)
        shown_models = "" if isinstance(models, BaseException) else self._render(models)
        parts = {"mental_models": shown_models, "memories": "\n".join(row.text for row in used)}
        origin = f"the Hindsight server {self.hosts[0]}"
        texts = [f"<{tag}>\n{fence([text], origin)[0]}\n</{tag}>" for tag, text in parts.items() if text]
        return "\n".join(texts), used

    async def learn(self, said: Sequence[tuple[str, str]], session: str) -> int:
        """Queue the conversation, from which the server extracts memories."""
        self._turns += said
        if self.settings.retain_mode == "last-turn":
            starts = [place for place, (who, _) in enumerate(self._turns) if who == "user"]
            count = sum(who == "user" for who, _ in said) + self.settings.retain_overlap_turns
            self._turns = self._turns[starts[-count] :] if count < len(starts) else self._turns
            self._part += 1
        elif sum(len(text) for _, text in self._turns) > MAX_DOCUMENT_CHARS:
            self._turns, self._part = list(said), self._part + 1
        text = "\n\n".join(f"{who}: {each}" for who, each in self._turns)
        document = f"{session}-{self._document}-{self._part}"
        item = self._text(text, self.settings.retain_context, document, session)
        await self.queue.add([item], self.bank)
        return 1

    async def mental_models(self) -> list[MentalModel]:
        """Those of the project and of all projects; cached. Raises TauError."""
        if self.settings.mental_models_enabled and monotonic() >= self.models_until:
            found = (await self.ask("GET", f"/mental-models?detail=content&limit={MAX_MODELS}")).items
            own = set(self.tags)
            self._models = [one for one in found if not (own and one.tags and own.isdisjoint(one.tags))]
            self.models_until = monotonic() + self.settings.mental_model_refresh_interval_ms / 1_000
            own_ids = {self._seed_id(name) for name in SEEDS if name != USER}
            if self.settings.mental_model_auto_seed and own_ids.isdisjoint(one.id for one in self._models):
                self._background.start(self.seed())
        return self._models

    async def seed(self) -> None:
        """Create the mental models that are missing. Raises TauError."""
        for name, question in SEEDS.items():
            body = {"id": self._seed_id(name), "name": name.replace("-", " ").capitalize()}
            tags = self.tags if name != USER else []
            try:
                await self.ask("POST", "/mental-models", {**body, "source_query": question, "tags": tags})
            except HindsightError as error:
                if error.status != CONFLICT:
                    raise

    def _seed_id(self, name: str) -> str:
        """In a bank of several projects, each has its own, except for what is about the user."""
        return f"{name}-{_digest(*self.tags)[:8]}" if self.tags and name != USER else name

    async def _known_models(self) -> list[MentalModel]:
        """Without those of a server that is slow to list them; memories are worth more."""
        try:
            async with asyncio.timeout(MODELS_S):
                return await self.mental_models()
        except (TauError, TimeoutError) as error:
            log.warning("The mental models were not fetched.", error)
            return self._models

    def _render(self, models: Sequence[MentalModel]) -> str:
        rows = [f"{clean_line(one.name)}:\n{plain(one.content).strip()}" for one in models if one.content]
        return shortened("\n\n".join(rows), self.settings.mental_model_max_render_chars)

    async def describe(self) -> list[str]:
        """The state of the server and of the queue. Raises TauError."""
        stats = await self.ask("GET", "/stats")
        count = quantity(stats.total_nodes, "memory", "memories")
        waiting = f"{len(self.queue.waiting()):,} waiting to be sent"
        server = f"{stats.pending_operations:,} being processed, {stats.failed_operations:,} failed"
        return [f"{count} in the bank {self.bank} at {self.hosts[0]}", f"{waiting}; on the server, {server}"]

    def _text(self, text: str, context: str, document: str, session: str = "") -> dict[str, object]:
        texts = {"content": clean_memory(text), "context": clean_memory(context), "document_id": document}
        more = {"metadata": {"session": session}} if session else {}
        return {**texts, "timestamp": iso(now_ms()), "tags": self.tags, **more}


def _row(fact: HindsightFact) -> str:
    notes = [f"[{fact.type}]"] if fact.type else []
    notes += [f"({fact.mentioned_at})"] if fact.mentioned_at else []
    return " ".join(["-", indented(shown(plain(fact.text).strip())), *map(clean_line, notes)])


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:32]
