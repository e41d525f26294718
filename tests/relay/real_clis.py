"""The agent CLIs of others, as npm has them, pointed at a model server on this machine."""

import json
import os
import stat
from pathlib import Path

from tests.support.npm_packages import RELAY_CLIS

CODEX = """\
model = "fake-model"
model_provider = "fake"
[model_providers.fake]
name = "fake"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "FAKE_API_KEY"
"""


def prepare(kind: str, home: Path, url: str) -> tuple[list[str], dict[str, str]]:
    """The command of a CLI and the variables it needs; skips the test if it is not installed."""
    modules = RELAY_CLIS.require()
    env = {"PATH": f"{modules}/.bin:{os.environ['PATH']}", "HOME": str(home), "NO_COLOR": "1"}
    env |= {f"XDG_{one}_HOME": str(home / f".{one.lower()}") for one in ("CONFIG", "DATA", "STATE", "CACHE")}
    home.mkdir(exist_ok=True)
    fake = {"baseUrl": f"{url}/v1", "apiKey": "sk-fake", "api": "openai-completions"}
    match kind:
        case "claude":
            env |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-fake", "IS_SANDBOX": "1"}
            env["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        case "codex":
            env |= {"CODEX_HOME": str(home / ".codex"), "FAKE_API_KEY": "sk-fake"}
            write(home / ".codex/config.toml", CODEX.format(url=url))
        case "pi":
            model = {"id": "fake-model", "name": "fake", "contextWindow": 100_000, "maxTokens": 4000}
            write_json(home / ".pi/agent/models.json", {"providers": {"fake": {**fake, "models": [model]}}})
            env["PI_OFFLINE"] = "1"
            return ["pi", "--provider", "fake", "--model", "fake-model"], env
        case "opencode":
            provider = {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": f"{url}/v1", "apiKey": "sk-fake"},
                "models": {"fake-model": {"name": "fake"}},
            }
            config = {"provider": {"fake": provider}, "model": "fake/fake-model", "autoupdate": False}
            write_json(home / ".config/opencode/opencode.json", config)
            env |= {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1"}
        case "gemini":
            env |= {
                "GOOGLE_GEMINI_BASE_URL": url,
                "GEMINI_API_KEY": "sk-fake",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            }
            auth = {"selectedType": "gemini-api-key"}
            write_json(
                home / ".gemini/settings.json",
                {"security": {"auth": auth}, "selectedAuthType": "gemini-api-key"},
            )
            return ["gemini", "-m", "gemini-2.5-flash"], env
    return [kind], env


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_json(path: Path, content: object) -> None:
    write(path, json.dumps(content))


def wrapper(folder: Path, command: list[str], env: dict[str, str]) -> Path:
    """A program of the CLI's name that sets its variables."""
    path = folder / command[0]
    lines = [f"export {name}='{value}'" for name, value in env.items()]
    words = " ".join(command)
    path.write_text("\n".join(["#!/bin/sh", *lines, f'exec {words} "$@"', ""]))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path
