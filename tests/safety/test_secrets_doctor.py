"""`tau doctor` reports what is wrong and what to do; `--redact` removes secrets from what tau stored."""

import json
import os
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tau.ai.wire import TextContent, ToolResultMessage, UserMessage
from tau.cli import doctor_command
from tau.coding.session.storage.log import SessionLog
from tau.coding.session.storage.session_store import SessionStore
from tau.coding.session_index.prompt_history import FILE_NAME, PromptHistory
from tau.config.paths import Paths, user_paths
from tests.safety.local_server import local_server

KEY = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
OWN = "the-phrase-of-this-user"


@pytest.fixture
def paths() -> Paths:
    found = user_paths()
    found.home.mkdir(parents=True, mode=0o700)
    return found


def report(capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    code = doctor_command.run(words)
    return code, *capfd.readouterr()


def checks(capfd: pytest.CaptureFixture[str]) -> tuple[int, list[dict[str, str]]]:
    code, out, _ = report(capfd, "--json")
    found = json.loads(out)
    assert found["ok"] is (code == 0)
    return code, found["checks"]


def test_a_healthy_installation(paths: Paths, capfd: pytest.CaptureFixture[str]) -> None:
    code, out, _ = report(capfd)
    assert code == 0
    assert "fail" not in {line.split()[0] for line in out.splitlines()}
    for name in ("tau", "git", "sandbox", "permissions", "servers", "settings"):
        assert any(line.split()[1] == name for line in out.splitlines())
    assert f"Python {sys.version_info[0]}.{sys.version_info[1]}" in out


def test_each_engine_says_what_it_was_shown_to_contain(
    paths: Paths, capfd: pytest.CaptureFixture[str]
) -> None:
    _, found = checks(capfd)
    engines = {check["name"]: check for check in found if check["name"].startswith("sandbox ")}
    assert set(engines) == {"sandbox bubblewrap", "sandbox namespaces", "sandbox landlock"}
    for check in engines.values():
        assert check["text"].startswith("contains files") or check["status"] == "warn"


@pytest.mark.parametrize(("name", "mode"), [("auth.json", 0o644), ("secrets.json", 0o640)])
def test_readable_keys_fail(paths: Paths, capfd: pytest.CaptureFixture[str], name: str, mode: int) -> None:
    (paths.home / name).write_text("{}")
    (paths.home / name).chmod(mode)
    code, found = checks(capfd)
    assert code == 1
    [bad] = [check for check in found if check["status"] == "fail"]
    assert f"{paths.home / name} can be read by other users" in bad["text"]
    assert bad["advice"] == f"run chmod 600 {paths.home / name}"


def test_problems_of_settings_and_files_are_reported(
    paths: Paths, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".tau").mkdir()
    (tmp_path / ".tau" / "settings.json").write_text('{"tools": {"passEnv": ["HOME_TOKEN"]}}')
    paths.settings.write_text('{"keys": {"plainHttpHosts": ["192.168.1.20"]}}')
    paths.secrets.write_text('{"patterns": ["(broken"]}')
    paths.secrets.chmod(0o600)
    code, found = checks(capfd)
    texts = [check["text"] for check in found if check["status"] != "ok"]
    assert code == 1
    assert any("tools.passEnv" in text for text in texts)
    assert any("unencrypted to 192.168.1.20" in text for text in texts)
    assert any('"(broken"' in text for text in texts)


def test_a_broken_settings_file_is_a_finding_not_a_crash(
    paths: Paths, capfd: pytest.CaptureFixture[str]
) -> None:
    paths.settings.write_text("{broken")
    code, found = checks(capfd)
    assert code == 1
    assert any(check["status"] == "fail" and "settings.json" in check["text"] for check in found)
    assert any(check["name"] == "git" for check in found)


def test_keys_are_named_and_never_shown(
    paths: Paths, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "planted-openai-key")
    monkeypatch.setenv("DEPLOY_TOKEN", "planted-deploy-token")
    paths.auth.write_text(json.dumps({"groq": {"type": "api_key", "key": "planted-groq-key"}}))
    paths.auth.chmod(0o600)
    _, out, err = report(capfd)
    assert "auth.json has keys for groq" in out
    assert "OPENAI_API_KEY" in out
    assert "commands do not get DEPLOY_TOKEN" in out
    assert "planted" not in out + err


def test_local_servers_are_listed_with_their_owner(
    paths: Paths, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "tau.ai.local.discovery.discover.__defaults__", (20, {"ollama": "http://127.0.0.1:9"}, 0, ())
    )
    with local_server("true") as address:
        monkeypatch.setenv("OLLAMA_HOST", address)
        _, found = checks(capfd)
    [server] = [check for check in found if check["name"] == "servers"]
    assert server["text"] == f"Ollama at {address}/v1, 1 models, of user {os.getuid()}, not confirmed yet"


def old_session(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A session that an earlier version wrote, with a secret in each place."""
    with monkeypatch.context() as patched:
        patched.setattr("tau.base.secrets.mask_line", lambda line: line)
        store = SessionStore(paths.sessions, Path("/"))
        with closing(store.new()) as log:
            log.append_message(UserMessage(f"deploy with {KEY} and {OWN}", 1))
            log.append_message(
                ToolResultMessage("c1", "bash", [TextContent(f"GITHUB_TOKEN={KEY}")], False, 2)
            )
            assert log.path is not None
            assert log.artifacts_folder is not None
            log.artifacts_folder.mkdir()
            (log.artifacts_folder / "0.bash.log").write_text(f"before\n{KEY}\nafter\n")
            history = log.artifacts_folder / "history"
            history.mkdir()
            (history / "journal.log").write_text(
                json.dumps({"type": "turn", "id": "1", "prompt": KEY}) + "\n"
            )
            (history / "0f").write_text(f"undo restores {KEY}")
            return log.path


def test_redact_cleans_old_sessions_and_they_still_resume(
    paths: Paths, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths.secrets.write_text(json.dumps({"values": [OWN]}))
    path = old_session(paths, monkeypatch)
    os.utime(path, (1_000_000, 1_000_000))
    paths.drafts.mkdir()
    (paths.drafts / "a.json").write_text(json.dumps({"draft": {"text": KEY}}))
    paths.logs.mkdir()
    (paths.logs / "tau.log").write_text(f"2026 error {KEY}\n")
    with closing(PromptHistory(paths.home / FILE_NAME)) as prompts:
        prompts.add(f"use {KEY}", "/")
        prompts.add("harmless", "/")

    code, out, err = report(capfd, "--redact", "--dry-run")
    assert code == 0
    assert "would be masked" in err
    assert KEY in path.read_text()

    code, out, err = report(capfd, "--redact")
    assert code == 0
    assert str(path) in out
    assert "were masked" in err
    left = [file for file in paths.home.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]
    assert [file.parent.name for file in left] == ["history"]  # what undo restores
    assert OWN not in path.read_text()
    assert path.stat().st_mtime == 1_000_000
    with closing(PromptHistory(paths.home / FILE_NAME)) as prompts:
        texts = [prompt.text for prompt in prompts.recent()]
        assert texts == ["harmless", "use [masked GitHub token]"]
        assert prompts.search("masked")
    with closing(SessionLog.open(path)) as log:
        assert not log.warnings
        first: Any = log.messages()[0]
        assert first.content == "deploy with [masked GitHub token] and [masked]"
        log.append_message(UserMessage("go on", 3))
    assert report(capfd, "--redact")[2].startswith("tau: 0 secrets in 0 of ")


def test_an_open_session_is_skipped(
    paths: Paths, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = old_session(paths, monkeypatch)
    with closing(SessionLog.open(path)):
        code, _, err = report(capfd, "--redact")
    assert code == 1
    assert f"Skipped {path}: it is open in another tau." in err
    assert KEY in path.read_text()
