"""Proxies: which one the environment selects, and talking through it."""

import asyncio
import shutil
import ssl
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from tau.ai.http import HttpTransport
from tau.ai.proxy import parse_url, proxy_for
from tau.base.errors import ProviderError
from tests.support.fake_server import certificate
from tests.support.raw_server import raw_server, read_head

HELLO = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"
PROXY = "http://proxy.test:3128"


@pytest.fixture(scope="module")
def cert(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificates")
    yield certificate(tmp_path_factory.mktemp("tls"), name="api.test")


def server_context(cert: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert)
    return context


class Proxy:
    """Connects every tunnel to `target`, answers every plain request itself; records the requests."""

    def __init__(self, target: str = "", *, refusal: str = "") -> None:
        self.target = target
        self.refusal = refusal
        self.heads: list[str] = []

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            self.heads.append(await read_head(reader))
            if self.refusal:
                writer.write(f"HTTP/1.1 {self.refusal}\r\ncontent-length: 4\r\n\r\nsad\n".encode())
                return
            if not self.heads[-1].startswith("CONNECT"):
                writer.write(HELLO)
                continue
            writer.write(b"HTTP/1.1 200 Connection established\r\nx-proxy: yes\r\n\r\n")
            host, _, port = self.target.partition(":")
            there, thence = await asyncio.open_connection(host, int(port))
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.pass_on(reader, thence))
                    group.create_task(self.pass_on(there, writer))
            finally:
                thence.transport.abort()
            return

    async def pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()
        except ConnectionError:
            pass
        writer.transport.abort()


async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await read_head(reader)
        writer.write(HELLO)


def run(
    proxy: Proxy,
    use: Callable[[HttpTransport], Coroutine[Any, Any, None]],
    *,
    cert: Path | None = None,
    proxy_tls: bool = False,
    user: str = "",
) -> str:
    """Starts a proxy, and a TLS server if there is a certificate; calls `use`; returns its host:port."""
    places: list[str] = []

    async def main() -> None:
        async with AsyncExitStack() as stack:
            context = server_context(cert) if cert else None
            if context:
                proxy.target = await stack.enter_async_context(raw_server(answers, tls=context))
            tls = context if proxy_tls else None
            places.append(await stack.enter_async_context(raw_server(proxy.talk, tls=tls)))
            where = f"{'https' if proxy_tls else 'http'}://{user}{places[0]}"
            http = HttpTransport(
                {"HTTPS_PROXY": where, "HTTP_PROXY": where, "SSL_CERT_FILE": str(cert or "")}
            )
            stack.push_async_callback(http.close)
            await use(http)

    asyncio.run(main())
    return places[0]


async def get(http: HttpTransport, url: str) -> bytes:
    async with http.open("GET", url) as response:
        return await response.read()


@pytest.mark.parametrize("proxy_tls", [False, True], ids=["http proxy", "https proxy"])
def test_https_uses_a_reusable_tunnel(cert: Path, proxy_tls: bool) -> None:
    async def use(http: HttpTransport) -> None:
        for _ in range(2):
            assert await get(http, "https://api.test/v1") == b"hello"

    proxy = Proxy()
    run(proxy, use, cert=cert, proxy_tls=proxy_tls, user="me:p%40ss@")
    login = "proxy-authorization: Basic bWU6cEBzcw=="
    assert proxy.heads == [f"CONNECT api.test:443 HTTP/1.1\r\nhost: api.test:443\r\n{login}\r\n\r\n"]


def test_plain_request_sends_the_whole_url_to_the_proxy() -> None:
    async def use(http: HttpTransport) -> None:
        for path in ("/v1?a=b", "/v2"):
            assert await get(http, f"http://api.test:8080{path}") == b"hello"

    proxy = Proxy()
    run(proxy, use, user="me:secret@")
    assert [head.split("\r\n")[0] for head in proxy.heads] == [
        "GET http://api.test:8080/v1?a=b HTTP/1.1",
        "GET http://api.test:8080/v2 HTTP/1.1",
    ]
    assert "host: api.test:8080\r\n" in proxy.heads[0]
    assert "proxy-authorization: Basic bWU6c2VjcmV0\r\n" in proxy.heads[0]


@pytest.mark.parametrize(
    ("refusal", "message", "retryable"),
    [
        ("407 Who are you", "requires a password", False),
        ("403 No", "did not connect to api.test:443: it answered 403", False),
        ("502 Later", "did not connect to api.test:443: it answered 502", True),
    ],
)
def test_refusing_proxy_is_named(refusal: str, message: str, retryable: bool) -> None:
    caught: list[ProviderError] = []

    async def use(http: HttpTransport) -> None:
        with pytest.raises(ProviderError, match=message) as error:
            await get(http, "https://api.test/v1")
        caught.append(error.value)

    place = run(Proxy(refusal=refusal), use)
    assert str(caught[0]).startswith(f"The proxy {place} ")
    assert caught[0].retryable == retryable


def test_unreachable_proxy_is_named() -> None:
    async def main() -> None:
        async with raw_server(answers) as place:
            pass
        http = HttpTransport({"HTTPS_PROXY": f"http://me:geheim@{place}"})
        with pytest.raises(
            ProviderError, match=f"Cannot connect to the proxy {place}: connection refused"
        ) as error:
            await get(http, "https://api.test/v1")
        assert error.value.retryable
        assert "geheim" not in str(error.value)

    asyncio.run(main())


def test_certificate_behind_a_tunnel_is_checked_for_the_server(cert: Path) -> None:
    async def use(http: HttpTransport) -> None:
        with pytest.raises(
            ProviderError, match=r"The certificate of other\.test:443 is not trusted.*mismatch"
        ):
            await get(http, "https://other.test/v1")

    proxy = Proxy()
    run(proxy, use, cert=cert)
    assert proxy.heads


def test_large_response_passes_a_tunnel_to_a_slow_reader(cert: Path) -> None:
    size = 3_000_000

    async def large(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_head(reader)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % size + bytes(size))

    async def main() -> None:
        proxy = Proxy()
        async with (
            raw_server(large, tls=server_context(cert)) as proxy.target,
            raw_server(proxy.talk) as place,
        ):
            http = HttpTransport({"https_proxy": place, "SSL_CERT_FILE": str(cert)})
            got = 0
            async with http.open("GET", "https://api.test/") as response:
                async for chunk in response.chunks():
                    got += len(chunk)
                    await asyncio.sleep(0.001)
            assert got == size
            await http.close()

    asyncio.run(main())


def chosen(url: str, **environ: str) -> str | None:
    proxy = proxy_for(parse_url(url), environ)
    return None if proxy is None else f"{proxy.scheme}://{proxy.peer}"


def test_variable_follows_the_scheme() -> None:
    every = {"HTTP_PROXY": "http://a:1", "HTTPS_PROXY": "http://b:2", "ALL_PROXY": "http://c:3"}
    assert chosen("http://x.test/", **every) == "http://a:1"
    assert chosen("https://x.test/", **every) == "http://b:2"
    assert chosen("https://x.test/", ALL_PROXY="c:3") == "http://c:3"
    assert chosen("https://x.test/", HTTP_PROXY="http://a:1") is None
    assert chosen("https://x.test/") is None
    assert chosen("https://x.test/", HTTPS_PROXY="") is None


def test_lowercase_variables_win() -> None:
    assert (
        chosen("http://x.test/", HTTP_PROXY="http://upper:1", http_proxy="http://lower:1") == "http://lower:1"
    )
    assert chosen("http://x.test/", HTTP_PROXY=PROXY, no_proxy="x.test", NO_PROXY="other") is None
    assert chosen("https://x.test/", https_proxy="https://secure") == "https://secure:443"


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "a.localhost"])
def test_loopback_never_goes_through_a_proxy(host: str) -> None:
    assert chosen(f"http://{host}:1234/", ALL_PROXY="socks5://nowhere:1") is None


NO_PROXY = [
    ("example.com", "example.com", True),
    ("example.com", "api.example.com", True),
    (".example.com", "api.example.com", True),
    (".example.com", "example.com", True),
    ("*.example.com", "api.example.com", True),
    ("example.com", "notexample.com", False),
    ("Example.COM", "example.com", True),
    ("a.test, b.test c.test", "b.test", True),
    ("a.test, b.test c.test", "c.test", True),
    ("a.test,,", "b.test", False),
    ("*", "anything.test", True),
    ("host.test:8080", "host.test:8080", True),
    ("host.test:8080", "host.test:9090", False),
    ("host.test:80", "host.test", True),
    ("10.1.2.3", "10.1.2.3", True),
    ("10.1.2.3", "10.1.2.30", False),
    ("10.1.2.3:81", "10.1.2.3", False),
    ("10.0.0.0/8", "10.200.3.4", True),
    ("10.0.0.0/8", "11.0.0.1", False),
    ("0.0.0.0/0", "11.0.0.1", True),
    ("10.0.0.0/8", "ten.test", False),
    ("fd00::/8", "[fd12::1]", True),
    ("fd00::/8", "[fe80::1]", False),
    ("fd00:0:0::1", "[fd00::1]", True),
    ("[fd00::1]:80", "[fd00::1]", True),
    ("[fd00::1]:81", "[fd00::1]", False),
    ("10.0.0.0/x", "10.0.0.0", True),
]


@pytest.mark.parametrize(("entries", "host", "exempt"), NO_PROXY)
def test_no_proxy_exempts_hosts(entries: str, host: str, exempt: bool) -> None:
    assert (chosen(f"http://{host}/", http_proxy=PROXY, NO_PROXY=entries) is None) == exempt


def test_socks_proxy_is_refused_with_a_clear_sentence() -> None:
    with pytest.raises(ProviderError, match=r"socks5h:// proxies are not supported") as caught:
        chosen("https://x.test/", ALL_PROXY="socks5h://me:geheim@proxy:1080")
    assert "geheim" not in str(caught.value)


def test_invalid_proxy_url_is_refused() -> None:
    with pytest.raises(ProviderError, match="Invalid URL"):
        chosen("https://x.test/", HTTPS_PROXY="http://:3128")
