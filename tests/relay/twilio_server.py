"""Twilio's REST API on this machine, as far as the relay uses it."""

import base64
from email.utils import formatdate
from typing import Any
from urllib.parse import parse_qs, urlsplit

from msgspec import json

from tau.relay.http_listener import HttpListener, HttpReply, HttpRequest

SID, TOKEN, NUMBER = "AC" + "1" * 32, "auth-token-of-the-account", "whatsapp:+15550001111"


class FakeTwilio:
    """`sent` has the fields of each message, `typed` the messages of typing signals."""

    def __init__(self) -> None:
        self.sent: list[dict[str, str]] = []
        self.received: list[dict[str, Any]] = []
        self.typed: list[str] = []
        self.webhooks: list[str] = []
        self.files: dict[str, bytes] = {}
        self.fail = 0
        self._listener = HttpListener(self._answer)

    async def __aenter__(self) -> "FakeTwilio":
        self.url = f"http://127.0.0.1:{await self._listener.start(0)}"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._listener.close()

    def bodies(self) -> list[str]:
        return [one["Body"] for one in self.sent]

    def receive(self, body: str, sid: str, *, age_s: int = 0) -> None:
        import time

        date = formatdate(time.time() - age_s)
        self.received.insert(0, self._message(sid, "inbound", body, "whatsapp:+15552223333", NUMBER, date))

    def _message(
        self, sid: str, direction: str, body: str, sender: str, to: str, date: str
    ) -> dict[str, Any]:
        return {
            "sid": sid,
            "account_sid": SID,
            "direction": direction,
            "body": body,
            "from": sender,
            "to": to,
            "date_sent": date,
            "date_created": date,
            "num_media": "0",
            "status": "received",
        }

    async def _answer(self, request: HttpRequest) -> HttpReply:
        expected = "Basic " + base64.b64encode(f"{SID}:{TOKEN}".encode()).decode()
        if request.headers.get("authorization") != expected:
            return _reply(401, {"code": 20003, "message": "Authenticate"})
        if request.path == "/v2/Channels/Senders":
            return _reply(200, {"senders": [{"sid": "XE1", "sender_id": NUMBER}]})
        if request.path == "/v2/Channels/Senders/XE1":
            self.webhooks.append(json.decode(request.body)["webhook"]["callback_url"])
            return _reply(202, {"sid": "XE1"})
        if request.path == "/v2/Indicators/Typing.json":
            self.typed.append(dict(request.form())["messageId"])
            return _reply(200, {"success": True})
        if request.path.startswith("/files/"):
            return HttpReply(200, self.files[request.path.removeprefix("/files/")], "image/png")
        assert request.path == f"/2010-04-01/Accounts/{SID}/Messages.json"
        if self.fail:
            status, self.fail = self.fail, 0
            return _reply(status, {"message": "no such number"})
        if request.method == "POST":
            self.sent.append(dict(request.form()))
            fields = self.sent[-1]
            sid = f"SM{len(self.sent):032d}"
            sent = self._message(
                sid, "outbound-api", fields["Body"], fields["From"], fields["To"], formatdate()
            )
            return _reply(201, sent)
        query = parse_qs(urlsplit(request.target).query)
        assert query["To"] == [NUMBER]
        return _reply(200, {"messages": self.received, "page": 0, "page_size": 50, "next_page_uri": None})


def _reply(status: int, content: dict[str, Any]) -> HttpReply:
    return HttpReply(status, json.encode(content), "application/json")
