"""A resumed conversation stays with its server, or says why it cannot."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.program import FAKE, Program
from tests.support.fake_server import FakeServer


@pytest.fixture
def vendor() -> Iterator[FakeServer]:
    """Another provider, whose key is in the environment."""
    with FakeServer() as running:
        yield running


@pytest.fixture
def own(tau: Program, vendor: FakeServer) -> str:
    """The address of a server that only a flag names; the vendor replaces the provider openai."""
    tau.write("models.json", {"providers": {"openai": {"baseUrl": f"{vendor.url}/v1"}}})
    return f"{tau.server.url}/v1"


def test_conversation_held_with_a_base_url_is_not_sent_to_a_vendor(
    tau: Program, vendor: FakeServer, own: str
) -> None:
    assert tau.run("--base-url", own, "--model", "qwen", "-p", "secret plan").stdout == "ok\n"
    ran = tau.run("-c", "-p", "and then?", OPENAI_API_KEY="sk-vendor")
    assert ran.stdout == "ok\n" and vendor.requests == []
    request = tau.server.requests[-1]
    assert tau.user_messages() == ["secret plan", "and then?"]
    assert request.body["model"] == "qwen" and "sk-vendor" not in str(request.headers)
    assert f"custom/qwen at {own}" in ran.stderr


def test_session_whose_server_is_unknown_stops_and_names_the_flags(
    tau: Program, vendor: FakeServer, own: str
) -> None:
    tau.run("--base-url", own, "--model", "qwen", "-p", "secret plan")
    [path] = (tau.home / "sessions").rglob("*.jsonl")
    path.write_text(path.read_text().replace('"baseUrl"', '"url"'))  # as earlier versions wrote it
    ran = tau.run("-c", "-p", "and then?", OPENAI_API_KEY="sk-vendor")
    assert ran.returncode == 2 and vendor.requests == []
    assert "--model" in ran.stderr and "--base-url" in ran.stderr and "custom/qwen" in ran.stderr
    ran = tau.run("-c", "-p", "and then?", "--model", "openai/gpt-5", OPENAI_API_KEY="sk-vendor")
    assert ran.stdout == "ok\n" and len(vendor.requests) == 1
    assert "used custom/qwen so far and continues with openai/gpt-5" in ran.stderr


def test_proxy_of_a_known_provider_is_not_replaced_by_the_vendor(
    tau: Program, vendor: FakeServer, own: str
) -> None:
    key = {"OPENAI_API_KEY": "sk-vendor"}
    tau.run("--provider", "openai", "--model", "gpt-5", "--base-url", own, "-p", "secret plan", **key)
    asked = len(tau.server.requests)
    ran = tau.run("-c", "-p", "and then?", **key)
    assert ran.returncode == 2 and f"--base-url {own}" in ran.stderr
    assert vendor.requests == [] and len(tau.server.requests) == asked
    assert tau.run("-c", "--base-url", own, "-p", "and then?", **key).stdout == "ok\n"
    assert vendor.requests == [] and len(tau.server.requests) == asked + 1


def test_removed_provider_does_not_hand_its_sessions_to_a_vendor(
    tau: Program, vendor: FakeServer, tmp_path: Path
) -> None:
    tau.run(*FAKE, "-p", "secret plan")
    tau.write("models.json", {"providers": {"openai": {"baseUrl": f"{vendor.url}/v1"}}})
    ran = tau.run("-c", "-p", "and then?", OPENAI_API_KEY="sk-vendor")
    assert ran.returncode == 2 and vendor.requests == []
    assert "fake/fake-model" in ran.stderr and "--model" in ran.stderr


def test_handoff_stays_with_the_server_of_the_session(tau: Program, vendor: FakeServer, own: str) -> None:
    tau.run("--base-url", own, "--model", "qwen", "-p", "secret plan")
    summary = "## Goal\nShip the plan, which is written down here in enough words to be a summary.\n"
    tau.script(summary, "ok")
    ran = tau.run("--plain", "-c", stdin="/handoff\n", OPENAI_API_KEY="sk-vendor")
    assert "Continuing in a new session." in ran.stdout
    assert vendor.requests == []
    assert {request.body["model"] for request in tau.server.requests} == {"qwen"}


def test_resumed_session_keeps_the_upstream_of_a_router(tau: Program) -> None:
    tau.write("models.json", {"providers": {"openrouter": {"baseUrl": f"{tau.server.url}/v1"}}})
    key = {"OPENROUTER_API_KEY": "sk-or-0123456789"}
    model = "openrouter/openai/gpt-5.4"
    assert tau.run("--model", f"{model}@azure", "-p", "hi", **key).stdout == "ok\n"
    assert tau.run("-c", "-p", "again", **key).stdout == "ok\n"
    assert tau.server.requests[-1].body["provider"] == {"only": ["azure"]}
    tau.run("-c", "--model", model, "-p", "anyone now", **key)
    tau.run("-c", "-p", "and again", **key)
    assert "provider" not in tau.server.requests[-1].body
    assert [line["type"] for line in tau.sessions()[0]].count("model_change") == 2


def test_level_in_a_role_pattern_is_used(tau: Program) -> None:
    tau.write("models.json", {"providers": {"openai": {"baseUrl": f"{tau.server.url}/v1"}}})
    tau.settings(modelRoles={"plan": "openai/gpt-5.4:high"}, api="openai-completions")
    row = {"baseUrl": f"{tau.server.url}/v1", "api": "openai-completions"}
    tau.write("models.json", {"providers": {"openai": row}})
    key = {"OPENAI_API_KEY": "sk-0123456789"}
    tau.run("--model", "openai/gpt-5.4:low", "-p", "hi", **key)
    assert tau.server.requests[-1].body["reasoning_effort"] == "low"
    tau.run("--model", "openai/gpt-5.4:low", "--approval-mode", "plan", "-p", "hi", **key)
    assert tau.server.requests[-1].body["reasoning_effort"] == "high"
