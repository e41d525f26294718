"""A login is renewed early, once for all processes, and is never lost while it can be kept."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tau.ai.auth import LoginTokens
from tau.ai.catalog import Catalog, Provider
from tau.ai.http import HttpTransport
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, ProviderError
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models
from tests.support.oauth_server import OAuthServer

T = TypeVar("T")
MINUTE_MS = 60_000


class Gateway:
    """A company's gateway with single sign-on, and a user who is logged in to it."""

    def __init__(self, server: OAuthServer, home: Path) -> None:
        self.server = server
        self.home = home
        home.mkdir()
        provider = {
            "baseUrl": f"{server.url}/v1",
            "api": "openai-completions",
            "login": server.block(),
            "models": [{"id": "m"}],
        }
        (home / "models.json").write_text(json.dumps({"providers": {"gate": provider}}))
        self.auth = AuthFile(home / "auth.json")
        self.warnings: list[str] = []

    def log_in(self, minutes: float, account: str = "", *, add: bool = False) -> LoginTokens:
        issued = self.server.issue()
        tokens = LoginTokens(
            issued["access_token"], issued["refresh_token"], now_ms() + int(minutes * MINUTE_MS), account
        )
        self.auth.set_login("gate", tokens, add=add)
        return tokens

    def stored(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(self.auth.path.read_text())
        return content

    def use(self, act: Callable[[KeyCredentials], Coroutine[Any, Any, T]]) -> T:
        async def main() -> T:
            http = HttpTransport({})
            catalog = merge_models(Catalog({}, []), load_models_file(self.home / "models.json"))
            keys = KeyCredentials(
                catalog, self.auth, LocalRunner(shell="/bin/sh"), {}, http=http, warn=self.warnings.append
            )
            try:
                return await act(keys)
            finally:
                await http.close()

        return asyncio.run(main())

    def key(self) -> str | None:
        return self.use(lambda keys: keys.get("gate"))


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Gateway]:
    with OAuthServer() as server:
        yield Gateway(server, tmp_path / "home")


def test_login_is_used_until_five_minutes_before_its_end(gateway: Gateway) -> None:
    tokens = gateway.log_in(6)
    assert gateway.key() == tokens.access
    assert gateway.server.requests == []
    gateway.log_in(4)
    new = gateway.key()
    assert new in gateway.server.valid
    assert gateway.key() == new
    assert len(gateway.server.requests) == 1
    assert gateway.stored()["gate"]["access"] == new
    assert gateway.auth.path.stat().st_mode & 0o777 == 0o600


def test_rejected_token_is_renewed_whatever_its_time_says(gateway: Gateway) -> None:
    tokens = gateway.log_in(60)

    async def act(keys: KeyCredentials) -> str | None:
        assert await keys.get("gate") == tokens.access
        return await keys.refresh("gate", tokens.access)

    assert gateway.use(act) in gateway.server.valid
    assert len(gateway.server.requests) == 1


def test_token_that_another_tau_renewed_is_used_without_a_request(gateway: Gateway) -> None:
    tokens = gateway.log_in(60)

    async def act(keys: KeyCredentials) -> str | None:
        await keys.get("gate")
        gateway.auth.renew_login("gate", tokens, LoginTokens("access-newer", "refresh-newer", tokens.expires))
        return await keys.refresh("gate", tokens.access)

    assert gateway.use(act) == "access-newer"
    assert gateway.server.requests == []


def test_many_requests_at_expiry_make_one_token_request(gateway: Gateway) -> None:
    gateway.log_in(-1)

    async def act(keys: KeyCredentials) -> list[str | None]:
        return await asyncio.gather(*(keys.get("gate") for _ in range(20)))

    assert len(set(gateway.use(act))) == 1
    assert len(gateway.server.requests) == 1


def test_ended_login_says_what_to_do_and_bills_nobody_else(gateway: Gateway) -> None:
    gateway.log_in(-1)
    gateway.server.refreshable.clear()

    async def act(keys: KeyCredentials) -> None:
        row = keys.catalog.providers["gate"]
        assert isinstance(row, Provider)
        await keys.get("gate")

    with pytest.raises(ProviderError, match=r"has ended.*Run tau login gate") as caught:
        gateway.use(act)
    assert (caught.value.kind, caught.value.retryable) == ("auth", False)
    assert "refresh-" not in str(caught.value)


def test_ended_login_is_replaced_by_the_next_credential(gateway: Gateway) -> None:
    gateway.log_in(60, "second@example.com")
    ended = gateway.log_in(-1, "first@example.com", add=True)
    gateway.server.refreshable.discard(ended.refresh)
    assert [one["account"] for one in gateway.stored()["gate"]] == ["first@example.com", "second@example.com"]
    assert gateway.key() == gateway.stored()["gate"][1]["access"]


def test_usage_limit_rotates_to_the_next_account(gateway: Gateway) -> None:
    second = gateway.log_in(60, "second@example.com")
    first = gateway.log_in(60, "first@example.com", add=True)

    async def act(keys: KeyCredentials) -> tuple[str | None, str | None]:
        used = await keys.get("gate")
        assert used == first.access
        retry = await keys.rotate("gate", first.access, refused=False, wait_s=600)
        return retry.key, await keys.get("gate")

    assert gateway.use(act) == (second.access, second.access)


@pytest.mark.parametrize("answer", [(500, b"{}"), (200, b"<html>"), (302, b"")])
def test_server_that_fails_early_costs_nothing(gateway: Gateway, answer: tuple[int, bytes]) -> None:
    tokens = gateway.log_in(3)
    gateway.server.lie = [answer]
    assert gateway.key() == tokens.access
    assert gateway.key() != tokens.access


def test_server_that_fails_after_expiry_is_worth_a_retry(gateway: Gateway) -> None:
    gateway.log_in(-1)
    gateway.server.lie = [(503, b"{}")]
    with pytest.raises(ProviderError) as caught:
        gateway.key()
    assert caught.value.retryable
    assert gateway.key() in gateway.server.valid


def test_logout_during_a_refresh_stays_a_logout(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway.log_in(-1)
    answer = gateway.server.token

    def token(form: dict[str, str]) -> tuple[int, bytes]:
        gateway.auth.remove("gate")
        return answer(form)

    monkeypatch.setattr(gateway.server, "token", token)
    gateway.key()
    assert gateway.stored() == {}


def test_full_disk_keeps_the_login_in_memory_and_saves_it_later(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.log_in(-1)
    before = gateway.stored()
    renew_login = AuthFile.renew_login

    def full(*args: object) -> bool:
        raise ConfigError("Cannot save the file; it is unchanged: No space left on device.")

    monkeypatch.setattr(AuthFile, "renew_login", full)

    async def act(keys: KeyCredentials) -> None:
        new = await keys.get("gate")
        assert new in gateway.server.valid
        assert gateway.stored() == before
        assert await keys.get("gate") == new
        monkeypatch.setattr(AuthFile, "renew_login", renew_login)
        assert await keys.get("gate") == new
        assert gateway.stored()["gate"]["access"] == new

    gateway.use(act)
    assert len(gateway.server.requests) == 1
    assert "No space left" in gateway.warnings[0]


def test_escape_during_a_refresh_does_not_lose_the_rotated_token(gateway: Gateway) -> None:
    gateway.log_in(-1)
    answer = gateway.server.token
    arrived = asyncio.Event()

    async def act(keys: KeyCredentials) -> None:
        loop = asyncio.get_running_loop()

        def token(form: dict[str, str]) -> tuple[int, bytes]:
            loop.call_soon_threadsafe(arrived.set)
            time.sleep(0.1)
            return answer(form)

        gateway.server.token = token  # type: ignore[method-assign]
        asking = asyncio.ensure_future(keys.get("gate"))
        await arrived.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking

    gateway.use(act)
    assert gateway.stored()["gate"]["refresh"] in gateway.server.refreshable


CHILD = """
import asyncio, os, sys, time
from pathlib import Path
from tau.ai.catalog import Catalog
from tau.ai.http import HttpTransport
from tau.base.run import LocalRunner
from tau.config import login_renewal
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tau.config.models_file import load_models_file, merge_models

home, start, mode = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
if mode == "kill":
    AuthFile.renew_login = lambda *args: os.kill(os.getpid(), 9)
async def main():
    http = HttpTransport({})
    catalog = merge_models(Catalog({}, []), load_models_file(home / "models.json"))
    keys = KeyCredentials(catalog, AuthFile(home / "auth.json"), LocalRunner(shell="/bin/sh"), {}, http=http)
    print("ready", flush=True)
    while not start.exists():
        await asyncio.sleep(0.005)
    print(await keys.get("gate"), flush=True)
    await http.close()
asyncio.run(main())
"""


def start_children(gateway: Gateway, count: int, mode: str = "") -> list[subprocess.Popen[str]]:
    start = gateway.home / "start"
    command = [sys.executable, "-c", CHILD, str(gateway.home), str(start), mode]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    children = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
        for _ in range(count)
    ]
    for child in children:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
    start.touch()
    return children


@pytest.mark.timeout(60)
def test_twenty_processes_at_expiry_make_one_token_request(gateway: Gateway) -> None:
    gateway.log_in(-1)
    children = start_children(gateway, 20)
    printed = [child.communicate(timeout=50) for child in children]
    assert {out.strip() for out, _ in printed} == {gateway.stored()["gate"]["access"]}, printed[0][1]
    assert len(gateway.server.requests) == 1
    assert not gateway.server.ended


@pytest.mark.timeout(60)
def test_kill_before_the_write_costs_one_new_login(gateway: Gateway) -> None:
    gateway.log_in(-1)
    (child,) = start_children(gateway, 1, "kill")
    child.communicate(timeout=50)
    assert child.returncode == -signal.SIGKILL
    with pytest.raises(ProviderError, match="Run tau login gate"):
        gateway.key()
    gateway.log_in(60)
    assert gateway.key() in gateway.server.valid
