"""Keys in tau's environment do not reach commands, kernels or servers, unless allowed by name."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from tau.base.run import LocalRunner, capture
from tau.config.paths import user_paths
from tau.sdk import SessionOptions, create_session
from tests.support.fake_answers import Call
from tests.support.fake_server import FakeServer

SECRETS = {
    "OPENAI_API_KEY": "planted-openai",
    "ANTHROPIC_OAUTH_TOKEN": "planted-oauth",
    "AWS_SECRET_ACCESS_KEY": "planted-aws",
    "GITHUB_TOKEN": "planted-github",
    "NPM_TOKEN": "planted-npm",
    "DB_PASSWORD": "planted-db",
    "PGPASSWORD": "planted-pg",
    "MY_CREDENTIAL": "planted-credential",
    "SERVICE_AUTH": "planted-auth",
    "SIGNING_PRIVATE": "planted-private",
}


def environment_of(runner: LocalRunner, **extra: str) -> str:
    async def main() -> str:
        async with await runner.start("env", cwd=Path("/"), env=extra) as process:
            return (await capture(process)).output.decode()

    try:
        return asyncio.run(main())
    finally:
        runner.close()


def test_commands_do_not_inherit_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in {**SECRETS, "SSH_AUTH_SOCK": str(tmp_path), "MAX_TOKENS": "4096"}.items():
        monkeypatch.setenv(name, value)
    seen = environment_of(LocalRunner(), API_TOKEN="given on purpose")
    assert "planted" not in seen
    assert f"SSH_AUTH_SOCK={tmp_path}" in seen
    assert "MAX_TOKENS=4096" in seen
    assert "API_TOKEN=given on purpose" in seen
    assert "planted-npm" in environment_of(LocalRunner(pass_env=["NPM_TOKEN"]))


def test_a_variable_named_in_auth_json_is_a_secret_whatever_its_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ACME_LLM", "planted-by-reference")
    paths = user_paths()
    paths.home.mkdir(parents=True)
    paths.auth.write_text(json.dumps({"acme": {"type": "api_key", "key": "ACME_LLM"}}))
    paths.auth.chmod(0o600)
    assert "planted" not in run_in_session(tmp_path, Call("bash", {"command": "env"}))


@pytest.mark.parametrize(
    "call",
    [
        Call("bash", {"command": "env"}),
        Call("bash", {"command": "env", "pty": True}),
        Call("eval", {"cells": [{"language": "py", "code": "import os; print(dict(os.environ))"}]}),
    ],
    ids=["bash", "pty", "python"],
)
def test_tools_do_not_see_secrets(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, call: Call) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    seen = run_in_session(tmp_path, call)
    assert "HOME" in seen
    assert "planted" not in seen


def test_the_user_allows_a_variable_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    paths = user_paths()
    paths.home.mkdir(parents=True)
    paths.settings.write_text(json.dumps({"tools": {"passEnv": ["NPM_TOKEN"]}}))
    seen = run_in_session(tmp_path, Call("bash", {"command": "env"}))
    assert "planted-npm" in seen
    assert seen.count("planted") == 1


def test_a_key_command_gets_the_whole_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A password manager may need its own token."""
    monkeypatch.setenv("OP_SERVICE_TOKEN", "for-the-manager-4711")
    paths = user_paths()
    paths.home.mkdir(parents=True)
    paths.auth.write_text(json.dumps({"openai": {"type": "api_key", "key": "!echo key-$OP_SERVICE_TOKEN"}}))
    paths.auth.chmod(0o600)
    with FakeServer() as server:
        server.script("hello")
        options = SessionOptions(
            cwd=tmp_path, model="openai/gpt-5.4", base_url=f"{server.url}/v1", save=False
        )

        async def main() -> None:
            async with create_session(options, os.environ) as session:
                await session.prompt("hi")

        asyncio.run(main())
        assert server.requests[-1].headers["authorization"] == "Bearer key-for-the-manager-4711"


def run_in_session(cwd: Path, call: Call) -> str:
    """The result of a tool call, as the model reads it."""
    with FakeServer() as server:
        server.script(call, "done")
        options = SessionOptions(
            cwd=cwd, model="custom", base_url=f"{server.url}/v1", save=False, tools=(call.name,)
        )

        async def main() -> None:
            async with create_session(options, os.environ) as session:
                await session.prompt("go")

        asyncio.run(main())
        result: str = json.dumps(server.requests[-1].body["messages"][-1])
        return result
