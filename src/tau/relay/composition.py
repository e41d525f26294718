"""Puts a relay together and runs it until a signal or the end of its channels."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tau.base.errors import UsageError
from tau.base.files import typed_path
from tau.base.late import late
from tau.relay.agent_run import agent_runner
from tau.relay.channels.channel import ChatChannel
from tau.relay.config import RelayHome
from tau.relay.journal import MessageJournal
from tau.relay.log import RelayLog
from tau.relay.relay import Relay
from tau.relay.settings import RelayConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

console = late("tau.relay.channels.console")


class ChannelParts(NamedTuple):
    """What channels are made of; `terminal` is input and output of the console."""

    config: RelayConfig
    home: RelayHome
    log: RelayLog
    terminal: "tuple[TextIO, TextIO]"


CHANNELS: Mapping[str, Callable[[ChannelParts], ChatChannel]] = {
    "console": lambda parts: console.ConsoleChannel(*parts.terminal),
}


@contextmanager
def only_relay(home: RelayHome) -> Iterator[None]:
    """Hold the lock of the state folder. Raises UsageError if another relay has it."""
    fd = os.open(home.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"A relay already runs with {home.state}.") from None
        yield
    finally:
        os.close(fd)


async def serve(
    config: RelayConfig, home: RelayHome, names: Sequence[str], terminal: "tuple[TextIO, TextIO]"
) -> None:
    """Run the relay with these channels. Raises TauError."""
    home.create()
    with only_relay(home):
        path = config.logging.file
        log = RelayLog(typed_path(path) if path else home.state / "relay.log", config.logging)
        journal = MessageJournal(home.journal)
        secret_names = ()
        runner = agent_runner(secret_names)
        try:
            channels = [CHANNELS[name](ChannelParts(config, home, log, terminal)) for name in names]
            await Relay(config, home, channels, journal, runner, log, secret_names).run()
        finally:
            runner.close()
            journal.close()
