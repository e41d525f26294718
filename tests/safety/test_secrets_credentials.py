"""Credentials that a server sends back, as a chatty gateway does, are absent from all that tau writes."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.base.clock import now_ms
from tau.modes.rpc.client import RpcClient
from tests.e2e.program import FAKE, Program
from tests.e2e.test_rpc_program import drive
from tests.support.fake_answers import Call, Status
from tests.support.fake_server import FakeServer
from tests.support.forked import ForkServer
from tests.support.oauth_server import OAuthServer

PASSWORD = "pLanT3dUserinfo"
BASIC = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
KEY, HEADER, TOKEN = "planted in a file 4711", "planted-header-4711", "planted-authorization-4711"
PRINTED, PRINTED_HEADER = "planted-by-a-command", "planted-by-a-header-command"
RENEWED, ROTATED = "planted-renewed-token", "planted-rotated-token"
ACCESS, REFRESH = "planted-access-token", "planted-refresh-token"
KEPT = {"auth.json", "models.json"}  # the user's own files

# How a credential is configured, as changes to the provider and the stored entry, and what is secret in it.
PLANTS: dict[str, tuple[dict[str, Any], dict[str, Any] | None, tuple[str, ...]]] = {
    "userinfo": ({"baseUrl": f"me:{PASSWORD}@"}, None, (PASSWORD, BASIC)),
    "key": ({"apiKey": KEY}, None, (KEY,)),
    "header": (
        {"headers": {"x-acme-token": HEADER, "Authorization": f"Bearer {TOKEN}"}},
        None,
        (HEADER, TOKEN),
    ),
    "command": ({"apiKey": "!printf planted-by-%s-command a"}, None, (PRINTED,)),
    "header command": (
        {"headers": {"x-acme": "!printf planted-by-%s-command a-header"}},
        None,
        (PRINTED_HEADER,),
    ),
    "login": (
        {},
        {"type": "oauth", "access": ACCESS, "refresh": REFRESH, "expires": now_ms() + 3_600_000},
        (ACCESS, REFRESH),
    ),
}


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture(params=list(PLANTS))
def planted(
    request: pytest.FixtureRequest, server: FakeServer, tmp_path: Path, forks: ForkServer | None
) -> tuple[Program, tuple[str, ...]]:
    """The program with one kind of credential, and its secrets."""
    tau = Program(server, tmp_path, forks)
    changes, stored, secrets = PLANTS[request.param]
    row: dict[str, Any] = {
        **json.loads((tau.home / "models.json").read_text())["providers"]["fake"],
        **changes,
    }
    if "://" not in row["baseUrl"]:
        del row["apiKey"]
        row["baseUrl"] = f"{server.url}/v1".replace("://", f"://{row['baseUrl']}")
    if stored:
        del row["apiKey"]
        row["login"] = {"clientId": "tau", "authorizationUrl": server.url, "tokenUrl": f"{server.url}/token"}
        tau.write("auth.json", {"fake": stored})
        (tau.home / "auth.json").chmod(0o600)
    tau.write("models.json", {"providers": {"fake": row}})
    return tau, secrets


def leaks(tau: Program, secrets: tuple[str, ...], *printed: str) -> list[str]:
    """Where a secret is: in tau's files below the user's folder, or in what was printed."""
    texts = {
        str(path): path.read_bytes()
        for path in tau.home.rglob("*")
        if path.is_file() and path.name not in KEPT and "history" not in path.parts
    }
    texts |= {f"output {number}": text.encode() for number, text in enumerate(printed)}
    return [
        f"{secret} in {name}" for name, data in texts.items() for secret in secrets if secret.encode() in data
    ]


def chatty(secrets: tuple[str, ...]) -> list[Call | str]:
    said = " and ".join(secrets)
    return [Call("bash", {"command": f"echo '{said}'"}), f"The gateway saw {said}."]


def test_answers_that_repeat_a_credential_leave_none_behind(planted: tuple[Program, tuple[str, ...]]) -> None:
    tau, secrets = planted
    tau.script(*chatty(secrets))
    printed = tau.ask("hi", TAU_DEBUG="1")
    assert (printed.returncode, printed.stdout.count("The gateway saw")) == (0, 1), printed.stderr
    sent = tau.server.requests[0].headers
    assert any(secret in str(sent) for secret in secrets)  # it is in use
    tau.script(*chatty(secrets))
    events = tau.run(*FAKE, "--mode", "json", "hi")
    assert json.loads(events.stdout.splitlines()[-1])["type"] == "agent_settled"
    exports = [tau.run("export", format) for format in ("--json", "--html", "--pi", "--markdown")]
    assert all("The gateway saw" in one.stdout for one in exports if one.args[-1] != "--html")
    ran = [printed, events, *exports]
    assert leaks(tau, secrets, *(one.stdout + one.stderr for one in ran)) == []


@pytest.mark.parametrize("status", [400, 401, 500])
def test_errors_that_repeat_a_credential_have_none(
    planted: tuple[Program, tuple[str, ...]], status: int
) -> None:
    tau, secrets = planted
    body = {"error": {"message": f"bad: {secrets}", "type": secrets[0], "received": {"key": secrets[-1]}}}
    tau.script(*[Status(status, body=body)] * 2)
    printed = tau.ask("hi", TAU_DEBUG="1")
    assert printed.returncode != 0
    events = tau.run(*FAKE, "--mode", "json", "hi")
    assert leaks(tau, secrets, *(one.stdout + one.stderr for one in (printed, events))) == []


def test_rpc_has_none(planted: tuple[Program, tuple[str, ...]]) -> None:
    tau, secrets = planted
    tau.script(*chatty(secrets))
    received: list[str] = []

    async def work(client: RpcClient) -> None:
        events = await client.prompt_and_wait("hi")
        received.append(str(events))
        received.append(str(await client.get_messages()))

    drive(tau, work)
    assert "The gateway saw" in received[0]
    assert leaks(tau, secrets, *received) == []


@pytest.mark.parametrize("status", [200, 400, 500])
def test_login_server_that_repeats_tokens_leaks_none(
    server: FakeServer, tmp_path: Path, forks: ForkServer | None, status: int
) -> None:
    """It renews the login, with 200, and the model repeats the new tokens."""
    tau = Program(server, tmp_path, forks)
    secrets = (ACCESS, REFRESH, RENEWED, ROTATED)
    row = json.loads((tau.home / "models.json").read_text())["providers"]["fake"]
    with OAuthServer() as oauth:
        answer = {
            "access_token": RENEWED,
            "refresh_token": ROTATED,
            "token_type": "Bearer",
            "expires_in": 3600,
        }
        refusal = {"error": "invalid_grant", "error_description": f"{REFRESH} is over, {ACCESS} too"}
        oauth.lie += [(status, json.dumps(answer if status == 200 else refusal).encode())] * 2
        login = {"clientId": "tau", "authorizationUrl": oauth.url, "tokenUrl": f"{oauth.url}/token"}
        del row["apiKey"]
        tau.write("models.json", {"providers": {"fake": {**row, "login": login}}})
        stored = {"type": "oauth", "access": ACCESS, "refresh": REFRESH, "expires": 1}
        tau.write("auth.json", {"fake": stored})
        (tau.home / "auth.json").chmod(0o600)
        tau.script(*chatty(secrets))
        ran = tau.ask("hi", TAU_DEBUG="1")
        assert oauth.requests[0]["refresh_token"] == REFRESH
    assert (ran.returncode == 0) == (status == 200), ran.stderr
    assert leaks(tau, secrets, ran.stdout + ran.stderr) == []
