"""The few requests to Twilio that the relay makes, and the signature of its webhooks."""

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode, urlsplit

from msgspec import DecodeError, Struct, json

from tau.ai.http import HttpTransport
from tau.ai.http_connect import ConnectFailed
from tau.base.errors import ProviderError, TauError
from tau.base.sizes import MIB
from tau.relay.channels.channel import ChannelDown, ChannelRejected

MAX_ANSWER_BYTES = 4 * MIB


class TwilioAccount(Struct, frozen=True):
    sid: str
    user: str
    password: str
    number: str
    api_url: str
    messaging_url: str


class TwilioApi:
    def __init__(self, account: TwilioAccount, http: HttpTransport) -> None:
        self._account = account
        self._http = http
        pair = base64.b64encode(f"{account.user}:{account.password}".encode()).decode()
        self.authorization = {"authorization": f"Basic {pair}"}
        self._messages = f"{account.api_url}/2010-04-01/Accounts/{account.sid}/Messages.json"

    async def send(self, to: str, body: str, media_url: str = "", callback: str = "") -> str:
        """Send a message; returns its id. Raises ChannelDown, ChannelRejected, TauError if nobody knows."""
        fields = {"From": self._account.number, "To": to, "Body": body}
        fields |= {
            name: value for name, value in (("MediaUrl", media_url), ("StatusCallback", callback)) if value
        }
        return str((await self._post(self._messages, fields)).get("sid", ""))

    async def received(self, day: str, limit: int) -> list[dict[str, object]]:
        """Messages to our number since a day, oldest first."""
        query = {"To": self._account.number, "DateSent>": f"{day}T00:00:00Z", "PageSize": str(limit)}
        found = await self._request("GET", f"{self._messages}?{urlencode(query)}")
        messages = [one for one in found.get("messages") or () if isinstance(one, dict)]
        return [one for one in reversed(messages) if one.get("direction") == "inbound"]

    async def media(self, message: str) -> list[str]:
        """Addresses of the files of a message."""
        found = await self._request("GET", self._messages.replace(".json", f"/{message}/Media.json"))
        base = self._messages.replace(".json", f"/{message}/Media/")
        return [f"{base}{one.get('sid')}" for one in found.get("media_list") or ()]

    async def typing(self, message: str) -> None:
        url = f"{self._account.messaging_url}/v2/Indicators/Typing.json"
        await self._post(url, {"messageId": message, "channel": "whatsapp"})

    async def set_webhook(self, url: str) -> None:
        """Make Twilio deliver messages of our number there."""
        senders = f"{self._account.messaging_url}/v2/Channels/Senders"
        found = await self._request("GET", f"{senders}?Channel=whatsapp&PageSize=50")
        for one in found.get("senders") or ():
            if one.get("sender_id") == self._account.number:
                body = json.encode({"webhook": {"callback_url": url, "callback_method": "POST"}})
                await self._request("POST", f"{senders}/{one['sid']}", body, "application/json")
                return
        raise TauError(f"Twilio has no sender {self._account.number}; set its webhook to {url} yourself.")

    async def _post(self, url: str, fields: Mapping[str, str]) -> dict[str, object]:
        return await self._request("POST", url, urlencode(fields).encode())

    async def _request(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        type: str = "application/x-www-form-urlencoded",
    ) -> dict[str, Any]:
        headers = {**self.authorization, "content-type": type} if body else self.authorization
        try:
            async with self._http.open(method, url, headers=headers, body=body) as response:
                data = await response.read(MAX_ANSWER_BYTES)
                status = response.status
        except ConnectFailed:
            raise ChannelDown("Twilio cannot be reached.") from None
        except (ProviderError, TimeoutError) as error:
            raise TauError(f"Twilio did not answer: {error}") from None
        try:
            answer = json.decode(data)
        except DecodeError:
            answer = {}
        answer = answer if isinstance(answer, dict) else {}
        if status == 429:
            raise ChannelDown("Twilio asked to send less.", wait_s=5)
        if 400 <= status < 500:
            raise ChannelRejected(f"Twilio refused: {answer.get('message') or status}")
        if status >= 300:
            raise TauError(f"Twilio failed with {status}.")
        return answer


def signature(token: str, url: str, fields: Sequence[tuple[str, str]]) -> bytes:
    """What X-Twilio-Signature has to be."""
    parts = sorted(set(fields))
    text = url + "".join(name + value for name, value in parts)
    return base64.b64encode(hmac.new(token.encode(), text.encode(), hashlib.sha1).digest())


def is_signed(given: str, token: str, url: str, fields: Sequence[tuple[str, str]]) -> bool:
    """Whether a request is from Twilio, which signs the address with or without its default port."""
    place = urlsplit(url)
    host, port = place.hostname or "", place.port
    default = 443 if place.scheme == "https" else 80
    addresses = {url}
    if port in (None, default):
        addresses |= {place._replace(netloc=one).geturl() for one in (host, f"{host}:{default}")}
    sent = given.encode("utf-8", "replace")
    return any(hmac.compare_digest(sent, signature(token, one, fields)) for one in addresses)
