"""Logins over RPC: the program opens the page, and tau stores what the login server returns."""

import asyncio
import json
import subprocess
import urllib.request
from typing import Any

import pytest

from tau.modes.rpc.client import RpcClient
from tau.modes.rpc.connection import RpcError
from tau.modes.session_commands.logins import LoginProvider
from tests.e2e.program import FAKE, TAU, Program
from tests.e2e.test_rpc_program import drive
from tests.support.limits import HANG_S
from tests.support.oauth_server import CLIENT, OAuthServer


def add_gateway(tau: Program, **login: Any) -> None:
    models = json.loads((tau.home / "models.json").read_text())
    row = {"baseUrl": "http://127.0.0.1:1/v1", "api": "openai-completions", "models": [{"id": "m"}]}
    models["providers"]["gate"] = {**row, "login": login}
    tau.write("models.json", models)


def gate(*, known: bool) -> LoginProvider:
    return LoginProvider("gate", "gate", True, known, ["browser", "device", "key"])


def test_program_logs_in_with_a_code_on_another_device(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        pages: list[dict[str, Any]] = []
        client.on_event(lambda event: pages.append(event) if event.get("method") == "open_url" else None)
        await client.login("gate", "device", client_id=CLIENT)
        assert "The code is ABCD-EFGH." in pages[0]["instructions"]
        assert pages[0]["url"].endswith("/activate?user_code=ABCD-EFGH")

    with OAuthServer() as oauth:
        add_gateway(tau, discovery=oauth.url)
        drive(tau, work)
        stored = json.loads((tau.home / "auth.json").read_text())["gate"]
        assert stored["access"] in oauth.valid and stored["clientId"] == CLIENT


def test_program_stores_a_key(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        with pytest.raises(RpcError, match="Paste the key first"):
            await client.login("gate", "key")
        await client.login("gate", "key", "  key-of-the-gateway ")

    add_gateway(tau, discovery="http://127.0.0.1:1")
    drive(tau, work)
    assert json.loads((tau.home / "auth.json").read_text())["gate"]["key"] == "key-of-the-gateway"


def test_program_logs_in(tau: Program) -> None:
    async def work(client: RpcClient) -> None:
        def visit(page: str) -> None:
            with urllib.request.urlopen(oauth.visit(page)) as answer:
                answer.read()

        def on_event(event: dict[str, Any]) -> None:
            if event.get("method") == "open_url":
                pages.append(event["url"])
                opened.set()

        pages: list[str] = []
        opened = asyncio.Event()
        client.on_event(on_event)
        assert gate(known=False) in (await client.get_login_providers()).providers
        async with asyncio.TaskGroup() as tasks:
            login = tasks.create_task(client.login("gate"))
            await opened.wait()
            assert (await client.get_state()).is_streaming is False  # other commands do not wait
            await asyncio.to_thread(visit, pages[0])
        assert login.result().provider_id == "gate"
        assert gate(known=True) in (await client.get_login_providers()).providers

    with OAuthServer() as oauth:
        add_gateway(tau, **oauth.block())
        drive(tau, work)
        assert json.loads((tau.home / "auth.json").read_text())["gate"]["access"] in oauth.valid


@pytest.mark.parametrize(
    ("provider", "problem"),
    [
        ("fake", "has no login for other programs"),
        ("claude", "only in its own products"),
        ("nowhere", 'Unknown provider "nowhere"'),
        ("gate", "pass your own with --client-id"),
    ],
)
def test_login_that_is_not_possible_says_why(tau: Program, provider: str, problem: str) -> None:
    async def work(client: RpcClient) -> None:
        with pytest.raises(RpcError, match=problem):
            await client.login(provider)

    add_gateway(tau, discovery="http://127.0.0.1:1")
    drive(tau, work)


def test_tau_ends_while_a_login_waits_for_the_browser(tau: Program) -> None:
    line = json.dumps({"id": 1, "type": "login", "providerId": "gate"}).encode()
    pipe = subprocess.PIPE
    with OAuthServer() as oauth:
        add_gateway(tau, **oauth.block())
        with subprocess.Popen(
            [*TAU, "--mode", "rpc", *FAKE], cwd=tau.project, stdin=pipe, stdout=pipe
        ) as ran:
            assert ran.stdin is not None and ran.stdout is not None
            ran.stdin.write(line + b"\n")
            ran.stdin.flush()
            while b"open_url" not in (read := ran.stdout.readline()):
                assert read
            ran.stdin.close()
            rest = ran.stdout.read()
            assert ran.wait(HANG_S) == 0
    assert json.loads(rest.splitlines()[0])["code"] == "aborted"
