"""The relay: takes messages from channels, queues them per chat, and delivers what the agent answers."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from msgspec import Struct, field

from tau.base.clock import now_ms
from tau.base.files import typed_path
from tau.base.run import LocalRunner
from tau.base.tasks import spawn
from tau.relay.access import AccessList
from tau.relay.agent_run import inherited_by_agents
from tau.relay.answer_parts import compose
from tau.relay.answers import Answer, Answerer
from tau.relay.approvals import Approvals
from tau.relay.channels.channel import ChannelLink, ChatChannel
from tau.relay.chat_commands import ChatCommands, is_stop
from tau.relay.config import RelayHome
from tau.relay.control import ControlServer
from tau.relay.heartbeat import Heartbeats
from tau.relay.inbound_files import remove_old, with_files
from tau.relay.journal import MAX_ATTEMPTS, MessageJournal, OutgoingPart
from tau.relay.live_agents import LiveAgents
from tau.relay.log import RelayLog
from tau.relay.media import MediaGuard
from tau.relay.message import InboundMessage
from tau.relay.outbox import ChannelOutbox
from tau.relay.sessions import ChatSessions, match_reset, session_key
from tau.relay.settings import RelayConfig
from tau.relay.steering import steer
from tau.relay.transcription import transcribe

TICK_S, FIRST_TICK_S = 30.0, 1.0
ABORTED = "Agent was aborted."


class WaitingMessage(Struct, frozen=True):
    number: int
    message: InboundMessage
    since_ms: int


class ChatQueue(Struct, eq=False):
    """What waits in one chat, and the run that answers now."""

    channel: str
    chat: str
    waiting: deque[WaitingMessage] = field(default_factory=deque)
    history: deque[str] = field(default_factory=deque)
    worker: asyncio.Task[None] | None = None
    run: asyncio.Task[None] | None = None
    current: list[WaitingMessage] = field(default_factory=list)
    session_key: str = ""


class Relay:
    def __init__(
        self,
        config: RelayConfig,
        home: RelayHome,
        channels: Sequence[ChatChannel],
        journal: MessageJournal,
        runner: LocalRunner,
        log: RelayLog,
        secret_names: Sequence[str] = (),
    ) -> None:
        self.config = config
        self.home = home
        self.journal = journal
        self.log = log
        self.channels = {channel.name: channel for channel in channels}
        self.outboxes = {name: ChannelOutbox(one, journal, home, log) for name, one in self.channels.items()}
        settings = config.inbound.reply.session
        self.sessions = ChatSessions(_store(config, home), settings)
        journal.warn = partial(log.write, "error", "journal")
        self.sessions.warn = partial(log.write, "error", "sessions")
        self.access = AccessList(config.inbound.allow_from, home.allowed)
        self.approvals = Approvals(config.limits.approval_seconds)
        self.queues: dict[tuple[str, str], ChatQueue] = {}
        self.guard = MediaGuard(map(typed_path, config.media_roots), config.inbound.reply.media_max_mb)
        self._runner = runner
        self._secret_names = secret_names
        self._runs = asyncio.Semaphore(config.limits.runs)
        self._session_locks: dict[str, asyncio.Lock] = {}
        self.beats: dict[tuple[str, str], asyncio.Task[Answer]] = {}  # heartbeats that run now
        self.commands = ChatCommands(self)
        self.control = ControlServer(self, home.socket)

    async def run(self, *, beat_first: bool = False) -> None:
        """Serve until all channels end or the task is cancelled; then finish what waits. Raises TauError."""
        if self.sessions.problem:
            self.log.write("error", "sessions", self.sessions.problem)
        async with asyncio.TaskGroup() as group:
            self.group = group
            inherit = inherited_by_agents(self._secret_names)
            self.live = LiveAgents(self._runner, group, self.config.limits.live_agents, inherit)
            self.answerer = Answerer(
                self.config, self.home, self.sessions, self._runner, self.live, self._secret_names
            )
            background = [spawn(group, self._tick(beat_first))]
            try:
                for name, channel in self.channels.items():
                    lost = await self.journal.recover_parts(name, deduplicates=channel.limits.deduplicates)
                    if lost:
                        self.log.write(
                            "warn", "journal", "parts may not have arrived", count=lost, channel=name
                        )
                    await channel.start(ChannelLink(group, self.outboxes[name].connected.set))
                    background.append(spawn(group, self.outboxes[name].run()))
                await self._resume()
                await self.control.start()
                async with asyncio.TaskGroup() as sources:
                    for channel in self.channels.values():
                        spawn(sources, self._listen(channel))
                await self._finish()
            finally:
                await self.control.close()
                tasks = [task for one in self.queues.values() for task in (one.worker, one.run) if task]
                for task in tasks:
                    task.cancel()
                if tasks:  # before their agents are closed: a run may just be starting one
                    await asyncio.wait(tasks)
                for task in background:
                    task.cancel()
                await self.live.close_all()
                for channel in self.channels.values():
                    await channel.close()

    async def _listen(self, channel: ChatChannel) -> None:
        async for message in channel.events():
            await self.accept(message)

    async def _finish(self) -> None:
        """Answer what waits, once no channel has more."""
        while workers := [one.worker for one in self.queues.values() if one.worker is not None]:
            await asyncio.wait(workers)
        for outbox in self.outboxes.values():
            await outbox.drained()

    async def _resume(self) -> None:
        """Take up messages that an earlier relay did not answer."""
        stale: dict[tuple[str, str], list[int]] = {}
        oldest_ms = now_ms() - self.config.limits.stale_minutes * 60_000
        for stored in await self.journal.unanswered():
            message = stored.message
            if message.channel not in self.channels:
                continue
            if stored.attempts >= MAX_ATTEMPTS:
                notice = (
                    f"A message was set aside: the relay stopped {stored.attempts} times while answering it."
                )
                await self.say([stored.number], message.channel, message.chat, notice)
            elif (message.sent_ms or stored.received_ms) < oldest_ms:
                stale.setdefault((message.channel, message.chat), []).append(stored.number)
            else:
                self._enqueue(WaitingMessage(stored.number, message, now_ms()))
        for (name, chat), numbers in stale.items():
            count = f"{len(numbers)} messages" if len(numbers) > 1 else "A message"
            age = f"{self.config.limits.stale_minutes} minutes"
            text = (
                f"{count} came while the relay was down, more than {age} ago. Send again what still matters."
            )
            await self.say(numbers, name, chat, text)

    async def accept(self, message: InboundMessage) -> None:
        """Take a message in: check the sender, store it, and queue it or act on it at once."""
        log = {"channel": message.channel, "sender": message.sender, "id": message.id}
        if not self.access.admits(message):
            self.log.write("warn", "access", "message of an unknown sender ignored", **log)
            may_pair = self.config.inbound.pairing and not message.is_group
            if may_pair and (code := self.access.code_for(message)):
                text = f"This agent does not know you. Its owner can admit you with: tau relay allow {code}"
                await self.say([], message.channel, message.chat, text)
            return
        number = await self.journal.receive(message)
        if number is None:
            self.log.write("debug", "queue", "known message ignored", **log)
            return
        self.log.write("info", "queue", "received", body=message.body, **log)
        await self.channels[message.channel].mark_read(message)
        if message.is_group and not self._is_addressed(message):
            await self.journal.answer([number], message.channel, [])
            return
        if self.approvals.settle(message.channel, message.chat, message.sender, message.body):
            await self.journal.answer([number], message.channel, [])
        elif is_stop(message.body):
            await self._stop(number, message)
        elif (reply := self.commands.at_once(message)) is not None:
            await self.say([number], message.channel, message.chat, reply)
        else:
            await self._queue(number, message)

    def _is_addressed(self, message: InboundMessage) -> bool:
        """Whether a group message is for the agent; others become history."""
        settings = self.config.inbound.group_chat
        patterns = self.commands.mention_patterns
        if not settings.require_mention or message.mentioned:
            return True
        if any(pattern.search(message.body[:4000]) for pattern in patterns):
            return True
        history = self._chat(message).history
        history.append(f"{message.sender_name or message.sender}: {message.body[:2000]}")
        while len(history) > settings.history_limit:
            history.popleft()
        return False

    def _chat(self, message: InboundMessage) -> ChatQueue:
        place = (message.channel, message.chat)
        return self.queues.setdefault(place, ChatQueue(*place))

    async def _queue(self, number: int, message: InboundMessage) -> None:
        queue, waiting = self._chat(message), WaitingMessage(number, message, now_ms())
        if await steer(self, queue, waiting):
            return
        if len(queue.waiting) >= self.config.limits.queued:
            text = "Too many messages wait; send this one again later."
            await self.say([number], message.channel, message.chat, text)
            return
        self._enqueue(waiting)

    def _enqueue(self, waiting: WaitingMessage) -> None:
        queue = self._chat(waiting.message)
        queue.waiting.append(waiting)
        if queue.worker is None:
            queue.worker = spawn(self.group, self._work(queue))

    async def _work(self, queue: ChatQueue) -> None:
        """Answer what waits in a chat, one run after the other."""
        try:
            while queue.waiting:
                queue.current = self._next_batch(queue)
                queue.run = spawn(self.group, self._answer(queue, queue.current))
                await asyncio.wait([queue.run])
                queue.run, queue.current = None, []
        finally:
            if queue.run is not None:
                queue.run.cancel()
            queue.worker = None

    def _next_batch(self, queue: ChatQueue) -> list[WaitingMessage]:
        """The next message with those that its sender sent since; a command or a reset is alone or first."""
        batch = [queue.waiting.popleft()]
        while queue.waiting and not self.commands.is_command(batch[0].message):
            following = queue.waiting[0].message
            starts_over, _ = match_reset(following.body, self.config.inbound.reply.session.reset_triggers)
            if (
                following.sender != batch[0].message.sender
                or starts_over
                or self.commands.is_command(following)
            ):
                break
            batch.append(queue.waiting.popleft())
        return batch

    async def _answer(self, queue: ChatQueue, batch: Sequence[WaitingMessage]) -> None:
        """Run the agent for a batch and queue the answer."""
        message, numbers = batch[-1].message, [one.number for one in batch]
        if (reply := await self.commands.in_turn(message)) is not None:
            await self.say(numbers, message.channel, message.chat, reply)
            return
        settings = self.config.inbound.reply.session
        if self.config.inbound.reply.mode == "text":
            parts = await compose(self, self.answerer.fixed(message), message.channel, message.chat)
            await self.journal.answer(numbers, message.channel, parts)
            self.outboxes[message.channel].wake()
            return
        first = batch[0].message
        resets, rest = match_reset(first.body, settings.reset_triggers)
        body = "\n".join([rest, *(one.message.body for one in batch[1:])]).strip()
        key = queue.session_key = session_key(message, settings)
        files = any(one.message.files for one in batch)
        async with self.hold_session(key):
            await self.journal.begin(numbers)
            session = self.sessions.open(key, reset=resets)
            session.channel, session.chat, session.is_group = message.channel, message.chat, message.is_group
            session.updated_at = now_ms()
            if not body and not files:
                await self.sessions.save()
                await self.say(numbers, message.channel, message.chat, "Started a new conversation.")
                return
            try:
                await self._run_agent(queue, batch, key, body)
            except asyncio.CancelledError:
                session.aborted_last_run = True
                await self.sessions.save()
                raise

    @asynccontextmanager
    async def hold_session(self, key: str) -> AsyncIterator[None]:
        """The right to run in a session: one run at a time, and not too many in all."""
        async with self._session_locks.setdefault(key, asyncio.Lock()), self._runs:
            yield

    async def _run_agent(
        self, queue: ChatQueue, batch: Sequence[WaitingMessage], key: str, body: str
    ) -> None:
        session = self.sessions.by_key[key]

        async def ask(event: dict[str, object]) -> dict[str, object]:
            async def tell(text: str, choices: tuple[str, ...]) -> None:
                await self.say([], message.channel, message.chat, text, choices)

            return await self.approvals.ask(event, message.channel, message.chat, message.sender, tell)

        message = batch[-1].message
        history, queued_ms = list(queue.history), now_ms() - batch[0].since_ms
        queue.history.clear()
        async with self._typing(message):
            channel = self.channels[message.channel]
            messages = [await with_files(channel, one.message, self.log) for one in batch]
            message = messages[-1]
            transcript = await transcribe(
                self.config.inbound.transcribe_audio, message, self._runner, self.log
            )
            answer = await self.answerer.answer(
                key, session, messages, body, ask, transcript=transcript, history=history
            )
        session.updated_at = now_ms()
        await self.sessions.save()
        parts = await compose(self, answer, message.channel, message.chat)
        await self.journal.answer([one.number for one in queue.current or batch], message.channel, parts)
        self.outboxes[message.channel].wake()
        state = "answered" if answer.ok else "failed"
        self.log.write("info", "run", state, key=key, queued_ms=queued_ms, meta=answer.meta)

    async def _stop(self, number: int, message: InboundMessage) -> None:
        """Kill the chat's run and drop what waits."""
        queue = self._chat(message)
        session = self.sessions.by_key.get(session_key(message, self.config.inbound.reply.session))
        dropped = [one.number for one in (*queue.current, *queue.waiting)]
        queue.waiting.clear()
        if beat := self.beats.get((message.channel, message.chat)):
            beat.cancel()
            await asyncio.wait([beat])
        if queue.run is not None:
            queue.run.cancel()
            await asyncio.wait([queue.run])
        elif session is not None:
            session.aborted_last_run = True
        await self.say([number, *dropped], message.channel, message.chat, ABORTED)

    async def say(
        self, numbers: Sequence[int], channel: str, chat: str, text: str, choices: tuple[str, ...] = ()
    ) -> None:
        """Answer messages with a text of the relay."""
        await self.journal.answer(numbers, channel, [OutgoingPart("text", chat, text, "", choices)])
        self.outboxes[channel].wake()

    def is_busy(self) -> bool:
        return any(queue.worker is not None for queue in self.queues.values()) or bool(self.approvals.open)

    @asynccontextmanager
    async def _typing(self, message: InboundMessage) -> AsyncIterator[None]:
        channel, settings = self.channels[message.channel], self.config.inbound.reply
        if not channel.limits.typing:
            yield
            return
        every_s = settings.session.typing_interval_seconds or settings.typing_interval_seconds

        async def signal() -> None:
            while True:
                await channel.typing(message.chat, True)
                await asyncio.sleep(every_s)

        task = spawn(self.group, signal())
        try:
            yield
        finally:
            task.cancel()
            await channel.typing(message.chat, False)

    async def _tick(self, beat_first: bool) -> None:
        """Heartbeats, idle live agents, old journal rows."""
        heartbeats = Heartbeats(self, at_once=beat_first)
        ticks = 0
        while True:
            await asyncio.sleep(FIRST_TICK_S if beat_first and not ticks else TICK_S)
            ticks += 1
            await self.live.close_idle(self.config.limits.live_idle_minutes * 60)
            await heartbeats.beat_if_due()
            if ticks % 120 == 0:
                chats = self.queues.items()
                self.queues = {place: one for place, one in chats if one.worker or one.waiting or one.history}
                locks = self._session_locks.items()
                self._session_locks = {key: lock for key, lock in locks if lock.locked()}
                await self.journal.prune()
                await asyncio.to_thread(remove_old, self.home.inbound)


def _store(config: RelayConfig, home: RelayHome) -> Path:
    store = config.inbound.reply.session.store
    return typed_path(store) if store else home.state / "sessions.json"
