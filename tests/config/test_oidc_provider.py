"""Logins against `oidc-provider`, a certified OpenID Connect server, with rotation of refresh tokens on."""

import asyncio
import http.cookiejar
import json
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.errors import ProviderError
from tau.config.logins import Logins
from tau.config.paths import Paths
from tests.config.login_rig import Gateway, start_children
from tests.support.limits import HANG_S
from tests.support.npm_packages import OIDC

SCRIPT = Path(__file__).parent / "oidc_server.mjs"
LIFETIME_S = 600


class OidcGateway(Gateway):
    def log_in(self) -> None:
        """With a browser that follows redirects."""
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        browser = urllib.request.build_opener(cookies)

        async def main() -> None:
            logins = Logins(Paths(self.home), {})
            row = logins.find("gate")
            async with logins.browser(row) as flow:
                page = await asyncio.to_thread(browser.open, flow.url, None, HANG_S)
                assert page.status == 200
                page.close()
                await logins.store_login(row, await flow.finish())

        asyncio.run(main())

    def counts(self) -> tuple[int, int]:
        """Token requests, and logins that the server has ended because a token came twice."""
        with urllib.request.urlopen(f"{self.url}/counts", timeout=HANG_S) as answer:
            counts = json.loads(answer.read())
        return counts["tokenRequests"], counts["revoked"]


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[OidcGateway]:
    command = ["node", str(SCRIPT), str(OIDC.require().parent), str(LIFETIME_S)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        try:
            login: dict[str, object] = {
                "discovery": url,
                "clientId": "tau",
                "scopes": ["openid", "offline_access"],
                "params": {"prompt": "consent"},
            }
            yield OidcGateway(url, login, tmp_path / "home")
        finally:
            server.kill()


@pytest.mark.timeout(90)
def test_twenty_processes_at_expiry_make_one_token_request_and_stay_logged_in(gateway: OidcGateway) -> None:
    gateway.log_in()
    login = gateway.stored()["gate"]
    assert login["account"] == "someone@example.com"
    assert gateway.counts() == (1, 0)
    gateway.expire()
    children = start_children(gateway, 20)
    printed = [child.communicate(timeout=80) for child in children]
    renewed = gateway.stored()["gate"]
    assert renewed["refresh"] != login["refresh"]
    assert gateway.counts() == (2, 0), printed[0]
    assert {out.strip() for out, _ in printed} == {renewed["access"]}
    gateway.expire()
    assert gateway.key() not in (None, renewed["access"])  # the rotated refresh token works
    assert gateway.counts() == (3, 0)


@pytest.mark.timeout(90)
def test_kill_before_the_write_costs_one_new_login(gateway: OidcGateway) -> None:
    gateway.log_in()
    gateway.expire()
    (child,) = start_children(gateway, 1, "kill")
    child.communicate(timeout=80)
    assert child.returncode == -signal.SIGKILL
    with pytest.raises(ProviderError, match="Run tau login gate"):
        gateway.key()
    assert gateway.counts() == (3, 1)
    gateway.log_in()
    assert gateway.key() is not None
