"""No web address, redirect or name reaches a private listener unless the user allows it."""

import asyncio
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tau.ai import http_connect
from tau.backends.web import client as clients
from tau.backends.web.addresses import AllowedHosts, WebError, parse_web_url
from tau.backends.web.client import GuardedRequest, WebClient
from tests.backends.web.pages_server import PagesServer

LOOPBACK = (
    *("127.0.0.1", "127.0.0.2", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7F.1"),
    *("017700000001", "0177.0.0.1", "0177.1", "127.0.0.1.", "127.000.000.001", "0", "0.0.0.0", "00", "0x0"),
    *("localhost", "LOCALHOST", "localhost.", "ip6-localhost", "foo.localhost", "4294967295", "00000177.1"),
    *("[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]"),
    *("[::7f00:1]", "[64:ff9b::127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]"),
    *("[2002:7f00:0001::1]", "[fe80::1%25lo]", "[fe80::1%lo]", "[::1%25lo]", "[fc00::1]", "[fd00::1]"),
    *("[fec0::1]", "[ff02::1]", "[2001::7f00:1]", "[100::1]", "[::ffff:0:127.0.0.1]", "[::ffff:10.0.0.1]"),
    *("１２７.0.0.1", "１２７。０。０。１", "①②⑦.0.0.1", "ⓛocalhost", "ｌｏｃａｌｈｏｓｔ", "127。0。0。1"),
    *("user@127.0.0.1", "example.com@127.0.0.1", "example.com:80@127.0.0.1", "127.0.0.1\\@example.com"),
    *("example.com\\@127.0.0.1", "127.0.0.1%00.example.com", "127.0.0.1%2f", "exa mple", "[127.0.0.1]"),
    *("10.0.0.1", "10.255.255.255", "172.16.0.1", "172.31.255.255", "192.168.0.1", "169.254.169.254"),
    *("169.254.0.1", "100.64.0.1", "100.100.100.200", "192.0.0.1", "192.0.2.1", "198.18.0.1", "203.0.113.1"),
    *("224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "168.63.129.16", "[::ffff:a9fe:a9fe]"),
    *("[64:ff9b::a9fe:a9fe]", "[2002:a9fe:a9fe::]", "[fd00:ec2::254]", "0xA9FEA9FE", "2852039166"),
    *("0251.0376.0251.0376", "xn--localhost", "xn--127", "127.0.0.1\t", "\t127.0.0.1", "127.0.0.1\x00.com"),
)


@pytest.fixture
def listener() -> Iterator[PagesServer]:
    with PagesServer({"/": "private"}) as server:
        yield server


def fetch(url: str, client: WebClient | None = None, **fields: Any) -> Any:
    async def main() -> Any:
        used = client or WebClient(environ={})
        try:
            return await used.fetch(parse_web_url(url), GuardedRequest(**fields), seconds=3)
        finally:
            await used.close()

    return asyncio.run(main())


def resolve_as(monkeypatch: pytest.MonkeyPatch, *answers: list[str]) -> list[str]:
    """Names have these addresses, one list for each look-up; returns what was looked up."""
    asked: list[str] = []

    async def look_up(host: str, port: int) -> Any:
        asked.append(host)
        found = answers[min(len(asked), len(answers)) - 1]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in found]

    monkeypatch.setattr(clients, "look_up", look_up)
    return asked


@pytest.mark.parametrize("host", LOOPBACK)
def test_no_spelling_reaches_a_private_listener(host: str, listener: PagesServer) -> None:
    with pytest.raises(WebError):
        fetch(f"http://{host}:{listener.port}/")
    assert listener.requests == []


def test_there_are_enough_spellings() -> None:
    assert len(set(LOOPBACK)) >= 80


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("target", ["127.0.0.2", "localhost", "[::1]", "0x7f.1", "169.254.169.254"])
def test_no_redirect_reaches_a_private_listener(code: int, target: str, listener: PagesServer) -> None:
    location = f"http://{target}:{listener.port}/"
    with PagesServer({"/": (code, {"location": location}, "")}) as server:
        client = WebClient(AllowedHosts([f"127.0.0.1:{server.port}"]), environ={})
        with pytest.raises(WebError):
            fetch(f"{server.url}/", client)
    assert listener.requests == []


def test_a_name_with_one_private_address_is_refused(
    monkeypatch: pytest.MonkeyPatch, listener: PagesServer
) -> None:
    resolve_as(monkeypatch, ["93.184.216.34", "127.0.0.1"])
    with pytest.raises(WebError, match="private address"):
        fetch(f"http://example.com:{listener.port}/")
    assert listener.requests == []


def test_a_name_is_looked_up_once_and_the_checked_address_is_used(
    monkeypatch: pytest.MonkeyPatch, listener: PagesServer
) -> None:
    """A rebinding resolver answers with a private address the second time."""
    asked = resolve_as(monkeypatch, ["93.184.216.34"], ["127.0.0.1"])
    dialed: list[str] = []

    async def dial(addresses: Any) -> socket.socket:
        dialed.extend(place[4][0] for place in addresses)
        raise ConnectionRefusedError

    monkeypatch.setattr(clients, "dial_addresses", dial)
    with pytest.raises(WebError):
        fetch(f"http://example.com:{listener.port}/")
    assert (asked, dialed, listener.requests) == (["example.com"], ["93.184.216.34"], [])


def test_a_proxy_is_not_asked_for_private_addresses(listener: PagesServer) -> None:
    with PagesServer({}) as proxy:
        client = WebClient(environ={"http_proxy": proxy.url})
        for host in ("10.0.0.1", "169.254.169.254", "intranet", "service.internal"):
            with pytest.raises(WebError):
                fetch(f"http://{host}:{listener.port}/", client)
    assert proxy.requests == [] and listener.requests == []


def test_an_allowed_host_is_fetched_with_its_name(listener: PagesServer) -> None:
    for entry in (f"127.0.0.1:{listener.port}", "127.0.0.0/8", "127.0.0.1", f":{listener.port}", "127.*"):
        assert fetch(f"{listener.url}/", WebClient(AllowedHosts([entry]), environ={})).body == b"private"
    assert {headers["host"] for _, _, headers, _ in listener.requests} == {f"127.0.0.1:{listener.port}"}
    with pytest.raises(WebError):
        fetch(f"{listener.url}/", WebClient(AllowedHosts(["127.0.0.1:1", "10.0.0.0/8"]), environ={}))


def test_another_host_needs_permission_to_be_redirected_to(listener: PagesServer) -> None:
    location = f"http://localhost:{listener.port}/"
    with PagesServer({"/": (302, {"location": location}, "")}) as server:
        allowed = AllowedHosts(["127.0.0.0/8", "localhost"])
        with pytest.raises(WebError, match=f"redirects to another host; to follow, read {location}"):
            fetch(server.url, WebClient(allowed, lambda host: False, {}))
        assert listener.requests == []
        assert fetch(server.url, WebClient(allowed, lambda host: host == "localhost", {})).body == b"private"


def test_keys_stay_with_their_origin_on_a_redirect(listener: PagesServer) -> None:
    keys = {"Authorization": "Bearer k", "Cookie": "a=b", "X-Api-Key": "k"}
    with PagesServer({"/": (307, {"location": f"{listener.url}/"}, "")}) as server:
        fetch(server.url, WebClient(AllowedHosts(["127.0.0.1"]), environ={}), headers=keys)
        assert server.requests[0][2].keys() >= {"authorization", "cookie", "x-api-key"}
    assert not listener.requests[0][2].keys() & {"authorization", "cookie", "x-api-key"}


def test_a_redirect_loop_ends() -> None:
    with PagesServer({"/": (302, {"location": "/"}, "")}) as server:
        with pytest.raises(WebError, match="more than 10 times"):
            fetch(server.url, WebClient(AllowedHosts(["127.0.0.1"]), environ={}))
        assert len(server.requests) == 11


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("www.Example.com", "https://www.example.com/"),
        ("HTTP://EXAMPLE.com:80/a b?c=ü#d", "http://example.com/a%20b?c=%C3%BC"),
        ("https://bücher.example/x", "https://xn--bcher-kva.example/x"),
        ("https://example.com.:8443", "https://example.com:8443/"),
        ("http://[2606:4700::1111]:81/%2e%2e", "http://[2606:4700::1111]:81/%2e%2e"),
    ],
)
def test_addresses_are_normalized(text: str, whole: str) -> None:
    assert str(parse_web_url(text)) == whole


@pytest.mark.parametrize(
    "text",
    [
        "ftp://a.example",
        "file:///etc/passwd",
        "http://",
        "http://a..b",
        "http://a:0/",
        "http://a:99999/",
        "x",
    ],
)
def test_other_addresses_are_refused(text: str) -> None:
    with pytest.raises(WebError, match="Invalid web address"):
        parse_web_url(text)


def test_the_resolver_is_the_one_of_the_transport() -> None:
    assert clients.look_up is http_connect.look_up
