"""Recalls memories before the first request and after compaction, and retains what user and agent said."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from tau.agent.events import AgentEvent, AgentSettled, MessageEnd, Notice
from tau.agent.hooks import Hooks, RunStart
from tau.agent.queue import Queue, typed_text
from tau.ai.wire import AssistantMessage, CustomMessage, UserMessage
from tau.base import log
from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.base.tasks import Background
from tau.coding.memory.model import MemoryModel
from tau.coding.memory.port import Memory
from tau.coding.project_memory import NewMemory, ProjectMemory, shown
from tau.coding.session.storage.log import SessionLog
from tau.config.settings import HindsightSettings, MemorySettings

KIND = "memories"
RECALL_S = 2.0
EXTRACT_S = 60.0
END_S = 5.0
MAX_TRANSCRIPT_CHARS = 40_000
MAX_MESSAGE_CHARS = 6_000
MAX_NEW = 20
MAX_NEW_CHARS = 2_000
KNOWN = 20
Learn: TypeAlias = Callable[[Sequence[tuple[str, str]], str], Awaitable[int]]
_BLOCK = re.compile(r"<memories>.*?</memories>", re.DOTALL)


class AutomaticMemory(Hooks):
    """One per session; subagents have none."""

    def __init__(
        self,
        memory: Memory,
        settings: MemorySettings | HindsightSettings,
        max_chars: int,
        conversation: SessionLog,
        learn: Learn,
        queue: Queue,
        emit: Callable[[Notice], None],
        background: Background,
    ) -> None:
        self._memory = memory
        self._settings = settings
        self._max_chars = max_chars
        self._learn = learn
        self._queue = queue
        self._emit = emit
        self._background = background
        self._session = conversation.header.id
        earlier = [message for message in conversation.messages() if isinstance(message, CustomMessage)]
        self._is_due = not any(message.custom_type == KIND for message in earlier)
        self._asked: list[str] = []
        self._said: list[tuple[str, str]] = []
        self._turns = 0
        self._learning = asyncio.Lock()
        if memory.retains:
            memory.retain_now = self.retain_now

    async def before_run(self, start: RunStart) -> RunStart:
        self._asked = [*self._asked, typed_text(start.message)][-self._settings.recall_context_turns :]
        if not self._is_due:
            return start
        note = await self._note()
        return start if note is None else replace(start, notes=(*start.notes, note))

    async def after_compact(self, summary: str, *, automatic: bool) -> None:
        """The block was summarized away: the next request, or that of the run under way, gets a new one."""
        self._is_due = True
        if automatic and self._asked and (note := await self._note()) is not None:
            self._queue.aside(note)

    async def session_end(self, reason: str) -> None:
        if self._turns:
            self._start_extraction()
        await self._background.close(END_S)

    def observe(self, event: AgentEvent) -> None:
        """Collect messages, never results of tools, and retain from them after some turns."""
        match event:
            case MessageEnd(message=UserMessage() as message):
                self._add("user", typed_text(message))
            case MessageEnd(message=AssistantMessage() as message):
                self._add("assistant", message.text)
            case AgentSettled(aborted=False):
                self._turns += 1
                if self._turns >= self._settings.retain_every_n_turns:
                    self._start_extraction()

    async def retain_now(self) -> int:
        """Retain from the messages since the last time; returns how many are new. Raises TauError."""
        said, self._said, self._turns = self._said, [], 0
        if not said:
            return 0
        async with self._learning:
            return await self._learn(said, self._session)

    def _add(self, who: str, text: str) -> None:
        clean = _BLOCK.sub("", text).strip()[:MAX_MESSAGE_CHARS]
        if clean and self._memory.retains:
            self._said.append((who, clean))
            while sum(len(each) for _, each in self._said) > MAX_TRANSCRIPT_CHARS:
                self._said.pop(0)

    def _start_extraction(self) -> None:
        async def work() -> None:
            try:
                await self.retain_now()
            except TauError as error:
                log.warning("Nothing was retained.", error)

        if self._memory.retains and any(who == "user" for who, _ in self._said):
            self._background.start(work())

    async def _note(self) -> CustomMessage | None:
        """The memories for what was asked lately, as a message; at most 2 seconds of waiting."""
        self._is_due = False
        if not self._settings.auto_recall:
            return None
        query = "\n".join(self._asked)[-self._settings.recall_max_query_chars :]
        try:
            async with asyncio.timeout(RECALL_S):
                block, used = await self._memory.block(query, self._max_chars)
        except (TauError, TimeoutError) as error:
            log.warning("No memories were recalled.", error)
            return None
        if used:
            self._memory.recalled = used
            noun = "memory" if len(used) == 1 else "memories"
            self._emit(Notice("info", f"Recalled {len(used)} {noun}; /memory shows them."))
        return CustomMessage(KIND, block, display=False, timestamp=now_ms()) if block else None


async def extract(
    memory: ProjectMemory | None, model: MemoryModel, said: Sequence[tuple[str, str]], session: str
) -> int:
    """Have the model extract memories, and store them; returns how many are new."""
    assert memory is not None
    text = "\n\n".join(f"<{who}>\n{each}\n</{who}>" for who, each in said)
    known = await memory.similar(text, KNOWN)
    rows = "\n".join(f"- {item.id}: {shown(item.text)}" for item in known)
    prompt = f"<existing>\n{rows}\n</existing>\n\n<conversation>\n{text}\n</conversation>"
    wanted = parse_memories(await model.ask("extract", prompt, EXTRACT_S))
    return await memory.merge(wanted, {item.id for item in known}, session)


def parse_memories(answer: str) -> list[NewMemory]:
    """The memories of a model's answer; none if it is not what was asked for."""
    start, end = answer.find("["), answer.rfind("]")
    if not 0 <= start < end:
        return []
    try:
        found = msgspec.json.decode(answer[start : end + 1], type=list[NewMemory], strict=False)
    except msgspec.DecodeError as error:
        log.warning("The model's memories cannot be read.", error)
        return []
    return [one for one in found if one.content.strip() and len(one.content) <= MAX_NEW_CHARS][:MAX_NEW]
