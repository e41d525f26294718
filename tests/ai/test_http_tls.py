"""TLS: whom the transport trusts, and what it says when it does not."""

import asyncio
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.ai.http import HttpTransport
from tau.ai.http_connect import tls_context
from tau.base.errors import ProviderError
from tests.support.fake_answers import Silence
from tests.support.fake_server import FakeServer, certificate

BODY = b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}], "stream": true}'


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with FakeServer(tls=True) as server:
        yield server


def ask(url: str, times: int = 1, **environ: str) -> bytes:
    answer = b""

    async def main() -> None:
        nonlocal answer
        http = HttpTransport(environ)
        try:
            for _ in range(times):
                async with http.open("POST", f"{url}/v1/messages", body=BODY) as response:
                    answer = await response.read()
        finally:
            await http.close()

    asyncio.run(main())
    return answer


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "TAU_CA_FILE", "NODE_EXTRA_CA_CERTS"])
def test_a_certificate_authority_can_be_named_in_the_environment(server: FakeServer, variable: str) -> None:
    assert b"message_stop" in ask(server.url, **{variable: str(server.ca_file)})


def test_a_folder_of_certificates_can_be_named(server: FakeServer, tmp_path: Path) -> None:
    assert server.ca_file is not None
    shutil.copy(server.ca_file, tmp_path / "one.pem")
    # OpenSSL looks such files up by a hash of the subject, /CN=localhost here.
    (tmp_path / "b1159c4c.0").symlink_to("one.pem")
    with pytest.raises(ProviderError, match="cannot be trusted"):
        ask(server.url, SSL_CERT_DIR=str(tmp_path / ".."))
    (tmp_path / "b1159c4c.0").unlink()
    links_made(tmp_path)
    assert b"message_stop" in ask(server.url, SSL_CERT_DIR=str(tmp_path))


def links_made(folder: Path) -> None:
    raise NotImplementedError
