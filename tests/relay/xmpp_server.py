"""A real XMPP server, Debian's prosody, and a user of it."""

import asyncio
import shutil
import socket
import subprocess
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen
from xml.etree import ElementTree

import pytest

from tests.support.free_ports import free_port
from tests.support.idle import until
from tests.support.limits import HANG_S

pytest.importorskip("slixmpp", reason="slixmpp is not installed; the extra xmpp has it")
from slixmpp import ClientXMPP

CONFIG = """
daemonize = false
run_as_root = true
pidfile = "{folder}/prosody.pid"
data_path = "{folder}/data"
log = {{ debug = "{folder}/log" }}
interfaces = {{ "127.0.0.1" }}
c2s_ports = {{ {port} }}
c2s_direct_tls_ports = {{ {direct} }}
s2s_ports = {{ }}
http_ports = {{ {http} }}
https_ports = {{ }}
modules_enabled = {{
  {tls}"roster", "saslauth", "disco", "smacks", "offline", "presence", "message", "iq", "ping"
}}
authentication = "internal_plain"
c2s_require_encryption = {encrypted}
allow_unencrypted_plain_auth = true
smacks_hibernation_time = 60
limits = {{ c2s = {{ rate = "10mb/s" }} }}
VirtualHost "localhost"
{ssl}
Component "rooms.localhost" "muc"
  muc_room_locking = false
  muc_room_default_public_jids = true
Component "upload.localhost" "http_file_share"
  http_host = "127.0.0.1"
  http_external_url = "http://127.0.0.1:{http}/"
"""


class XmppServer:
    """Accounts: bot, ann and eve, each with the password of that name."""

    def __init__(self, folder: Path, *, tls: bool = False) -> None:
        if shutil.which("prosody") is None:
            pytest.skip("prosody is not installed")
        self.folder = folder
        (folder / "data" / "localhost" / "accounts").mkdir(parents=True)
        for name in ("bot", "ann", "eve"):
            path = folder / "data" / "localhost" / "accounts" / f"{name}.dat"
            path.write_text(f'return {{ ["password"] = "{name}-password"; }};\n')
        self.port, self.direct, self.http = free_port(), free_port(), free_port()
        ssl = ""
        if tls:
            certificate = folder / "cert.pem"
            command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost"
            subprocess.run(
                [
                    *command.split(),
                    "-addext",
                    "subjectAltName=DNS:localhost",
                    "-keyout",
                    folder / "key.pem",
                    "-out",
                    certificate,
                ],
                check=True,
                capture_output=True,
            )
            ssl = f'ssl = {{ certificate = "{certificate}"; key = "{folder}/key.pem"; }}'
        (folder / "prosody.cfg.lua").write_text(
            CONFIG.format(
                folder=folder,
                port=self.port,
                direct=self.direct,
                http=self.http,
                encrypted=str(tls).lower(),
                ssl=ssl,
                tls='"tls", ' if tls else "",
            )
        )
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    async def start(self) -> None:
        self.process = subprocess.Popen(  # noqa: ASYNC220
            ["prosody", "-F", "--config", str(self.folder / "prosody.cfg.lua")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        await until(self._listens, HANG_S, lambda: (self.folder / "log").read_text()[-2000:])

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0

    async def __aenter__(self) -> "XmppServer":
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait(HANG_S)
            self.process = None


class XmppUser(ClientXMPP):
    """A person with a chat program."""

    def __init__(self, server: XmppServer, name: str = "ann") -> None:
        super().__init__(
            f"{name}@localhost/phone",
            f"{name}-password",
            plugin_config={"feature_mechanisms": {"unencrypted_scram": True, "unencrypted_plain": True}},
        )
        self._port = server.port
        self.enable_plaintext, self.enable_direct_tls = True, False
        for plugin in ("xep_0030", "xep_0045", "xep_0198"):
            self.register_plugin(plugin)
        self.texts: list[str] = []
        self.states: list[str] = []
        self.receipts: list[str] = []
        self._changed = asyncio.Condition()
        self._ready = asyncio.Event()
        self.add_event_handler("session_start", self._begin)
        self.add_event_handler("message", self._take)

    async def __aenter__(self) -> "XmppUser":
        self.connect("127.0.0.1", self._port)
        async with asyncio.timeout(HANG_S):
            await self._ready.wait()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.disconnect(wait=1)
        if self._run_out_filters is not None:
            self._run_out_filters.cancel()
            await asyncio.wait([self._run_out_filters])

    async def _begin(self, _: Any) -> None:
        self.send_presence()
        self.register_handler_of_states()
        self._ready.set()

    def register_handler_of_states(self) -> None:
        from slixmpp.xmlstream.handler import Callback
        from slixmpp.xmlstream.matcher import MatchXPath

        self.register_handler(Callback("any", MatchXPath("{jabber:client}message"), self._see))

    def _see(self, stanza: Any) -> None:
        for child in stanza.xml:
            namespace, _, tag = child.tag[1:].partition("}")
            if "chatstates" in namespace:
                self.states.append(tag)
            if tag in ("received", "displayed"):
                self.receipts.append(child.get("id", ""))

    async def _take(self, stanza: Any) -> None:
        if stanza["type"] == "groupchat" and stanza["from"].resource == "ann":
            return
        async with self._changed:
            self.texts.append(stanza["body"])
            self._changed.notify_all()

    def say(self, text: str, to: str = "bot@localhost", *, id: str = "", url: str = "") -> None:
        message = self.make_message(mto=to, mbody=text, mtype="groupchat" if "rooms" in to else "chat")
        if id:
            message["id"] = id
            ElementTree.SubElement(message.xml, "{urn:xmpp:receipts}request")
        if url:
            place = ElementTree.SubElement(message.xml, "{jabber:x:oob}x")
            ElementTree.SubElement(place, "{jabber:x:oob}url").text = url
        message.send()

    async def upload(self, data: bytes, name: str) -> str:
        """Store a file on the server; returns its address."""
        iq = self.make_iq_get(ito="upload.localhost")
        fields = {"filename": name, "size": str(len(data)), "content-type": "image/png"}
        iq.append(ElementTree.Element("{urn:xmpp:http:upload:0}request", fields))
        slot = (await iq.send()).xml[0]
        put = slot.find("{urn:xmpp:http:upload:0}put")
        request = Request(put.get("url"), data, {one.get("name"): one.text for one in put}, method="PUT")
        request.add_header("content-type", "image/png")
        await asyncio.to_thread(lambda: urlopen(request).close())
        return str(slot.find("{urn:xmpp:http:upload:0}get").get("url"))

    async def wait(self, count: int) -> list[str]:
        """The texts so far, once there are that many."""
        async with asyncio.timeout(HANG_S), self._changed:
            await self._changed.wait_for(lambda: len(self.texts) >= count)
        return self.texts
