"""Commands in the chat: /stop /status /sessions /resume /cwd /think /help; /new is a reset trigger."""

import re
from pathlib import Path

from tau.base.clock import now_ms
from tau.relay.message import InboundMessage
from tau.relay.sessions import session_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.relay.relay import Relay
    from tau.relay.sessions import ChatSession

STOP_WORDS = {"stop", "esc", "abort", "wait", "exit", "/stop"}
LEVELS = ("off", "minimal", "low", "medium", "high")
IN_TURN = ("/sessions", "/resume", "/cwd", "/think")
HELP = Path(__file__).parent / "data" / "chat_help.txt"


def is_stop(body: str) -> bool:
    return body.strip().lower() in STOP_WORDS


class ChatCommands:
    def __init__(self, relay: "Relay") -> None:
        self._relay = relay
        patterns = relay.config.inbound.group_chat.mention_patterns
        self.mention_patterns = [re.compile(pattern, re.IGNORECASE) for pattern in patterns]

    def is_command(self, message: InboundMessage) -> bool:
        return message.body.strip().partition(" ")[0] in IN_TURN

    def at_once(self, message: InboundMessage) -> str | None:
        """The reply to a command that does not wait its turn."""
        match message.body.strip():
            case "/help":
                return HELP.read_text(encoding="utf-8").strip()
            case "/status":
                return self._status(message)
        return None

    async def in_turn(self, message: InboundMessage) -> str | None:
        """The reply to a command that changes the session, so it waits for the run before it."""
        if not self.is_command(message):
            return None
        name, _, argument = message.body.strip().partition(" ")
        relay = self._relay
        key = session_key(message, relay.config.inbound.reply.session)
        session = relay.sessions.open(key)
        reply = {
            "/sessions": self._list,
            "/resume": self._resume,
            "/cwd": self._choose_project,
            "/think": self._think,
        }[name](key, session, argument.strip())
        await relay.sessions.save()
        return reply

    def _status(self, message: InboundMessage) -> str:
        relay = self._relay
        queue = relay.queues.get((message.channel, message.chat))
        session = relay.sessions.by_key.get(session_key(message, relay.config.inbound.reply.session))
        running = sum(one.run is not None for one in relay.queues.values())
        lines = [
            f"Agent: {relay.config.inbound.reply.agent.kind}, {'working' if queue and queue.run else 'idle'}",
            f"Waiting here: {len(queue.waiting) if queue else 0}; running in all chats: {running}",
        ]
        if session is not None:
            minutes = (now_ms() - session.updated_at) // 60_000
            lines.append(f"Conversation {session.session_id[:8]}, active {minutes} min ago")
        return "\n".join(lines)

    def _list(self, key: str, session: "ChatSession", _: str) -> str:
        earlier = self._relay.sessions.earlier.get(key, [])
        rows = [f"now: {session.session_id}", *(f"{at}. {id}" for at, id in enumerate(earlier, 1))]
        return "\n".join(rows)

    def _resume(self, key: str, session: "ChatSession", argument: str) -> str:
        earlier = self._relay.sessions.earlier.get(key, [])
        if not argument.isdigit() or not 1 <= int(argument) <= len(earlier):
            return "Name one of the numbers that /sessions shows."
        chosen = earlier.pop(int(argument) - 1)
        earlier.insert(0, session.session_id)
        session.start_over()
        session.session_id, session.started = chosen, True
        return f"Resumed conversation {chosen[:8]}."

    def _choose_project(self, key: str, session: "ChatSession", argument: str) -> str:
        projects = self._relay.config.projects
        if not argument:
            names = ", ".join(projects) or "none; add projects to the config"
            return f"Project: {session.project or 'the default folder'}. Known: {names}."
        if argument not in projects:
            return f"Unknown project. Known: {', '.join(projects) or 'none'}."
        if session.project != argument:
            self._relay.sessions.earlier.setdefault(key, []).insert(0, session.session_id)
            session.start_over()
            session.project = argument
        return f"Project {argument}: the next message starts a conversation there."

    def _think(self, key: str, session: "ChatSession", argument: str) -> str:
        if argument not in LEVELS:
            return f"Level: {session.thinking_level or 'default'}. Levels: {', '.join(LEVELS)}."
        session.thinking_level = argument
        return f"Thinking level: {argument}, from the next run on."
