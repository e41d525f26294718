"""A relay in a process that tests can kill: its channel reads a spool file and appends what it sends."""

import asyncio
import fcntl
import json
import os
import random
import sys
from collections.abc import AsyncIterator
from pathlib import Path

from tau.relay.agent_run import agent_runner
from tau.relay.channels.channel import ChannelLimits, ChannelLink, ChatChannel
from tau.relay.config import RelayHome, parse_config
from tau.relay.journal import MessageJournal
from tau.relay.log import RelayLog
from tau.relay.message import InboundMessage
from tau.relay.relay import Relay


class SpoolChannel(ChatChannel):
    """Delivers every line of the spool at each start, as a server does that was not told what arrived."""

    name = "spool"
    limits = ChannelLimits(typing=False)

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    async def start(self, link: ChannelLink) -> None:
        pass

    async def events(self) -> AsyncIterator[InboundMessage]:
        for line in (self._folder / "spool").read_text().splitlines():
            chat, id, body = line.split(" ", 2)
            yield InboundMessage(
                channel=self.name, account="a", id=id, chat=chat, sender=chat, body=body, sent_ms=0
            )
            if random.random() < 0.2:
                await asyncio.sleep(0)

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        fd = os.open(self._folder / "sent", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, json.dumps([chat, text, key]).encode() + b"\n")
        os.close(fd)
        return key

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        raise NotImplementedError


async def main(folder: Path) -> None:
    home = RelayHome({"TAU_RELAY_HOME": str(folder)})
    home.create()
    config = parse_config(home.config.read_bytes(), home.config)
    journal = MessageJournal(home.journal)
    runner = agent_runner()
    log = RelayLog(home.state / "log", config.logging)
    await Relay(config, home, [SpoolChannel(folder)], journal, runner, log).run()
    runner.close()
    journal.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
