"""Prompt history: this session's prompts first, then those of all sessions, one step at a time."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from tau.agent.queue import typed_text
from tau.ai.wire import UserMessage
from tau.base import secrets
from tau.base.clock import now_ms
from tau.base.late import late
from tau.base.tasks import shielded
from tau.coding.session.session import Session
from tau.modes.interactive.screen_protocols import ScreenPorts
from tau.tui.widgets.editor.history import HistoryEntry
from tau.tui.widgets.editor.model import EditorDraft

prompt_history = late("tau.coding.session_index.prompt_history")

MAX_PROMPTS = 2_000
MAX_CHARS = 4_000_000
"""Total size of the texts kept in memory."""
MAX_OF_SESSION = 500


class PromptRecall:
    """Implements the editor's `History`. The database is read when older prompts are first needed.

    Keys of prompts sent here count up from 0, those of older prompts count down: later ones are greater.
    """

    def __init__(self, ports: ScreenPorts) -> None:
        self._display, self._current, _, self._tasks, _ = ports
        self._editor = self._display.editor
        self._sent: list[str] = []
        self._past: list[str] | None = None
        self._loading = False

    def forget(self) -> None:
        """Another session is shown: look up its prompts again."""
        self._past = None
        self._sent = []

    def add(self, text: str) -> None:
        """Remember a sent prompt here and, with secrets masked, for other sessions."""
        self.note(text)
        current = self._current
        # Even if it is the last thing sent here.
        saving = asyncio.to_thread(_remember, self._path, text, current.cwd)
        self._tasks.start(shielded(saving))

    def note(self, text: str) -> None:
        """Remember it only here."""
        text = text.strip()
        if text and self._sent[-1:] != [text]:
            self._sent = [*self._sent[-MAX_OF_SESSION + 1 :], text]

    def older(self, than: int | None) -> HistoryEntry | None:
        at = len(self._sent) if than is None else than
        if at > 0:
            return HistoryEntry(at - 1, self._sent[at - 1])
        if self._past is None:
            self._load()
            return None
        place = 0 if at == 0 else -at
        return HistoryEntry(-place - 1, self._past[place]) if place < len(self._past) else None

    def newer(self, than: int) -> HistoryEntry | None:
        at = than + 1
        if at >= 0:
            return HistoryEntry(at, self._sent[at]) if at < len(self._sent) else None
        past = self._past or []
        return HistoryEntry(at, past[-at - 1]) if -at <= len(past) else None

    def search(self, words: str, limit: int = 50) -> Sequence[HistoryEntry]:
        """Search what is in memory; Ctrl+R searches everything."""
        terms = words.casefold().split()
        prompts = [(at, self._sent[at]) for at in range(len(self._sent) - 1, -1, -1)]
        prompts += [(-place - 1, text) for place, text in enumerate(self._past or [])]
        rows = [row for row in prompts if all(word in row[1].casefold() for word in terms)]
        return [HistoryEntry(*row) for row in rows[:limit]]

    async def all(self) -> "list[prompt_history.PastPrompt]":
        """All known prompts, this session's first, without duplicates."""
        own = [*reversed(self._sent), *session_prompts(self._current.session)]
        past = await asyncio.to_thread(_recent, self._path)
        times = {prompt.text: prompt for prompt in reversed(past)}
        here, now = str(self._current.cwd), now_ms()
        prompts = {
            # A prompt sent a moment ago may not be written yet.
            text: times.get(text) or prompt_history.PastPrompt(text, here, now if text in self._sent else 0)
            for text in own
        }
        for prompt in past:
            prompts.setdefault(prompt.text, prompt)
        return list(prompts.values())

    @property
    def _path(self) -> Path:
        return self._current.paths.home / prompt_history.FILE_NAME

    def _load(self) -> None:
        if not self._loading:
            self._loading = True
            self._tasks.start(self._load_past(self._editor.draft()))

    async def _load_past(self, asked_with: EditorDraft) -> None:
        try:
            session = self._current.session
            past = await self.all()
            if self._current.session is session:
                sent = set(self._sent)
                self._past = list(_limit(prompt.text for prompt in past if prompt.text not in sent))
                if self._editor.draft() == asked_with:
                    self._step_back()
        finally:
            self._loading = False

    def _step_back(self) -> None:
        """Older prompts have arrived: make the step that requested them."""
        if self._display.screen.focused is self._editor:
            self._editor.do("tui.editor.cursorUp")
            self._display.request_render()


def session_prompts(session: Session | None) -> list[str]:
    """The user's prompts of a session, as far as in memory, latest first."""
    messages = [] if session is None else session.log.context().messages
    texts = [typed_text(message).strip() for message in messages if isinstance(message, UserMessage)]
    return [text for text in reversed(texts) if text][:MAX_OF_SESSION]


def _limit(texts: Iterable[str]) -> Iterable[str]:
    chars = 0
    for text in texts:
        chars += len(text)
        if chars > MAX_CHARS:
            return
        yield text


def _remember(path: Path, text: str, cwd: Path) -> None:
    if text.startswith("/login"):
        text = "/login"  # the rest may be a key
    history = prompt_history.PromptHistory(path)
    history.add(secrets.mask(text), cwd)
    history.close()


def _recent(path: Path) -> "list[prompt_history.PastPrompt]":
    history = prompt_history.PromptHistory(path)
    prompts = history.recent(MAX_PROMPTS)
    history.close()
    return prompts
