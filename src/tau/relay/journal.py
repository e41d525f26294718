"""The journal: which messages came, and which parts of which answers were sent. Survives a kill."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, json

from tau.base.clock import now_ms
from tau.base.errors import TauError
from tau.relay.message import InboundMessage

T = TypeVar("T")
MAX_ATTEMPTS = 3
KEEP_MS = 7 * 24 * 3600 * 1000
FULL, FULL_S = "disk is full", 2.0
TABLES = """
CREATE TABLE IF NOT EXISTS inbound (
  number INTEGER PRIMARY KEY, channel TEXT NOT NULL, account TEXT NOT NULL,
  id TEXT NOT NULL, message BLOB NOT NULL,
  state TEXT NOT NULL DEFAULT 'received', attempts INTEGER NOT NULL DEFAULT 0, time_ms INTEGER NOT NULL,
  UNIQUE (channel, account, id));
CREATE INDEX IF NOT EXISTS inbound_open ON inbound (state) WHERE state IN ('received', 'running');
CREATE TABLE IF NOT EXISTS outgoing (
  number INTEGER PRIMARY KEY, channel TEXT NOT NULL, chat TEXT NOT NULL,
  kind TEXT NOT NULL, content BLOB NOT NULL,
  state TEXT NOT NULL DEFAULT 'pending', message_id TEXT NOT NULL DEFAULT '', time_ms INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS outgoing_open ON outgoing (channel, number) WHERE state IN ('pending', 'sending');
"""


class OutgoingPart(Struct, frozen=True, rename="camel"):
    """One message of an answer; `choices` become buttons where the channel has them."""

    kind: Literal["text", "media"]
    chat: str
    content: str
    caption: str = ""
    choices: tuple[str, ...] = ()


class QueuedPart(Struct, frozen=True):
    number: int
    part: OutgoingPart


class SentPart(Struct, frozen=True):
    number: int
    id: str


class StoredMessage(Struct, frozen=True):
    number: int
    message: InboundMessage
    attempts: int
    received_ms: int


class JournalError(TauError):
    """`is_temporary`: it may work again later, such as when the disk has room."""

    def __init__(self, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


def _never(_: sqlite3.Connection) -> bool:
    return False


def _always(_: sqlite3.Connection) -> bool:
    return True


def _has_pending(base: sqlite3.Connection) -> bool:
    return base.execute("SELECT 1 FROM outgoing WHERE state='pending' LIMIT 1").fetchone() is not None


class MessageJournal:
    """All statements run in one thread, so that a slow disk does not hold the event loop."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._thread = ThreadPoolExecutor(1, "relay-journal")
        self._base: sqlite3.Connection | None = None
        self.warn: Callable[[str], None] = lambda problem: None

    async def _do(
        self, work: Callable[[sqlite3.Connection], T], durable: Callable[[sqlite3.Connection], bool] = _never
    ) -> T:
        """Run a transaction; while the disk is full, wait for room. Raises JournalError.

        A `durable` one is on disk afterwards, with all before it; others survive a kill only.
        """
        while True:
            try:
                return await asyncio.get_running_loop().run_in_executor(
                    self._thread, self._transaction, work, durable
                )
            except JournalError as error:
                if not error.is_temporary:
                    raise
                self.warn(str(error))
            await asyncio.sleep(FULL_S)

    def _transaction(
        self, work: Callable[[sqlite3.Connection], T], durable: Callable[[sqlite3.Connection], bool]
    ) -> T:
        try:
            base = self._base or self._open()
            base.execute(f"PRAGMA synchronous={'FULL' if durable(base) else 'NORMAL'}")
            base.execute("BEGIN IMMEDIATE")
            try:
                done = work(base)
                base.execute("COMMIT")
            except BaseException:
                base.rollback()
                raise
        except sqlite3.Error as error:
            is_full = isinstance(error, sqlite3.OperationalError) and FULL in str(error)
            raise JournalError(
                f'The journal "{self._path}" cannot be written: {error}.', is_temporary=is_full
            ) from error
        return done

    def _open(self) -> sqlite3.Connection:
        self._path.touch(0o600)
        base = sqlite3.connect(self._path, isolation_level=None, check_same_thread=False, timeout=10)
        try:
            base.execute("PRAGMA journal_mode=WAL")
            base.executescript(TABLES)
        except sqlite3.DatabaseError as error:
            base.close()
            if "malformed" not in str(error) and "not a database" not in str(error):
                raise
            broken = self._path.with_name(f"{self._path.name}.broken-{now_ms()}")
            self._path.replace(broken)
            raise JournalError(
                f"The journal was broken and is now {broken}. Start the relay again; it begins a new one."
            ) from error
        self._base = base
        return base

    async def receive(self, message: InboundMessage) -> int | None:
        """Store a message; None if it is known."""

        def work(base: sqlite3.Connection) -> int | None:
            cursor = base.execute(
                "INSERT OR IGNORE INTO inbound (channel, account, id, message, time_ms)"
                " VALUES (?, ?, ?, ?, ?)",
                (message.channel, message.account, message.id, json.encode(message), now_ms()),
            )
            return cursor.lastrowid if cursor.rowcount else None

        return await self._do(work, _always)

    async def begin(self, numbers: Sequence[int]) -> None:
        await self._do(lambda base: _each(base, "state='running', attempts=attempts+1", numbers))

    async def answer(self, numbers: Sequence[int], channel: str, parts: Sequence[OutgoingPart]) -> list[int]:
        """Mark messages as answered and queue the parts, in one transaction; returns their numbers."""
        query = "INSERT INTO outgoing (channel, chat, kind, content, time_ms) VALUES (?, ?, ?, ?, ?)"

        def work(base: sqlite3.Connection) -> list[int]:
            _each(base, "state='answered'", numbers)
            rows = [(channel, part.chat, part.kind, json.encode(part), now_ms()) for part in parts]
            return [base.execute(query, row).lastrowid or 0 for row in rows]

        return await self._do(work)

    async def unanswered(self) -> list[StoredMessage]:
        """Messages to run, oldest first, including those that were running when the relay died."""
        rows = await self._do(
            lambda base: base.execute(
                "SELECT number, message, attempts, time_ms FROM inbound"
                " WHERE state IN ('received', 'running') ORDER BY number"
            ).fetchall()
        )
        return [StoredMessage(row[0], json.decode(row[1], type=InboundMessage), *row[2:]) for row in rows]

    async def recover_parts(self, channel: str, *, deduplicates: bool) -> int:
        """Decide on parts in flight when the relay died; returns how many are uncertain."""
        state = "pending" if deduplicates else "uncertain"
        query = "UPDATE outgoing SET state=? WHERE state='sending' AND channel=?"
        changed = await self._do(lambda base: base.execute(query, (state, channel)).rowcount)
        return 0 if deduplicates else changed

    async def next_part(self, channel: str, sent: SentPart | None = None) -> QueuedPart | None:
        """The oldest pending part, now marked as sending; in the same transaction, note what was `sent`."""

        def work(base: sqlite3.Connection) -> QueuedPart | None:
            if sent is not None:
                values = (sent.id, now_ms(), sent.number)
                base.execute(
                    "UPDATE outgoing SET state='sent', message_id=?, time_ms=? WHERE number=?", values
                )
            row = base.execute(
                "SELECT number, content FROM outgoing WHERE channel=? AND state='pending'"
                " ORDER BY number LIMIT 1",
                (channel,),
            ).fetchone()
            if row is None:
                return None
            base.execute("UPDATE outgoing SET state='sending', time_ms=? WHERE number=?", (now_ms(), row[0]))
            return QueuedPart(row[0], json.decode(row[1], type=OutgoingPart))

        return await self._do(work, _has_pending)  # no part is sent that the disk calls pending

    async def settle(self, number: int, state: Literal["pending", "uncertain", "failed"]) -> None:
        await self._do(
            lambda base: base.execute(
                "UPDATE outgoing SET state=?, time_ms=? WHERE number=?", (state, now_ms(), number)
            )
        )

    async def prune(self) -> None:
        """Forget what was settled a week ago."""

        def work(base: sqlite3.Connection) -> None:
            before = (now_ms() - KEEP_MS,)
            base.execute(
                "DELETE FROM inbound WHERE state NOT IN ('received', 'running') AND time_ms < ?", before
            )
            base.execute(
                "DELETE FROM outgoing WHERE state NOT IN ('pending', 'sending') AND time_ms < ?", before
            )

        await self._do(work)

    async def counts(self) -> dict[str, int]:
        """How many messages and parts are in each state."""
        query = (
            "SELECT 'in ' || state, count(*) FROM inbound GROUP BY state UNION ALL"
            " SELECT 'out ' || state, count(*) FROM outgoing GROUP BY state"
        )
        return dict(await self._do(lambda base: base.execute(query).fetchall()))

    async def uncertain(self) -> list[OutgoingPart]:
        """Parts that may or may not have been sent."""
        query = "SELECT content FROM outgoing WHERE state='uncertain' ORDER BY number DESC LIMIT 100"
        rows = await self._do(lambda base: base.execute(query).fetchall())
        return [json.decode(row[0], type=OutgoingPart) for row in rows]

    def close(self) -> None:
        """Wait for the last statement: one that a cancelled caller left behind still uses the connection."""
        self._thread.shutdown()
        if self._base is not None:
            self._base.close()


def _each(base: sqlite3.Connection, change: str, numbers: Sequence[int]) -> None:
    base.executemany(f"UPDATE inbound SET {change} WHERE number=?", [(number,) for number in numbers])
