"""The agent class for Harbor, on a stand-in for Harbor's base class, which needs a newer Python."""

import asyncio
import json
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest


class Base:
    """The parts of `BaseInstalledAgent` of Harbor 0.25 that are used."""

    def __init__(self, logs_dir: Path) -> None:
        self.logs_dir = logs_dir
        self.model_name = "anthropic/claude-haiku-4-5"
        self._version = None
        self.ran: list[tuple[str, dict[str, str] | None]] = []

    async def ensure_system_dependencies(self, environment: Any, names: tuple[str, ...]) -> None:
        assert set(names) >= {"bash", "git"}

    async def exec_as_agent(self, environment: Any, command: str, env: dict[str, str] | None = None) -> None:
        self.ran.append((command, env))

    def _get_env(self, name: str) -> str | None:
        return "key" if name == "ANTHROPIC_API_KEY" else None


@pytest.fixture
def agent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    base = ModuleType("harbor.agents.installed.base")
    base.BaseInstalledAgent = Base  # type: ignore[attr-defined]
    base.with_prompt_template = lambda run: run  # type: ignore[attr-defined]
    for name in ("harbor", "harbor.agents", "harbor.agents.installed"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, base.__name__, base)
    monkeypatch.delitem(sys.modules, "tau.modes.batch.harbor_agent", raising=False)
    return import_module("tau.modes.batch.harbor_agent").TauAgent(tmp_path)


def test_installs_and_runs_tau_with_the_instruction_as_one_argument(agent: Any) -> None:
    asyncio.run(agent.install(None))
    asyncio.run(agent.run("--fix 'it'; $(rm)", None, None))
    (install, _), (command, env) = agent.ran
    assert f"tau-agent=={agent.version()}" in install
    assert (
        " -- '--fix '\"'\"'it'\"'\"'; $(rm)'" in command and "--model anthropic/claude-haiku-4-5" in command
    )
    assert command.startswith("set -o pipefail;") and env == {"ANTHROPIC_API_KEY": "key"}


def test_reports_tokens_and_cost(agent: Any, tmp_path: Path) -> None:
    usage = {"input": 10, "output": 2, "cacheRead": 5, "cost": {"total": 0.25}}
    event = {"type": "message_end", "message": {"role": "assistant", "usage": usage}}
    line = json.dumps(event, separators=(",", ":"))
    (tmp_path / "tau.jsonl").write_text(f"noise\n{line}\n{line}\n")
    context = SimpleNamespace()
    agent.populate_context_post_run(context)
    assert (context.n_input_tokens, context.n_cache_tokens, context.n_output_tokens) == (30, 10, 4)
    assert context.cost_usd == 0.5
