"""Heartbeats: the agent looks around now and then, and speaks only if something needs attention."""

import asyncio
import time

from msgspec.structs import replace

from tau.base.clock import now_ms
from tau.base.tasks import spawn
from tau.relay.answer_parts import compose, strip_token
from tau.relay.message import InboundMessage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.relay.answers import Answer
    from tau.relay.relay import Relay
    from tau.relay.sessions import ChatSession

PROMPT = "HEARTBEAT"


class Heartbeats:
    def __init__(self, relay: "Relay", *, at_once: bool = False) -> None:
        self._relay = relay
        self._next_s = time.monotonic() + (0 if at_once else self._every_s)

    @property
    def _every_s(self) -> int:
        return self._relay.config.inbound.reply.heartbeat_minutes * 60

    async def beat_if_due(self) -> None:
        reply = self._relay.config.inbound.reply
        if not reply.heartbeat_minutes or reply.mode != "command" or time.monotonic() < self._next_s:
            return
        self._next_s = time.monotonic() + self._every_s
        key = self.target()
        if key and not self._relay.is_busy():
            await self.beat(key)

    def target(self) -> str:
        """The direct chat that was active last."""
        return next(iter(self.targets()), "")

    def targets(self) -> list[str]:
        """The direct chats, those that were active last first."""
        direct = [
            (session.updated_at, key)
            for key, session in self._relay.sessions.by_key.items()
            if not session.is_group and session.channel in self._relay.channels
        ]
        return [key for _, key in sorted(direct, reverse=True)]

    async def beat(self, key: str) -> "Answer | None":
        """Run one heartbeat in a session; returns the answer if there was something to say.

        The session's idle time, and whether it is the current one, stay as they are.
        """
        relay = self._relay
        session: ChatSession = relay.sessions.open(key, heartbeat=True)
        if relay.sessions.by_key.get(key) is not session:
            return None  # it has expired: a heartbeat starts no conversation
        before = session.updated_at, session.aborted_last_run
        message = InboundMessage(
            channel=session.channel,
            account="",
            id="",
            chat=session.chat,
            sender="",
            body=PROMPT,
            sent_ms=now_ms(),
        )

        async def deny(event: dict[str, object]) -> dict[str, object]:
            return {"cancelled": True}

        async with relay.hold_session(key):
            work = relay.answerer.answer(key, session, [message], PROMPT, deny, may_start_over=False)
            run = relay.beats[session.channel, session.chat] = spawn(relay.group, work)
            try:
                await asyncio.wait([run])
            finally:
                run.cancel()
                del relay.beats[session.channel, session.chat]
                session.updated_at, session.aborted_last_run = before
        if run.cancelled():
            return None
        answer = run.result()
        await relay.sessions.save()
        texts = strip_token(answer.texts)
        if not texts or not answer.ok:
            relay.log.write("info", "heartbeat", "nothing to say" if answer.ok else "failed", key=key)
            return None
        answer = replace(answer, texts=texts)
        parts = await compose(relay, replace(answer, media_url=""), session.channel, session.chat)
        await relay.journal.answer([], session.channel, parts)
        relay.outboxes[session.channel].wake()
        return answer
