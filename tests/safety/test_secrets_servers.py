"""A model server that was found on a port is a stranger until the user confirms it."""

import asyncio
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tau.agent.events import AgentEvent, ToolEnd
from tau.ai.local import discovery
from tau.ai.local.socket_owner import socket_owner
from tau.base.errors import ConfigError, TauError
from tau.config.paths import user_paths
from tau.sdk import SessionOptions, create_session
from tests.safety.local_server import local_server

NOBODY = 65_534


class Answers:
    """A person who answers each question the same way."""

    def __init__(self, answer: str | None) -> None:
        self.answer = answer
        self.questions: list[str] = []

    async def select(self, title: str, options: Sequence[str], **_: Any) -> str | None:
        self.questions.append(title)
        return next((option for option in options if self.answer and option.startswith(self.answer)), None)

    async def confirm(self, title: str, message: str, **_: Any) -> bool | None:
        self.questions.append(title)
        return self.answer is not None

    def notify(self, message: str, level: str = "info") -> None:
        """Nothing to show."""


def ask(cwd: Path, ui: Answers | None = None, **options: Any) -> list[ToolEnd]:
    """Prompt whatever model tau finds; returns the tool calls that ended."""
    ended: list[ToolEnd] = []

    def hear(event: AgentEvent) -> None:
        if isinstance(event, ToolEnd):
            ended.append(event)

    async def main() -> None:
        chosen = SessionOptions(cwd=cwd, save=False, ui=ui, settings={"local.embedded": False}, **options)  # type: ignore[arg-type]
        async with create_session(chosen, os.environ) as session:
            session.subscribe(hear)
            await session.prompt("go")

    asyncio.run(main())
    return ended


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    return tmp_path / "ran"


@pytest.fixture(autouse=True)
def no_other_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tau.ai.local.discovery.DISCOVERY_TIMEOUT_S", 20)
    for name in ("lm-studio", "llama.cpp", "vllm"):
        monkeypatch.setitem(discovery.DEFAULT_ADDRESSES, name, "http://127.0.0.1:9")


def test_headless_never_uses_a_server_nobody_named(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_server(f"touch {mark}") as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        with pytest.raises(ConfigError, match="name it with --provider ollama"):
            ask(tmp_path)
    assert not mark.exists()


def test_naming_the_server_is_enough_if_it_is_ours(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_server(f"touch {mark}") as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        [ended] = ask(tmp_path, provider="ollama")
    assert not ended.is_error
    assert mark.exists()


def test_one_question_confirms_a_server_for_good(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with local_server(f"touch {mark}") as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        person = Answers("Yes")
        ask(tmp_path, person)
        ask(tmp_path, person)
        ask(tmp_path)  # headless, too
        [question] = person.questions
        assert f"Use Ollama at {address}/v1?" in question
        assert "owner: " in question
    assert user_paths().servers.stat().st_mode & 0o077 == 0


def test_no_and_silence_do_not_use_it(tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with local_server(f"touch {mark}") as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        for person in (Answers(None), Answers("No"), Answers("Yes")):  # the second answer is remembered
            with pytest.raises(ConfigError):
                ask(tmp_path, person)
    assert not mark.exists()


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a program as another user")
def test_another_users_server_is_never_used(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: 12_345)  # neither root nor the owner
    with local_server(f"touch {mark}", user=NOBODY) as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        person = Answers("Yes")
        with pytest.raises(ConfigError, match="belongs to another user"):
            ask(tmp_path, person)
        with pytest.raises(TauError):
            ask(tmp_path, person, provider="ollama")
        assert person.questions == []
    assert not mark.exists()


def test_a_found_model_that_was_not_confirmed_must_ask_for_every_command(
    tmp_path: Path, mark: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even if some path uses it without a question, and in every mode."""
    monkeypatch.setattr("tau.coding.confirmed_servers.confirmed", lambda models: list(models))
    with local_server(f"touch {mark}") as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        [ended] = ask(tmp_path, provider="ollama")
    assert "approval" in ended.text
    assert not mark.exists()


def test_the_owner_of_a_socket_is_read_from_the_kernel() -> None:
    for family, host, bound in (
        (socket.AF_INET, "127.0.0.1", "127.0.0.1"),
        (socket.AF_INET, "localhost", "0.0.0.0"),
        (socket.AF_INET6, "::1", "::1"),
        (socket.AF_INET6, "127.0.0.1", "::"),
    ):
        with socket.socket(family) as listener:
            listener.bind((bound, 0))
            port = listener.getsockname()[1]
            assert socket_owner(host, port) is None  # not listening yet
            listener.listen()
            assert socket_owner(host, port) == os.getuid()


def test_unreadable_table_means_unknown_unless_another_names_the_owner(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing, ipv4 = (Path("/missing"), socket.AF_INET6), (Path("/proc/net/tcp"), socket.AF_INET)
    for tables, owner in (([missing], None), ([missing, ipv4], os.getuid())):
        monkeypatch.setattr("tau.ai.local.socket_owner._TABLES", tables)
        with socket.create_server(("127.0.0.1", 0)) as listener:
            assert socket_owner("127.0.0.1", listener.getsockname()[1]) == owner
