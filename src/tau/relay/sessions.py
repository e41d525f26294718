"""Conversations: which session id a sender has, when it expires, and what has been sent to it."""

import asyncio
import uuid
from collections.abc import Callable
from pathlib import Path

from msgspec import DecodeError, Struct, ValidationError, json
from msgspec.structs import replace

from tau.base.clock import now_ms
from tau.base.files import write_atomic
from tau.base.tasks import shielded
from tau.relay.agents.output import AgentMeta, AgentUsage
from tau.relay.message import InboundMessage
from tau.relay.settings import SessionSettings

MAX_SESSIONS = 2000


class ChatSession(Struct, rename="camel", omit_defaults=True):
    """One conversation; `started` says that the agent has stored it."""

    session_id: str
    updated_at: int
    started: bool = False
    system_sent: bool = False
    aborted_last_run: bool = False
    channel: str = ""
    chat: str = ""
    is_group: bool = False
    thinking_level: str = ""
    project: str = ""
    usage_sum: AgentUsage = AgentUsage()
    cost_sum: float = 0

    def start_over(self) -> None:
        """Take a new id, for an agent that does not know the old one."""
        self.session_id, self.started, self.system_sent = str(uuid.uuid4()), False, False
        self.usage_sum, self.cost_sum = AgentUsage(), 0


def read_sessions(path: Path) -> dict[str, ChatSession]:
    """Raises DecodeError, ValidationError and UnicodeDecodeError for a broken file."""
    try:
        return json.decode(path.read_bytes(), type=dict[str, ChatSession])
    except FileNotFoundError:
        return {}


def session_key(message: InboundMessage, settings: SessionSettings) -> str:
    if settings.scope == "global":
        return "global"
    if message.is_group:
        return f"group:{message.channel}:{message.chat}"
    return f"{message.channel}:{message.sender or 'unknown'}"


def match_reset(body: str, triggers: tuple[str, ...]) -> tuple[bool, str]:
    """Whether the message starts a new conversation, and the rest of it."""
    text = body.strip()
    for trigger in triggers or ("/new",):
        if text == trigger:
            return True, ""
        if text.startswith(f"{trigger} "):
            return True, text[len(trigger) + 1 :].strip()
    return False, body


class ChatSessions:
    """The session file. A broken one is moved aside, never overwritten."""

    def __init__(self, path: Path, settings: SessionSettings) -> None:
        self._path = path
        self._settings = settings
        self.problem = ""
        self.by_key: dict[str, ChatSession] = self._load()
        self.earlier: dict[str, list[str]] = {}
        self._saving = asyncio.Lock()
        self._unsaved = False
        self.warn: Callable[[str], None] = lambda problem: None

    def _load(self) -> dict[str, ChatSession]:
        try:
            return read_sessions(self._path)
        except (DecodeError, ValidationError, UnicodeDecodeError):
            broken = self._path.with_name(f"{self._path.name}.broken-{now_ms()}")
            self._path.replace(broken)
            self.problem = f"The session file was broken and is now {broken}; conversations start over."
            return {}

    def open(self, key: str, *, reset: bool = False, heartbeat: bool = False) -> ChatSession:
        """The live session of a key, or a new one if it was reset or has been idle for too long."""
        found = self.by_key.get(key)
        minutes = self._settings.idle_minutes
        if heartbeat:
            minutes = self._settings.heartbeat_idle_minutes or minutes
        if found is not None and not reset:
            idle_ms = now_ms() - found.updated_at
            if idle_ms <= minutes * 60_000:
                return found
        fresh = ChatSession(str(uuid.uuid4()), now_ms())
        if found is not None:
            self.earlier.setdefault(key, []).insert(0, found.session_id)
            del self.earlier[key][10:]
            fresh.thinking_level, fresh.project = found.thinking_level, found.project
        if not heartbeat:
            self.by_key[key] = fresh
        return fresh

    async def save(self) -> None:
        """Write the file, in a thread and in order. A full disk costs the file, not the conversation."""
        if len(self.by_key) > MAX_SESSIONS:
            newest = sorted(self.by_key.items(), key=lambda item: item[1].updated_at)[-MAX_SESSIONS:]
            self.by_key = dict(newest)
            self.earlier = {key: ids for key, ids in self.earlier.items() if key in self.by_key}
        self._unsaved = True
        async with self._saving:
            if not self._unsaved:
                return  # another caller wrote what we had to write
            self._unsaved = False
            data = json.format(json.encode(self.by_key), indent=2) + b"\n"
            try:
                await shielded(asyncio.to_thread(write_atomic, self._path, data, mode=0o600))
            except OSError as error:
                self.warn(f'The session file "{self._path}" cannot be saved: {error.strerror}.')


def per_message(meta: AgentMeta, session: ChatSession) -> AgentMeta:
    """Turn sums of the session into values of this message, and remember the sums."""
    usage, cost = meta.usage, meta.cost
    if usage is not None and meta.usage_is_sum:
        usage, session.usage_sum = usage.minus(session.usage_sum), usage
    if cost is not None:
        if meta.cost_is_sum:
            cost, session.cost_sum = max(0.0, cost - session.cost_sum), cost
        else:
            session.cost_sum += cost
    return replace(meta, usage=usage, cost=cost)
