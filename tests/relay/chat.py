"""A relay with a channel in memory and a scripted agent, for tests."""

import asyncio
import stat
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pyjson5

from tau.relay.agent_run import agent_runner
from tau.relay.channels.channel import ChannelDown, ChannelLimits, ChannelLink, ChatChannel
from tau.relay.config import RelayHome, parse_config
from tau.relay.journal import MessageJournal
from tau.relay.log import RelayLog
from tau.relay.message import InboundMessage
from tau.relay.relay import Relay
from tests.support.limits import HANG_S

# Prints what it was asked as Claude Code does; the words in the prompt make it slow, fail or send a file.
AGENT = """#!/bin/sh
prompt=$(cat | tr '\\n"\\\\' '  /')
echo "$*|$prompt" >> "$AGENT_CALLS"
case "$prompt" in
  *sleep*) sleep 60;;
  *fail*) echo "Error: out of credit" >&2; exit 1;;
  *beat*) prompt="HEARTBEAT_OK";;
  *) ;;
esac
printf '{"type":"result","result":"%s","session_id":"real-id","is_error":false}\\n' "$prompt"
"""


class MemoryChannel(ChatChannel):
    name = "memory"

    def __init__(self, **limits: Any) -> None:
        self.limits = ChannelLimits(**{"typing": True, **limits})
        self.inbox: asyncio.Queue[InboundMessage | None] = asyncio.Queue()
        self.sent: list[tuple[str, str]] = []
        self.files: list[tuple[str, str, bytes]] = []
        self.choices: list[tuple[str, ...]] = []
        self.typed = 0
        self.down = False
        self.refused = 0
        self._changed = asyncio.Condition()

    async def start(self, link: ChannelLink) -> None:
        pass

    async def events(self) -> AsyncIterator[InboundMessage]:
        while (message := await self.inbox.get()) is not None:
            yield message

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        if self.down:
            self.refused += 1
            raise ChannelDown("down")
        async with self._changed:
            self.sent.append((chat, text))
            self.choices.append(choices)
            self._changed.notify_all()
        return key

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        async with self._changed:
            self.files.append((name, type, data))
            self._changed.notify_all()
        return key

    async def typing(self, chat: str, on: bool) -> None:
        self.typed += on

    async def wait(self, texts: int = 0, files: int = 0) -> list[str]:
        """The texts sent so far, once there are that many."""
        async with asyncio.timeout(HANG_S), self._changed:
            await self._changed.wait_for(lambda: len(self.sent) >= texts and len(self.files) >= files)
        return [text for _, text in self.sent]


class Chat:
    def __init__(self, folder: Path, **config: Any) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        script = folder / "claude"
        self.calls = folder / "calls"
        if not script.exists():
            script.write_text(AGENT.replace("$AGENT_CALLS", str(self.calls)))
            script.chmod(script.stat().st_mode | stat.S_IXUSR)
        reply = {
            "agent": {"kind": "claude", "identityPrefix": ""},
            "command": [str(script)],
            **config.pop("reply", {}),
        }
        inbound = {"allowFrom": ["*"], "timestampPrefix": False, "reply": reply, **config.pop("inbound", {})}
        self.home = RelayHome({"TAU_RELAY_HOME": str(folder)})
        self.home.create()
        self.config = parse_config(pyjson5.encode({"inbound": inbound, **config}).encode(), self.home.config)
        self.channel = MemoryChannel()
        self.open: Callable[[RelayLog], ChatChannel] | None = None  # another channel than the one in memory
        self._count = 0

    @asynccontextmanager
    async def running(self) -> AsyncIterator[Relay]:
        self.channel = MemoryChannel(text_units=self.channel.limits.text_units)
        journal, runner = MessageJournal(self.home.journal), agent_runner()
        log = RelayLog(self.home.state / "relay.log", self.config.logging)
        channel = self.open(log) if self.open else self.channel
        self.relay = relay = Relay(self.config, self.home, [channel], journal, runner, log)
        try:
            async with asyncio.TaskGroup() as group:
                work = group.create_task(relay.run())
                yield relay
                work.cancel()
                with suppress(asyncio.CancelledError):
                    await work
        finally:
            runner.close()
            journal.close()

    def send(self, body: str, chat: str = "ann", **fields: Any) -> None:
        self._count += 1
        message = {"id": f"m{self._count}", "sender": chat, "sent_ms": 0, **fields}
        self.channel.inbox.put_nowait(
            InboundMessage(channel="memory", account="bot", chat=chat, body=body, **message)
        )

    def prompts(self) -> list[str]:
        return [line.partition("|")[2].strip() for line in self._calls()]

    def arguments(self) -> list[str]:
        return [line.partition("|")[0] for line in self._calls()]

    def _calls(self) -> list[str]:
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def log(self) -> str:
        """The end of the relay's log, for messages of failed tests."""
        path = self.home.state / "relay.log"
        return path.read_text()[-3000:] if path.exists() else "no log"
