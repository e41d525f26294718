"""The terminal as a channel: each line is a message, answers are printed."""

from collections.abc import AsyncIterator
from typing import TextIO

from tau.base.clock import now_ms
from tau.base.text import plain
from tau.base.threads import in_daemon_thread
from tau.relay.channels.channel import ChannelLimits, ChannelLink, ChatChannel
from tau.relay.message import InboundMessage

MAX_LINE_CHARS = 1_000_000
USER = "you"


class ConsoleChannel(ChatChannel):
    name = "console"
    limits = ChannelLimits(text_units=1_000_000, typing=False)

    def __init__(self, lines: TextIO, out: TextIO) -> None:
        self._lines = lines
        self._out = out
        self._started_ms = now_ms()

    async def start(self, link: ChannelLink) -> None:
        if self._lines.isatty():
            self._print("Type a message; end with Ctrl+D.")

    async def events(self) -> AsyncIterator[InboundMessage]:
        count = 0
        while line := await in_daemon_thread(lambda: self._lines.readline(MAX_LINE_CHARS)):
            count += 1
            if body := line.rstrip("\n"):
                yield InboundMessage(
                    channel=self.name,
                    account="console",
                    id=f"{self._started_ms}-{count}",
                    chat="console",
                    sender=USER,
                    body=body,
                    sent_ms=now_ms(),
                )

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        self._print(text)
        return key

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        self._print(f"[{type}, {len(data)} bytes: {name}]{f' {caption}' if caption else ''}")
        return key

    def _print(self, text: str) -> None:
        self._out.write(f"{plain(text) if self._out.isatty() else text}\n")
        self._out.flush()
