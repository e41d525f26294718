"""A login is renewed early, once for all processes, and is never lost while it can be kept."""

import asyncio
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.ai.auth import LoginTokens
from tau.ai.catalog import Provider
from tau.base.clock import now_ms
from tau.base.errors import ConfigError, ProviderError
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tests.config.login_rig import Gateway, start_children
from tests.support.oauth_server import OAuthServer

MINUTE_MS = 60_000


class FakeGateway(Gateway):
    """With the fake login server."""

    def __init__(self, server: OAuthServer, home: Path) -> None:
        super().__init__(server.url, server.block(), home)
        self.server = server

    def log_in(self, minutes: float, account: str = "", *, add: bool = False) -> LoginTokens:
        issued = self.server.issue()
        tokens = LoginTokens(
            issued["access_token"], issued["refresh_token"], now_ms() + int(minutes * MINUTE_MS), account
        )
        self.auth.set_login("gate", tokens, add=add)
        return tokens


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[FakeGateway]:
    with OAuthServer() as server:
        yield FakeGateway(server, tmp_path / "home")


def test_login_is_used_until_five_minutes_before_its_end(gateway: FakeGateway) -> None:
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


def test_token_that_lives_for_two_minutes_is_not_renewed_at_each_use(gateway: FakeGateway) -> None:
    gateway.log_in(-1)
    gateway.server.lifetime_s = 120
    new = gateway.key()
    assert [gateway.key() for _ in range(3)] == [new] * 3
    assert len(gateway.server.requests) == 1


def test_rejected_token_is_renewed_whatever_its_time_says(gateway: FakeGateway) -> None:
    tokens = gateway.log_in(60)

    async def act(keys: KeyCredentials) -> str | None:
        assert await keys.get("gate") == tokens.access
        return await keys.refresh("gate", tokens.access)

    assert gateway.use(act) in gateway.server.valid
    assert len(gateway.server.requests) == 1


def test_token_that_another_tau_renewed_is_used_without_a_request(gateway: FakeGateway) -> None:
    tokens = gateway.log_in(60)

    async def act(keys: KeyCredentials) -> str | None:
        await keys.get("gate")
        gateway.auth.renew_login("gate", tokens, LoginTokens("access-newer", "refresh-newer", tokens.expires))
        return await keys.refresh("gate", tokens.access)

    assert gateway.use(act) == "access-newer"
    assert gateway.server.requests == []


def test_many_requests_at_expiry_make_one_token_request(gateway: FakeGateway) -> None:
    gateway.log_in(-1)

    async def act(keys: KeyCredentials) -> list[str | None]:
        return await asyncio.gather(*(keys.get("gate") for _ in range(20)))

    assert len(set(gateway.use(act))) == 1
    assert len(gateway.server.requests) == 1


def test_ended_login_says_what_to_do_and_bills_nobody_else(gateway: FakeGateway) -> None:
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


def test_ended_login_is_replaced_by_the_next_credential(gateway: FakeGateway) -> None:
    gateway.log_in(60, "second@example.com")
    ended = gateway.log_in(-1, "first@example.com", add=True)
    gateway.server.refreshable.discard(ended.refresh)
    assert [one["account"] for one in gateway.stored()["gate"]] == ["first@example.com", "second@example.com"]
    assert gateway.key() == gateway.stored()["gate"][1]["access"]


def test_usage_limit_rotates_to_the_next_account(gateway: FakeGateway) -> None:
    second = gateway.log_in(60, "second@example.com")
    first = gateway.log_in(60, "first@example.com", add=True)

    async def act(keys: KeyCredentials) -> tuple[str | None, str | None]:
        used = await keys.get("gate")
        assert used == first.access
        retry = await keys.rotate("gate", first.access, refused=False, wait_s=600)
        return retry.key, await keys.get("gate")

    assert gateway.use(act) == (second.access, second.access)


@pytest.mark.parametrize("answer", [(500, b"{}"), (200, b"<html>"), (302, b"")])
def test_server_that_fails_early_costs_nothing(gateway: FakeGateway, answer: tuple[int, bytes]) -> None:
    tokens = gateway.log_in(3)
    gateway.server.lie = [answer]
    assert gateway.key() == tokens.access
    assert gateway.key() != tokens.access


def test_server_that_fails_after_expiry_is_worth_a_retry(gateway: FakeGateway) -> None:
    gateway.log_in(-1)
    gateway.server.lie = [(503, b"{}")]
    with pytest.raises(ProviderError) as caught:
        gateway.key()
    assert caught.value.retryable
    assert gateway.key() in gateway.server.valid


def test_logout_during_a_refresh_stays_a_logout(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.log_in(-1)
    answer = gateway.server.token

    def token(form: dict[str, str]) -> tuple[int, bytes]:
        gateway.auth.remove("gate")
        return answer(form)

    monkeypatch.setattr(gateway.server, "token", token)
    gateway.key()
    assert gateway.stored() == {}


def test_full_disk_keeps_the_login_in_memory_and_saves_it_later(
    gateway: FakeGateway, monkeypatch: pytest.MonkeyPatch
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


def test_escape_during_a_refresh_does_not_lose_the_rotated_token(gateway: FakeGateway) -> None:
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


@pytest.mark.timeout(60)
def test_twenty_processes_at_expiry_make_one_token_request(gateway: FakeGateway) -> None:
    gateway.log_in(-1)
    children = start_children(gateway, 20)
    printed = [child.communicate(timeout=50) for child in children]
    assert {out.strip() for out, _ in printed} == {gateway.stored()["gate"]["access"]}, printed[0][1]
    assert len(gateway.server.requests) == 1
    assert not gateway.server.ended


@pytest.mark.timeout(60)
def test_kill_before_the_write_costs_one_new_login(gateway: FakeGateway) -> None:
    gateway.log_in(-1)
    (child,) = start_children(gateway, 1, "kill")
    child.communicate(timeout=50)
    assert child.returncode == -signal.SIGKILL
    with pytest.raises(ProviderError, match="Run tau login gate"):
        gateway.key()
    gateway.log_in(60)
    assert gateway.key() in gateway.server.valid
