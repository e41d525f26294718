"""`tau login`, `tau logout` and `tau auth list`, with a login server on this machine."""

import json
import os
import re
import signal
import stat
import subprocess
import urllib.request
from collections.abc import Iterator
from typing import Any

import pexpect
import pytest

from tests.e2e.program import TAU, Program
from tests.support.fake_answers import Status
from tests.support.limits import HANG_S
from tests.support.oauth_server import OAuthServer

KEY = "sk-planted-0123456789abcdef"


@pytest.fixture
def logins() -> Iterator[OAuthServer]:
    with OAuthServer() as server:
        yield server


@pytest.fixture
def gate(tau: Program, logins: OAuthServer) -> Program:
    """A company's gateway with single sign-on, and a provider that checks keys."""
    models = [{"id": "m"}]
    row = {"baseUrl": f"{tau.server.url}/v1", "api": "openai-completions", "models": models}
    openai = {"baseUrl": f"{logins.url}/v1"}
    tau.write("models.json", {"providers": {"gate": {**row, "login": logins.block()}, "openai": openai}})
    return tau


def stored(tau: Program) -> dict[str, Any]:
    path = tau.home / "auth.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content: dict[str, Any] = json.loads(path.read_text())
    return content


def start(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*TAU, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def page(running: subprocess.Popen[str]) -> str:
    """The address that tau asks to open."""
    assert running.stderr is not None
    for line in running.stderr:
        if line.startswith("http"):
            return line.strip()
    raise AssertionError("no address")


def visit(address: str) -> None:
    with urllib.request.urlopen(address, timeout=HANG_S) as answer:
        assert answer.status == 200


def test_browser_login_is_stored_and_used(gate: Program, logins: OAuthServer) -> None:
    running = start("login", "gate")
    visit(logins.visit(page(running)))
    _, errors = running.communicate(timeout=HANG_S)
    assert running.returncode == 0, errors
    assert "Logged in to gate" in errors
    login = stored(gate)["gate"]
    assert login["type"] == "oauth"
    assert login["access"] in logins.valid
    gate.script("hello")
    assert gate.run("--model", "gate/m", "-p", "hi").stdout == "hello\n"
    assert gate.server.requests[-1].key == login["access"]
    listed = gate.run("auth", "list")
    assert re.search(r"gate +login +login +renewed in 59 min", listed.stdout), listed.stdout
    assert login["access"] not in listed.stdout + errors
    assert login["refresh"] not in listed.stdout + errors
    assert gate.run("logout", "gate").returncode == 0
    assert stored(gate) == {}


def test_address_pasted_over_ssh_finishes_the_login(gate: Program, logins: OAuthServer) -> None:
    running = start("login", "gate")
    back = logins.visit(page(running))
    assert running.stdin is not None
    running.stdin.write(f"nonsense=1\n{back}\n")
    running.stdin.flush()
    _, errors = running.communicate(timeout=HANG_S)
    assert running.returncode == 0, errors
    assert "not of the current login" in errors
    assert stored(gate)["gate"]["access"] in logins.valid


def test_two_windows_log_in_at_once(gate: Program, logins: OAuthServer) -> None:
    both = [start("login", "gate"), start("login", "gate")]
    pages = [page(running) for running in both]
    for address in reversed(pages):
        visit(logins.visit(address))
    for running in both:
        running.communicate(timeout=HANG_S)
        assert running.returncode == 0
    assert stored(gate)["gate"]["refresh"] in logins.refreshable


def test_interrupt_while_the_browser_is_open_stores_nothing(gate: Program) -> None:
    running = start("login", "gate")
    page(running)
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=HANG_S)
    assert running.returncode == 130
    assert "Traceback" not in errors
    assert not (gate.home / "auth.json").exists()


def test_device_login_shows_a_code(gate: Program, logins: OAuthServer) -> None:
    logins.device_answers = ["authorization_pending"]
    ran = gate.run("login", "gate", "--device")
    assert ran.returncode == 0, ran.stderr
    assert "enter the code ABCD-EFGH" in ran.stderr
    assert stored(gate)["gate"]["access"] in logins.valid


def test_denied_device_login_is_one_sentence(gate: Program, logins: OAuthServer) -> None:
    logins.device_answers = ["access_denied"]
    ran = gate.run("login", "gate", "--device")
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (1, "tau: The login was denied.")


@pytest.mark.parametrize("expiring", [True, False], ids=["early", "after a 401"])
def test_login_is_renewed_in_the_middle_of_work(gate: Program, logins: OAuthServer, expiring: bool) -> None:
    issued = logins.issue()
    entry = {"type": "oauth", "access": issued["access_token"], "refresh": issued["refresh_token"]}
    gate.write("auth.json", {"gate": {**entry, "expires": 1 if expiring else 4_000_000_000_000}})
    (gate.home / "auth.json").chmod(0o600)
    if not expiring:
        gate.server.script(Status(401), "hello")
    else:
        gate.script("hello")
    assert gate.run("--model", "gate/m", "-p", "hi").stdout == "hello\n"
    assert gate.server.requests[-1].key == stored(gate)["gate"]["access"] != entry["access"]
    assert len(logins.requests) == 1


def test_key_is_checked_before_it_is_stored(gate: Program, logins: OAuthServer) -> None:
    ran = gate.run("login", "openai", stdin=f"{KEY}\n")
    assert ran.returncode == 1
    assert "OpenAI rejects this key (401). Nothing was stored" in ran.stderr
    assert not (gate.home / "auth.json").exists()
    logins.valid.add(KEY)
    ran = gate.run("login", "openai", stdin=f"export OPENAI_API_KEY='{KEY}'\n")
    assert "It works." in ran.stderr
    assert stored(gate) == {"openai": {"type": "api_key", "key": KEY}}
    gate.run("login", "openai", "--add", "--no-check", stdin="sk-second-0123456789abcdef\n")
    assert [one["key"] for one in stored(gate)["openai"]] == ["sk-second-0123456789abcdef", KEY]
    listed = gate.run("auth", "list", "--json")
    assert [row["name"] for row in json.loads(listed.stdout)] == ["…cdef", "…cdef"]
    assert KEY not in listed.stdout + ran.stderr


def test_typed_key_is_not_echoed(gate: Program, logins: OAuthServer) -> None:
    logins.valid.add(KEY)
    terminal = pexpect.spawn(TAU[0], [*TAU[1:], "login", "openai"], encoding="utf-8", timeout=HANG_S)
    terminal.expect("key \\(hidden\\): ")
    terminal.sendline(KEY)
    terminal.expect(pexpect.EOF)
    terminal.wait()
    assert KEY not in str(terminal.before)
    assert stored(gate)["openai"]["key"] == KEY


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("claude-max", "tau login anthropic"),
        ("gemini-cli", "tau login google"),
        ("github-copilot", "tau login openai"),
        ("nobody", "Unknown provider"),
        ("anthropic --device", "has no login for other programs"),
    ],
)
def test_closed_login_says_why_and_which_key_to_get(gate: Program, name: str, advice: str) -> None:
    ran = gate.run("login", *name.split())
    assert ran.returncode in (1, 2)
    assert advice in ran.stderr


def test_full_disk_leaves_the_stored_keys(gate: Program, logins: OAuthServer) -> None:
    logins.valid.add(KEY)
    gate.write("auth.json", {"other": {"type": "api_key", "key": "sk-kept-0123456789"}})
    (gate.home / "auth.json").chmod(0o600)
    command = f"ulimit -f 0; exec {' '.join(TAU)} login openai"
    ran = subprocess.run(
        ["/bin/sh", "-c", command],
        input=f"{KEY}\n",
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert ran.returncode == 1
    assert "it is unchanged" in ran.stderr
    assert stored(gate) == {"other": {"type": "api_key", "key": "sk-kept-0123456789"}}
