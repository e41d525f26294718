"""providers.fetch: what other programs and services are given, and what is made of their answers."""

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import pytest

from tau.backends.web import converters
from tau.backends.web.addresses import WebError, WebUrl, parse_web_url
from tau.backends.web.client import GuardedRequest, WebClient, WebResponse
from tau.base.run import LocalRunner

URL = parse_web_url("https://a.example/page?x=1")
_GET = GuardedRequest()


class Recorded(WebClient):
    """Answers each request the same way, and records it."""

    def __init__(self, status: int, body: bytes) -> None:
        super().__init__(environ={})
        self.asked: list[tuple[str, GuardedRequest]] = []
        self._answer = (status, body)

    async def fetch(self, url: WebUrl, request: GuardedRequest = _GET, *, seconds: float = 1) -> WebResponse:
        self.asked.append((str(url), request))
        status, body = self._answer
        return WebResponse(url=url, status=status, headers={}, body=body)


def remote(name: str, client: Recorded, keys: Mapping[str, str]) -> str:
    async def key(of: str) -> str | None:
        return keys.get(of)

    return asyncio.run(converters.read_remotely(name, URL, client, key))


def local(name: str) -> str:
    async def main() -> str:
        runner = LocalRunner()
        try:
            return await converters.read_locally(name, "<p>caf\u00e9</p>", runner)
        finally:
            runner.close()

    return asyncio.run(main())


@pytest.mark.parametrize("keys", [{}, {"jina": "j-key"}])
def test_jina_gets_the_address_and_a_key_if_there_is_one(keys: dict[str, str]) -> None:
    client = Recorded(200, b"# Page")
    assert remote("jina", client, keys) == "# Page"
    ((address, request),) = client.asked
    assert address == "https://r.jina.ai/https://a.example/page?x=1"
    assert request.headers.get("authorization") == ("Bearer j-key" if keys else None)


def test_parallel_gets_the_address_with_its_key() -> None:
    client = Recorded(200, b'{"results": [{"full_content": "# Page"}]}')
    assert remote("parallel", client, {"parallel": "p-key"}) == "# Page"
    ((address, request),) = client.asked
    assert address == "https://api.parallel.ai/v1beta/extract" and request.method == "POST"
    assert request.headers["x-api-key"] == "p-key"
    assert b'"urls":["https://a.example/page?x=1"]' in (request.body or b"")


@pytest.mark.parametrize(
    ("name", "status", "body", "keys", "why"),
    [
        ("jina", 429, b"", {}, "it answered 429."),
        ("parallel", 200, b"{}", {"parallel": "x"}, "it answered 200 without a text."),
        ("parallel", 200, b"", {}, "it has no API key; set PARALLEL_API_KEY."),
    ],
)
def test_a_service_that_fails_is_an_error(
    name: str, status: int, body: bytes, keys: dict[str, str], why: str
) -> None:
    with pytest.raises(WebError, match=why):
        remote(name, Recorded(status, body), keys)


@pytest.mark.parametrize("name", ["trafilatura", "lynx"])
def test_an_installed_program_reads_the_page_from_its_input(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / name
    program.write_text('#!/bin/sh\necho "$@"\necho a warning >&2\ncat\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")
    arguments = " ".join(converters.PROGRAMS[name][1:])
    assert local(name) == f"{arguments}\n<p>caf\u00e9</p>"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("echo a; echo no such module >&2; exit 3", r"exited with code 3: no such module\."),
        ("exit 3", r"exited with code 3\."),
        ("true", "found no text"),
        ("", "not installed"),
    ],
)
def test_a_program_that_fails_is_an_error(
    script: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if script:
        (tmp_path / "lynx").write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / "lynx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    with pytest.raises(WebError, match=why):
        local("lynx")


def test_a_program_of_the_workspace_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lynx").write_text("#!/bin/sh\ntouch ran\n")
    (tmp_path / "lynx").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/bin")
    with pytest.raises(WebError, match="not installed"):
        local("lynx")
