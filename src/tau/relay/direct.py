"""Uses a channel without a relay: to send a message, or to check its account."""

import asyncio
from collections.abc import Sequence
from typing import TextIO

from tau.base.errors import TauError
from tau.relay.agent_run import agent_runner
from tau.relay.channels.channel import ChannelLink, ChatChannel
from tau.relay.composition import ChannelParts, lock_relay, open_channel, secret_variables
from tau.relay.config import RelayHome
from tau.relay.journal import OutgoingPart
from tau.relay.log import open_log
from tau.relay.outbox import send_part
from tau.relay.settings import RelayConfig


async def use_channel(
    config: RelayConfig,
    home: RelayHome,
    name: str,
    chat: str,
    parts: Sequence[OutgoingPart],
    terminal: tuple[TextIO, TextIO],
) -> str:
    """Connect, send parts, and leave; returns the id of the last one. Raises TauError."""
    home.create()
    with lock_relay(home):
        runner = agent_runner(secret_variables(config))
        try:
            channel = await open_channel(
                name, ChannelParts(config, home, open_log(config, home), runner, terminal)
            )
            return await _send(channel, home, chat, parts)
        except BaseExceptionGroup as errors:
            if (known := errors.subgroup(TauError)) is not None:
                raise first_error(known) from None
            raise
        finally:
            runner.close()


async def _send(channel: ChatChannel, home: RelayHome, chat: str, parts: Sequence[OutgoingPart]) -> str:
    last = ""
    async with asyncio.TaskGroup() as group:
        try:
            await channel.start(ChannelLink(group, lambda: None, listens=False))
            for part in parts:
                last = await send_part(channel, home, part, "tau-relay-direct")
        finally:
            await channel.close()
    return last


def first_error(error: BaseException) -> BaseException:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
