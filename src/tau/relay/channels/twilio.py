"""Twilio's WhatsApp numbers: a signed webhook or polling, answers over its REST API."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path

from msgspec import Struct, json

from tau.base.clock import now_ms
from tau.base.errors import ConfigError, TauError
from tau.base.files import write_atomic
from tau.base.run import Limits, LocalRunner, capture
from tau.base.tasks import spawn
from tau.relay.channels.channel import ChannelDown, ChannelLimits, ChannelLink, ChannelRejected, ChatChannel
from tau.relay.channels.connection import Downloads, Inbox, http_client, origin
from tau.relay.channels.twilio_api import TwilioAccount, TwilioApi, is_signed
from tau.relay.config import RelayHome
from tau.relay.hosted_files import HostedFiles
from tau.relay.http_listener import HttpListener, HttpReply, HttpRequest
from tau.relay.log import RelayLog
from tau.relay.message import ChatFile, InboundMessage
from tau.relay.settings import RelayConfig

STORE_S = 10  # Twilio waits 15 s
MAX_CHATS = 1000
POLL_LIMIT = 50
MAX_WAIT_S = 60
MEDIA_PATH = "/media/"
EMPTY = b"<Response></Response>"


class _Arrived(Struct, frozen=True):
    message: InboundMessage
    stored: asyncio.Future[None]


class TwilioChannel(ChatChannel):
    name = "twilio"

    def __init__(
        self,
        config: RelayConfig,
        account: TwilioAccount,
        auth_token: str,
        home: RelayHome,
        log: RelayLog,
        runner: LocalRunner,
    ) -> None:
        """Raises ConfigError."""
        self._settings = config.twilio
        self._account = account
        self._auth_token = auth_token
        self._log = log
        self._runner = runner
        own = {origin(url) for url in (account.api_url, account.messaging_url)}
        self._http = http_client(lambda host, port: (host, port) in own)
        self._downloads = Downloads(home.inbound, self._http)
        self._api = TwilioApi(account, self._http)
        self._hosted = HostedFiles()
        self._listener = HttpListener(self._answer)
        self._inbox: Inbox[_Arrived] = Inbox()
        self._last: OrderedDict[str, str] = OrderedDict()  # the last message of each chat, for typing signals
        self._poller: asyncio.Task[None] | None = None
        self._seen: OrderedDict[str, None] = OrderedDict()  # polled and stored
        self._since = home.state / "twilio.json"
        self._stale_ms = config.limits.stale_minutes * 60_000
        self._public_url = self._settings.public_url.rstrip("/")
        is_public = self._public_url == "tailscale" or self._public_url.startswith(("https://", "http://"))
        if self._settings.mode == "webhook" and not is_public:
            raise ConfigError("twilio.publicUrl must be the address of the webhook server, or tailscale.")
        self.limits = ChannelLimits(text_units=1600, media=is_public)

    async def start(self, link: ChannelLink) -> None:
        self._link = link
        if not link.listens and not self.limits.media:
            return
        if self._settings.mode == "webhook" or self.limits.media:
            await self._listener.start(self._settings.port)
        if self._public_url == "tailscale":
            self._public_url = await self._open_funnel()
            await self._api.set_webhook(self._public_url + self._settings.path)
        if self._settings.mode == "poll" and link.listens:
            self._poller = spawn(link.group, self._poll())
        link.connected()

    async def events(self) -> AsyncIterator[InboundMessage]:
        async for arrived in self._inbox.items():
            self._last[arrived.message.chat] = arrived.message.id
            self._last.move_to_end(arrived.message.chat)
            while len(self._last) > MAX_CHATS:
                self._last.popitem(last=False)
            yield arrived.message
            if not arrived.stored.done():
                arrived.stored.set_result(None)

    async def send_text(self, chat: str, text: str, *, key: str, choices: tuple[str, ...] = ()) -> str:
        return await self._api.send(chat, text, callback=self._status_url())

    async def send_media(self, chat: str, data: bytes, type: str, name: str, caption: str, key: str) -> str:
        url = f"{self._public_url}{MEDIA_PATH}{self._hosted.add(data, type)}"
        return await self._api.send(chat, caption, url, self._status_url())

    async def fetch(self, file: ChatFile) -> ChatFile:
        ours = file.url.startswith(f"{self._account.api_url}/")
        return await self._downloads.fetch(file.url, self._api.authorization if ours else None)

    async def typing(self, chat: str, on: bool) -> None:
        if on and (message := self._last.get(chat)):
            with suppress(TauError):
                await self._api.typing(message)

    async def close(self) -> None:
        await self._listener.close()
        if self._poller is not None:
            self._poller.cancel()
        await self._http.close()
        self._inbox.close()

    def _status_url(self) -> str:
        return f"{self._public_url}{self._settings.path}/status" if self.limits.media else ""

    async def _answer(self, request: HttpRequest) -> HttpReply:
        """A request to the webhook server; a message is answered once it is in the journal."""
        if request.path.startswith(MEDIA_PATH):
            return self._hosted.take(request.path.removeprefix(MEDIA_PATH), request.method)
        path = self._settings.path
        if request.method != "POST" or request.path not in (path, f"{path}/status"):
            return HttpReply(404, b"tau relay: not found.")
        try:
            fields = request.form()
        except ValueError:
            return HttpReply(400, b"Bad request.")
        url = self._public_url + request.target
        if not is_signed(request.headers.get("x-twilio-signature", ""), self._auth_token, url, fields):
            self._log.write("warn", "twilio", "request without a valid signature refused", path=request.path)
            return HttpReply(403, b"Invalid signature.")
        values = dict(fields)
        if request.path == path:
            stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            if not self._inbox.put(_Arrived(_message(values), stored)):
                return HttpReply(503, b"Busy.")
            try:
                async with asyncio.timeout(STORE_S):
                    await stored
            except TimeoutError:
                return HttpReply(503, b"Busy.")
        elif values.get("MessageStatus") in ("failed", "undelivered"):
            code = values.get("ErrorCode", "")
            self._log.write("error", "twilio", "not delivered", id=values.get("MessageSid"), code=code)
        return HttpReply(200, EMPTY, "text/xml")

    async def _poll(self) -> None:
        """Ask for new messages; those of before the first start are never answered."""
        first_ms = self._first_start()
        failures = 0
        while True:
            oldest_ms = max(first_ms, now_ms() - 2 * self._stale_ms)
            day = datetime.fromtimestamp(oldest_ms / 1000, UTC).strftime("%Y-%m-%d")
            try:
                for one in await self._api.received(day, POLL_LIMIT):
                    await self._take_polled(one, oldest_ms)
                failures = 0
                self._link.connected()
            except (ChannelDown, ChannelRejected, TauError) as error:
                failures += 1
                self._log.write("warn", "twilio", str(error))
            await asyncio.sleep(min(MAX_WAIT_S, self._settings.poll_seconds * 2**failures))

    async def _take_polled(self, one: dict[str, object], oldest_ms: int) -> None:
        try:
            sent = parsedate_to_datetime(str(one.get("date_sent") or one.get("date_created")))
            sent_ms = int(sent.timestamp() * 1000)
        except ValueError:
            return
        sid = str(one.get("sid"))
        if sent_ms < oldest_ms // 1000 * 1000 or sid in self._seen:
            return
        urls = await self._api.media(sid) if str(one.get("num_media") or "0") != "0" else []
        values = {
            "From": one.get("from"),
            "To": one.get("to"),
            "Body": one.get("body"),
            "MessageSid": one["sid"],
        }
        message = _message({name: str(value or "") for name, value in values.items()}, urls, sent_ms)
        stored: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._inbox.put(_Arrived(message, stored))
        await stored
        self._seen[sid] = None
        while len(self._seen) > 2 * POLL_LIMIT:
            self._seen.popitem(last=False)

    def _first_start(self) -> int:
        try:
            return int(json.decode(self._since.read_bytes(), type=int))
        except (OSError, ValueError):
            write_atomic(self._since, json.encode(now_ms()), mode=0o600)
            return now_ms()

    async def _open_funnel(self) -> str:
        """Make the webhook server reachable; returns its address. Raises ConfigError."""
        await self._tailscale("funnel", "--yes", "--bg", str(self._settings.port))
        status = json.decode(await self._tailscale("status", "--json"))
        host = str(status.get("Self", {}).get("DNSName", "")).rstrip(".")
        if not host:
            raise ConfigError("Tailscale has no name for this machine; is it logged in?")
        return f"https://{host}"

    async def _tailscale(self, *words: str) -> bytes:
        try:
            process = await self._runner.start(
                ["tailscale", *words], cwd=Path("/"), limits=Limits(timeout=30)
            )
            async with process:
                done = await capture(process, max_bytes=1_000_000)
        except OSError as error:
            raise ConfigError(f"Tailscale cannot be started: {error.strerror}.") from None
        if done.exit.code != 0:
            raise ConfigError(
                f"The command tailscale {words[0]} failed: {done.output.decode('utf-8', 'replace')[:300]}"
            )
        return done.output


def _message(values: dict[str, str], urls: Sequence[str] = (), sent_ms: int = 0) -> InboundMessage:
    count = int(values.get("NumMedia") or 0) if (values.get("NumMedia") or "0").isdigit() else 0
    hooked = [
        ChatFile(url=values[f"MediaUrl{at}"], type=values.get(f"MediaContentType{at}", ""))
        for at in range(min(count, 10))
        if f"MediaUrl{at}" in values
    ]
    return InboundMessage(
        channel="twilio",
        account=values.get("To", ""),
        id=values.get("MessageSid", ""),
        chat=values.get("From", ""),
        sender=values.get("From", ""),
        body=values.get("Body", ""),
        sender_name=values.get("ProfileName", ""),
        files=(*hooked, *(ChatFile(url=url) for url in urls)),
        sent_ms=sent_ms or now_ms(),
    )
