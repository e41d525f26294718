"""Messages between agents: each arrives once, injected, waited for, or read from the inbox."""

import asyncio
import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import UNSET, Struct

from tau.agent.queue import Queue
from tau.ai.wire import CustomMessage
from tau.base.clock import now_ms
from tau.base.errors import TauError, ToolError
from tau.base.late import late
from tau.coding.task.ports import MAIN, AgentMessage, MessageReceipt, PeerRow, ReceiptOutcome

if TYPE_CHECKING:
    from tau.coding.task.subagent import Subagent
    from tau.coding.task.team import Team

delivery = late("tau.coding.jobs.delivery")

MESSAGE_TYPE = "irc:incoming"
CAP = 100
MAX_BODY_CHARS = 50_000
_serial = itertools.count()


class _Waiter(Struct, eq=False):
    """Someone who waits: for a message, of `sender` if it is set."""

    owner: str
    sender: str | None
    answer: "asyncio.Future[AgentMessage | str]"


class Mailboxes:
    """What waits for an agent is in its session's queue, which survives a crash; the loop injects it."""

    def __init__(self, team: "Team", timeout_ms: int) -> None:
        self._team = team
        self.timeout_ms = timeout_ms
        self._waiters: list[_Waiter] = []
        self._blocked: dict[str, list[Sequence[str]]] = {}

    def _queue(self, id: str) -> Queue | None:
        if id == MAIN:
            return self._team.session.queue
        agent = self._team.roster.find(id)
        return None if agent is None or agent.session is None else agent.session.queue

    def exact(self, name: str) -> str:
        if name.lower() == MAIN.lower():
            return MAIN
        agent = self._team.roster.find(name)
        if agent is None:
            raise ToolError(f'There is no agent "{name}"; irc list shows them.')
        return agent.id

    def peers(self, owner: str) -> list[PeerRow]:
        rows: list[PeerRow] = []
        if owner != MAIN:
            status = "running" if self._team.session.activities.running else "idle"
            rows.append(PeerRow(MAIN, "main", "main", status, self.unread(MAIN)))
        for agent in self._team.roster.agents.values():
            record = agent.record
            if agent.id != owner and record.status != "aborted":
                since_ms = now_ms() - (record.ended_ms or record.started_ms)
                quiet_ms = agent.progress().quiet_ms if agent.busy else max(since_ms, 0)
                kind, unread = record.definition.name, self.unread(agent.id)
                rows.append(PeerRow(agent.id, kind, "agent", record.status, unread, record.parent, quiet_ms))
        return rows

    def unread(self, id: str) -> int:
        return sum(1 for _ in self._pending(id))

    def _pending(self, id: str) -> Iterator[tuple[CustomMessage, AgentMessage]]:
        queue = self._queue(id)
        for item in queue.waiting() if queue is not None else ():
            message = item.message
            if isinstance(message, CustomMessage) and message.custom_type == MESSAGE_TYPE:
                details = message.details
                if isinstance(details, dict):  # from before a restart
                    id, by, to, body = (str(details.get(name)) for name in ("id", "sender", "to", "body"))
                    details = AgentMessage(id, by, to, body, 0)
                if isinstance(details, AgentMessage):
                    yield message, details

    async def send(self, sender: str, to: str, body: str, reply_to: str | None = None) -> MessageReceipt:
        """Deliver one message; never waits for the recipient's model."""
        team = self._team
        agent = None if to.lower() == MAIN.lower() else team.roster.find(to)
        if agent is None and to.lower() != MAIN.lower():
            return MessageReceipt(to, "failed", f'There is no agent "{to}".')
        target = MAIN if agent is None else agent.id
        stamp = now_ms()
        id = f"{stamp << 12 | next(_serial) & 0xFFF}"
        message = AgentMessage(id, sender, target, body[:MAX_BODY_CHARS], stamp, reply_to or UNSET)
        if self._hand_over(message):
            return MessageReceipt(target, "injected")
        outcome: ReceiptOutcome = "injected"
        try:
            if agent is None:
                dropped = self._put(target, message)
                if not team.session.activities.running:
                    outcome = "woken"
                    team.tell_main(sender, f"message from {sender}")
            else:
                if agent.session is None and not agent.busy:
                    await team.life.revive(agent)
                    outcome = "revived"
                elif not agent.busy:
                    outcome = "woken"
                if agent.session is None:  # queued, or opening
                    await asyncio.wait_for(agent.open(), 30)
                dropped = self._put(target, message)
                if outcome != "injected":
                    team.life.wake(agent)
        except (TauError, TimeoutError) as error:
            return MessageReceipt(target, "failed", str(error) or "It did not open in time.")
        note = f"{dropped} older messages were dropped: its mailbox is full." if dropped else UNSET
        return MessageReceipt(target, outcome, note)

    def _hand_over(self, message: AgentMessage) -> bool:
        for waiter in self._waiters:
            is_expected = waiter.sender is None or waiter.sender == message.sender
            if waiter.owner == message.to and is_expected and not waiter.answer.done():
                waiter.answer.set_result(message)
                return True
        return False

    def _put(self, to: str, message: AgentMessage) -> int:
        """Queue it, and drop the oldest above the limit; returns how many."""
        queue = self._queue(to)
        if queue is None:
            raise TauError(f"{to} is not there anymore.")
        pending = list(self._pending(to))
        old = pending[: max(len(pending) - CAP + 1, 0)]
        for item, _ in old:
            queue.settle(item)
        head = f"[Message {message.id} from agent {message.sender}; answer with irc if it needs one]"
        text = f"{head}\n{message.body}"
        queue.aside(CustomMessage(MESSAGE_TYPE, text, True, now_ms(), message))
        return len(old)

    def take(
        self, id: str, sender: str | None = None, *, peek: bool = False, one: bool = False
    ) -> list[AgentMessage]:
        """What is waiting for an agent, removed unless `peek`."""
        found = [(item, message) for item, message in self._pending(id) if sender in (None, message.sender)]
        found = found[:1] if one else found
        queue = self._queue(id)
        if not peek and queue is not None:
            for item, _ in found:
                queue.settle(item)
        return [message for _, message in found]

    async def wait(
        self, owner: str, sender: str | None, timeout_s: float | None
    ) -> AgentMessage | str | None:
        """The next message; a sentence if its sender stops without one; None on timeout. Raises ToolError."""
        if waiting := self.take(owner, sender, one=True):
            return waiting[0]
        if sender is not None:
            self.refuse_cycle(owner, sender)
            agent = self._team.roster.find(sender)
            if sender != MAIN and (agent is None or not agent.busy):
                return f"{sender} is not working, so no message will come."
        answer: asyncio.Future[AgentMessage | str] = asyncio.get_running_loop().create_future()
        waiter = _Waiter(owner, sender, answer)
        self._waiters.append(waiter)
        try:
            with self.blocking(owner, (sender,) if sender is not None else ()):
                async with self._team.slots.lent(self._team.roster.find(owner)):
                    async with asyncio.timeout(timeout_s):
                        return await answer
        except TimeoutError:
            return answer.result() if answer.done() and not answer.cancelled() else None
        finally:
            self._waiters.remove(waiter)
            if (
                answer.done()
                and not answer.cancelled()
                and (task := asyncio.current_task())
                and task.cancelling()
            ):
                message = answer.result()
                if isinstance(message, AgentMessage):  # it arrived as the wait was cancelled
                    self._put(owner, message)

    @contextmanager
    def blocking(self, owner: str, on: Sequence[str]) -> Iterator[None]:
        """`owner` cannot do anything before one of these does."""
        held = self._blocked.setdefault(owner, [])
        held.append(on)
        try:
            yield
        finally:
            held.remove(on)

    def refuse_cycle(self, owner: str, sender: str) -> None:
        path, seen = [sender], {sender}
        while path:
            for following in itertools.chain.from_iterable(self._blocked.get(path.pop(), ())):
                if following == owner:
                    raise ToolError(
                        f"{sender} is waiting for {owner}, so waiting for it would never end. Send without "
                        "waiting, and finish your work."
                    )
                if following not in seen:
                    seen.add(following)
                    path.append(following)

    def stopped(self, agent: "Subagent") -> None:
        """Tell those who wait for it."""
        said = f" It last said: {agent.last_text.strip()[:2000]}" if agent.last_text.strip() else ""
        for waiter in self._waiters:
            if waiter.sender == agent.id and not waiter.answer.done():
                waiter.answer.set_result(f"{agent.id} stopped without a message.{said}")

    def relay(self, agent: "Subagent", text: str) -> None:
        """Put what a woken agent yielded into its caller's queue, which wakes nobody."""
        queue = self._queue(agent.record.parent)
        if queue is not None:
            queue.aside(CustomMessage(MESSAGE_TYPE, text, True, now_ms(), {"id": agent.id, "relay": True}))

    def put_job_text(self, id: str, label: str, text: str) -> None:
        """Queue the result of an agent of an earlier process."""
        snapshot = delivery.JobSnapshot(id=id, type="task", status="completed", label=label, duration_ms=0)
        self._team.session.queue.aside(CustomMessage(delivery.MESSAGE_TYPE, text, True, now_ms(), snapshot))
