"""With secrets.obfuscate, the model works with placeholders and calls get the real values."""

import asyncio
import json
import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai import dialect as d
from tau.base.secrets import KnownSecrets
from tau.coding.secret_placeholders import SecretPlaceholders, _Restorer
from tau.sdk import SessionOptions, create_session
from tests.support.fake_answers import Answer, Call, Text
from tests.support.fake_server import FakeServer

KEY = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
QUOTED = 'a "quoted\\ value" with 1'


def run(server: FakeServer, cwd: Path, prompt: str, *, obfuscate: bool = True) -> str:
    options = SessionOptions(
        cwd=cwd,
        model="custom",
        base_url=f"{server.url}/v1",
        save=False,
        settings={"secrets.obfuscate": obfuscate},
    )

    async def main() -> str:
        async with create_session(options, os.environ) as session:
            outcome = await session.prompt(prompt)
            return "" if outcome.message is None else outcome.message.text

    return asyncio.run(main())


def placeholder_in(text: str) -> str:
    found = re.search(r"#SECRET-[0-9A-F]{8}#", text)
    assert found is not None
    return found[0]


@pytest.mark.parametrize("deltas", [1, 7, 40])
def test_the_model_never_sees_a_secret_and_its_calls_have_it(tmp_path: Path, deltas: int) -> None:
    (tmp_path / ".env").write_text(f"TOKEN={KEY}\n")
    with FakeServer() as server:
        server.script("first")
        run(server, tmp_path, f"use {KEY}")
        assert KEY not in server.requests[-1].raw.decode()
        assert "represent values you cannot see" in server.requests[-1].raw.decode()

        def answer() -> None:
            sent = server.requests[-1].raw.decode()
            placeholder = placeholder_in(sent)
            server.script(
                Call("write", {"path": "out.txt", "content": f"key: {placeholder}\n"}, deltas=deltas),
                Answer((Text(f"Wrote {placeholder}.", deltas=deltas),)),
            )

        # The placeholder of a session is random, so the script is written after the first request.
        server.script(Call("read", {"path": ".env"}), "seen")
        options = SessionOptions(
            cwd=tmp_path,
            model="custom",
            base_url=f"{server.url}/v1",
            save=False,
            settings={"secrets.obfuscate": True},
        )

        async def main() -> str:
            async with create_session(options, os.environ) as session:
                await session.prompt("read it")
                answer()
                outcome = await session.prompt("write it")
                assert outcome.message is not None
                return outcome.message.text

        text = asyncio.run(main())
        sent = "".join(request.raw.decode() for request in server.requests)
    assert KEY not in sent
    assert (tmp_path / "out.txt").read_text() == f"key: {KEY}\n"
    assert text == f"Wrote {KEY}."


def test_off_by_default(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.script("ok")
        run(server, tmp_path, f"use {KEY}", obfuscate=False)
        assert KEY in server.requests[-1].raw.decode()


def test_a_request_without_secrets_is_unchanged(tmp_path: Path) -> None:
    with FakeServer() as server:
        server.script("ok", "ok")
        run(server, tmp_path, "hello", obfuscate=False)
        run(server, tmp_path, "hello")
        plain, hidden = (request.body for request in server.requests)
        assert plain["messages"] == hidden["messages"]


@given(st.lists(st.integers(1, 9), max_size=30), st.text(alphabet="#SECRT-AB1 x", max_size=20))
def test_placeholders_are_restored_however_they_arrive(cuts: list[int], noise: str) -> None:
    placeholders = SecretPlaceholders(KnownSecrets((QUOTED,)))
    hidden = placeholders.mask(f"{noise} {QUOTED} {noise}")
    for make, end in ((d.TextPiece, d.BlockEnd()), (lambda text: d.CallPiece(0, text), d.CallEnd(0))):
        restorer = _Restorer(placeholders)
        rest = hidden if make is d.TextPiece else json.dumps(hidden)
        got = ""
        for size in [*cuts, len(rest)]:
            for delta in restorer.feed(make(rest[:size])):
                got += getattr(delta, "text", "") or getattr(delta, "json", "")
            rest = rest[size:]
        for delta in restorer.feed(end):
            got += getattr(delta, "text", "") or getattr(delta, "json", "")
        assert (got if make is d.TextPiece else json.loads(got)) == f"{noise} {QUOTED} {noise}"
