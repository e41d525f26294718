"""TLS: whom the transport trusts, and how it reports distrust."""

import asyncio
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.ai import http
from tau.ai.http import HttpTransport
from tau.ai.http_connect import tls_context
from tau.base.errors import ProviderError
from tests.support.fake_answers import Silence
from tests.support.fake_server import FakeServer
from tests.support.raw_server import raw_server

BODY = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": true}'


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed, which makes the certificates")
    with FakeServer(tls=True) as server:
        yield server


def ask(url: str, environ: dict[str, str], *, times: int = 1) -> bytes:
    answer = b""

    async def main() -> None:
        nonlocal answer
        transport = HttpTransport(environ)
        try:
            for _ in range(times):
                async with transport.open("POST", f"{url}/v1/messages", body=BODY) as response:
                    answer = await response.read()
        finally:
            await transport.close()

    asyncio.run(main())
    return answer


@pytest.mark.parametrize(
    "variable",
    ["SSL_CERT_FILE", "TAU_CA_FILE", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"],
)
def test_certificate_authority_from_the_environment(server: FakeServer, variable: str) -> None:
    assert b"message_stop" in ask(server.url, {variable: str(server.ca_file)})


def test_certificate_folder(server: FakeServer, tmp_path: Path) -> None:
    assert server.ca_file is not None
    question = ["openssl", "x509", "-noout", "-subject_hash", "-in", str(server.ca_file)]
    name = subprocess.run(question, check=True, capture_output=True, text=True).stdout.strip()
    (tmp_path / f"{name}.0").symlink_to(server.ca_file)
    assert b"message_stop" in ask(server.url, {"SSL_CERT_DIR": str(tmp_path)})


def test_tls_connection_is_reused(server: FakeServer) -> None:
    server.requests.clear()
    ask(server.url, {"TAU_CA_FILE": str(server.ca_file)}, times=3)
    assert len({request.connection for request in server.requests}) == 1


def test_untrusted_certificate_is_refused_with_a_fix(server: FakeServer) -> None:
    with pytest.raises(ProviderError) as caught:
        ask(server.url, {})
    place = server.url.removeprefix("https://")
    assert str(caught.value).startswith(
        f"The certificate of {place} is not trusted: self-signed certificate."
    )
    assert "TAU_CA_FILE" in str(caught.value)
    assert not caught.value.retryable


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "TAU_CA_FILE"])
@pytest.mark.parametrize("content", [None, "no certificate"], ids=["missing", "broken"])
def test_unusable_file_is_named_with_its_variable(tmp_path: Path, variable: str, content: str | None) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ProviderError, match=f"{variable} refers to {file}, which has no usable certificates"):
        tls_context({variable: str(file)})


def test_missing_file_of_another_program_does_no_harm(server: FakeServer, tmp_path: Path) -> None:
    gone = dict.fromkeys(("NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE"), str(tmp_path / "gone.pem"))
    others = {**gone, "TAU_CA_FILE": str(server.ca_file)}
    assert b"message_stop" in ask(server.url, others)


def test_plain_http_peer_is_recognized() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")

    async def main() -> None:
        async with raw_server(plain) as where:
            with pytest.raises(
                ProviderError, match=f"TLS with {where} failed.*Does it speak https"
            ) as caught:
                async with HttpTransport({}).open("GET", f"https://{where}/"):
                    pass
        assert not caught.value.retryable

    asyncio.run(main())


def test_leaving_mid_response_closes_a_tls_connection(server: FakeServer) -> None:
    server.requests.clear()
    server.script(Silence(after_events=2))

    async def main() -> None:
        transport = HttpTransport({"TAU_CA_FILE": str(server.ca_file)})
        with pytest.raises(ZeroDivisionError):
            async with transport.open("POST", f"{server.url}/v1/messages", body=BODY) as response:
                async for _ in response.chunks():
                    raise ZeroDivisionError

    try:
        asyncio.run(main())
        server.wait(lambda: server.requests[0].outcome == "left")
    finally:
        server.script()
    assert server.requests[0].answer == "Silence"


def test_certificates_are_loaded_once_and_only_for_https(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[object] = []

    def counted(environ: dict[str, str]) -> object:
        loaded.append(environ)
        return tls_context(environ)

    monkeypatch.setattr(http, "tls_context", counted)
    with FakeServer() as plain:
        ask(plain.url, {})
        assert not loaded
    ask(server.url, {"TAU_CA_FILE": str(server.ca_file)}, times=2)
    assert len(loaded) == 1


def test_environment_defaults_to_that_of_the_process(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "TAU_CA_FILE", str(server.ca_file))

    async def main() -> None:
        transport = HttpTransport()
        async with transport.open("GET", f"{server.url}/v1/models") as response:
            assert response.status == 200
        await transport.close()

    asyncio.run(main())
