"""A session that is open in this server: its host, its events and its open questions."""

import asyncio
import time
from collections.abc import Mapping

from msgspec import Raw, Struct
from msgspec.structs import replace

from tau.agent import events as e
from tau.ai.wire import AssistantMessage
from tau.coding.session.entries import KnownEntry
from tau.modes.event_json import encode_masked
from tau.modes.rpc.event_encoder import RpcEventEncoder
from tau.modes.serve.dialogs import ClientDialogs
from tau.modes.serve.event_ring import EventRing
from tau.modes.session_host import SessionHost
from tau.sdk import SessionOptions


class SessionReset(Struct, frozen=True, rename="camel", tag_field="type", tag="reset"):
    """Load the session again; `session_id`: under this id."""

    reason: str
    session_id: str


class EntryEvent(Struct, frozen=True, tag_field="type", tag="entry"):
    """The log has a new entry, of any kind."""

    id: str


class LiveSession:
    """Clients hold it by its id, which changes if a command opens another session in its place."""

    def __init__(
        self,
        options: SessionOptions,
        tasks: asyncio.TaskGroup,
        environ: Mapping[str, str],
        *,
        dialog_timeout_s: float,
    ) -> None:
        self.ring = EventRing()
        self.dialogs = ClientDialogs(self.publish, dialog_timeout_s, lambda: self.host.session.abort())
        self._encoder = RpcEventEncoder(snapshots=False)
        options = replace(options, ui=self.dialogs, dialogs=self.dialogs)
        self.host = SessionHost(options, self._event, tasks, naming=True, mode="serve", environ=environ)
        self.running: dict[str, e.ToolStart] = {}
        self._is_streaming = False
        self.turn = asyncio.Lock()
        self.requests = 0  # being answered now
        self.used_s = time.monotonic()

    @property
    def id(self) -> str:
        return self.host.session.log.header.id

    @property
    def needs_user(self) -> bool:
        return bool(self.dialogs.open)

    @property
    def in_use(self) -> bool:
        """Whether closing it would take something from someone."""
        session = self.host.session
        working = self.host.busy or session.busy or any(job.running for job in session.jobs.list())
        return working or bool(self.requests or self.ring.readers)

    @property
    def saved(self) -> bool:
        path = self.host.session.log.path
        return path is not None and path.exists()

    @property
    def streaming(self) -> Raw | None:
        """The message that is arriving, as far as it has arrived."""
        return Raw(self._encoder.partial()) if self._is_streaming else None

    def watch_log(self) -> None:
        """Report every entry of the log from now on; once for each session that is opened here."""
        log = self.host.session.log
        inner = log.on_append

        def report(entry: KnownEntry) -> None:
            if inner is not None:
                inner(entry)
            self.publish(EntryEvent(entry.id))

        log.on_append = report

    def publish(self, frame: Struct) -> None:
        self.ring.append(encode_masked(frame))

    async def close(self) -> None:
        await self.host.close()
        self.ring.end()

    def _event(self, event: e.AgentEvent) -> None:
        match event:
            case e.MessageStart(AssistantMessage()):
                self._is_streaming = True
            case e.MessageEnd(AssistantMessage()):
                self._is_streaming = False
            case e.ToolStart():
                self.running[event.tool_call_id] = event
            case e.ToolEnd():
                self.running.pop(event.tool_call_id, None)
        for line in self._encoder.lines(event):
            self.ring.append(line)
