"""Delivers queued parts of one channel, in order, and remembers what is certain."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from tau.base.errors import TauError
from tau.relay.channels.channel import ChannelDown, ChannelRejected, ChatChannel
from tau.relay.config import RelayHome
from tau.relay.journal import MessageJournal, OutgoingPart, QueuedPart, SentPart
from tau.relay.log import RelayLog

RETRY_S = (1, 2, 5, 10, 30)
MAX_WAIT_S = 600


class ChannelOutbox:
    def __init__(self, channel: ChatChannel, journal: MessageJournal, home: RelayHome, log: RelayLog) -> None:
        self._channel = channel
        self._journal = journal
        self._home = home
        self._log = log
        self._wake = asyncio.Event()
        self._empty = asyncio.Event()
        self.connected = asyncio.Event()
        self._wanted_s = 0.0
        self._sent: SentPart | None = None  # noted when the next part is taken
        self._awaited: dict[int, asyncio.Future[str]] = {}

    def wake(self) -> None:
        self._empty.clear()
        self._wake.set()

    async def deliver(self, parts: Sequence[OutgoingPart], wait_s: float) -> str:
        """Queue parts and wait until they are sent; returns the id of the last. Raises TauError."""
        last = (await self._journal.answer([], self._channel.name, parts))[-1]
        done: asyncio.Future[str]
        done = self._awaited[last] = asyncio.get_running_loop().create_future()
        self.wake()
        try:
            async with asyncio.timeout(wait_s):
                return await done
        except TimeoutError:
            raise TauError("The message is not sent yet; it stays in the queue.") from None
        finally:
            del self._awaited[last]

    def _report(self, number: int, id: str, problem: str = "") -> None:
        done = self._awaited.get(number)
        if done is not None and not done.done():
            done.set_exception(TauError(problem)) if problem else done.set_result(id)

    async def drained(self) -> None:
        await self._empty.wait()

    async def run(self) -> None:
        """Send until cancelled."""
        failures = 0
        self.wake()
        while True:
            self._wake.clear()
            sent, self._sent = self._sent, None
            queued = await self._journal.next_part(self._channel.name, sent)
            if sent is not None:
                self._report(sent.number, sent.id)
            if queued is None:
                self._empty.set()
                await self._wake.wait()
            elif await self._deliver(queued):
                failures = 0
            else:
                wait_s = RETRY_S[min(failures, len(RETRY_S) - 1)]
                failures += 1
                await asyncio.sleep(min(self._wanted_s, MAX_WAIT_S))
                await _first(self.connected, wait_s)

    async def _deliver(self, queued: QueuedPart) -> bool:
        """Whether the part is settled; else it is pending again."""
        key = f"tau-relay-{queued.number}"
        try:
            id = await send_part(self._channel, self._home, queued.part, key)
        except ChannelDown as error:
            self.connected.clear()
            self._wanted_s = error.wait_s
            await self._journal.settle(queued.number, "pending")
            self._log.write("warn", "outbox", str(error), channel=self._channel.name)
            return False
        except ChannelRejected as error:
            await self._journal.settle(queued.number, "failed")
            self._report(queued.number, "", str(error))
            self._log.write("error", "outbox", str(error), channel=self._channel.name, chat=queued.part.chat)
        except (TauError, OSError, TimeoutError) as error:
            again = self._channel.limits.deduplicates
            await self._journal.settle(queued.number, "pending" if again else "uncertain")
            self._report(queued.number, "", f"It is uncertain whether the message was sent: {error}")
            self._log.write("error", "outbox", f"It is uncertain whether a part was sent: {error}", key=key)
            return not again
        else:
            self._sent = SentPart(queued.number, id)
            self._log.write(
                "debug", "outbox", "sent", channel=self._channel.name, id=id, text=queued.part.content
            )
        if queued.part.kind == "media":
            _remove(self._home.media / queued.part.content.partition("|")[0])
        return True


async def send_part(channel: ChatChannel, home: RelayHome, part: OutgoingPart, key: str) -> str:
    """Send one part now; returns its id. Raises what channels raise."""
    if part.kind == "text":
        return await channel.send_text(part.chat, part.content, key=key, choices=part.choices)
    stored, type, name = part.content.split("|", 2)
    try:
        data = (home.media / stored).read_bytes()
    except OSError as error:
        raise ChannelRejected(f"A file to send is gone: {error.strerror}.") from None
    return await channel.send_media(part.chat, data, type, name, part.caption, key=key)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _first(event: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()
