"""Puts a relay together and runs it until a signal or the end of its channels."""

import fcntl
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from tau.ai.auth import is_variable
from tau.base.errors import ConfigError, UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.relay.agent_run import agent_runner
from tau.relay.channels.channel import ChatChannel
from tau.relay.channels.connection import secret
from tau.relay.config import RelayHome
from tau.relay.journal import MessageJournal
from tau.relay.log import RelayLog, open_log
from tau.relay.relay import Relay
from tau.relay.settings import RelayConfig

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

console = late("tau.relay.channels.console")
telegram = late("tau.relay.channels.telegram")
twilio = late("tau.relay.channels.twilio")
twilio_api = late("tau.relay.channels.twilio_api")
whatsapp = late("tau.relay.channels.whatsapp")
xmpp = late("tau.relay.channels.xmpp")


class ChannelParts(NamedTuple):
    """What channels are made of; `terminal` is input and output of the console."""

    config: RelayConfig
    home: RelayHome
    log: RelayLog
    runner: LocalRunner  # for commands that print secrets
    terminal: "tuple[TextIO, TextIO]"


async def _console(parts: ChannelParts) -> ChatChannel:
    return console.ConsoleChannel(*parts.terminal)


async def _xmpp(parts: ChannelParts) -> ChatChannel:
    password = await secret(parts.config.xmpp.password, "xmpp.password", parts.runner)
    return xmpp.XmppChannel(parts.config, password, parts.home, parts.log)


async def _telegram(parts: ChannelParts) -> ChatChannel:
    token = await secret(parts.config.telegram.token, "telegram.token", parts.runner)
    return telegram.TelegramChannel(parts.config, token, parts.home, parts.log)


async def _twilio(parts: ChannelParts) -> ChatChannel:
    one = parts.config.twilio

    async def value(name: str, text: str, *, optional: bool = False) -> str:
        return await secret(text, f"twilio.{name}", parts.runner, optional=optional)

    sid = await value("accountSid", one.account_sid)
    number = await value("number", one.number)
    key, key_secret = (
        await value("apiKey", one.api_key, optional=True),
        await value("apiSecret", one.api_secret, optional=True),
    )
    has_key = bool(key and key_secret)
    token = await value("authToken", one.auth_token, optional=has_key and one.mode == "poll")
    account = twilio_api.TwilioAccount(
        sid=sid,
        user=key if has_key else sid,
        password=key_secret if has_key else token,
        number=number if number.startswith("whatsapp:") else f"whatsapp:{number}",
        api_url=one.api_url.rstrip("/"),
        messaging_url=one.messaging_url.rstrip("/"),
    )
    return twilio.TwilioChannel(parts.config, account, token, parts.home, parts.log, parts.runner)


async def _whatsapp(parts: ChannelParts) -> ChatChannel:
    client = whatsapp.new_client(parts.home)
    return whatsapp.WhatsAppChannel(parts.config, client, parts.home, parts.log)


CHANNELS: Mapping[str, Callable[[ChannelParts], Awaitable[ChatChannel]]] = {
    "console": _console,
    "xmpp": _xmpp,
    "telegram": _telegram,
    "twilio": _twilio,
    "whatsapp": _whatsapp,
}
PACKAGES = {"slixmpp": "xmpp", "telegram": "telegram", "neonize": "whatsapp"}


def configured(config: RelayConfig) -> list[str]:
    """The channels that have an account in the config, else the console."""
    twilio_number = os.environ.get(config.twilio.number) or not is_variable(config.twilio.number)
    accounts = {
        "xmpp": config.xmpp.jid,
        "telegram": config.telegram.token,
        "twilio": twilio_number,
        "whatsapp": config.whatsapp.enabled,
    }
    return [name for name, account in accounts.items() if account] or ["console"]


def secret_variables(config: RelayConfig) -> list[str]:
    """Variables with secrets of channels, which no agent gets."""
    one = config.twilio
    values = (config.xmpp.password, config.telegram.token, one.auth_token, one.api_key, one.api_secret)
    return [value for value in values if is_variable(value)]


async def open_channel(name: str, parts: ChannelParts) -> ChatChannel:
    """Raises UsageError if a package is missing, and ConfigError."""
    if name != "console" and name not in configured(parts.config):
        raise ConfigError(f"The config has no account for {name}; see docs/relay/{name}.md.")
    try:
        return await CHANNELS[name](parts)
    except ModuleNotFoundError as error:
        raise missing_package(name, error) from None


def missing_package(name: str, error: ModuleNotFoundError) -> Exception:
    """What to raise instead: how to install the extra, if that is what is missing."""
    extra = PACKAGES.get((error.name or "").partition(".")[0])
    if extra is None:
        return error
    install = f"install it with: pip install 'tau-agent[{extra}]'"
    return UsageError(f"The channel {name} needs the package {error.name}; {install}.")


@contextmanager
def lock_relay(home: RelayHome) -> Iterator[None]:
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


def is_running(home: RelayHome) -> bool:
    if not home.lock.exists():
        return False
    try:
        with lock_relay(home):
            return False
    except UsageError:
        return True


async def serve(
    config: RelayConfig,
    home: RelayHome,
    names: Sequence[str],
    terminal: "tuple[TextIO, TextIO]",
    *,
    beat_first: bool = False,
) -> None:
    """Run the relay with these channels. Raises TauError."""
    home.create()
    with lock_relay(home):
        log = open_log(config, home)
        journal = MessageJournal(home.journal)
        secret_names = secret_variables(config)
        runner = agent_runner(secret_names)
        try:
            parts = ChannelParts(config, home, log, runner, terminal)
            channels = [await open_channel(name, parts) for name in names]
            await Relay(config, home, channels, journal, runner, log, secret_names).run(beat_first=beat_first)
        finally:
            runner.close()
            journal.close()
