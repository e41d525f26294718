"""Keys planted in many places are absent from all that tau writes or prints, and everything still works."""

import base64
import json
import os
from collections.abc import Iterator
from contextlib import closing
from io import BytesIO
from pathlib import Path

import pytest
from PIL import Image, PngImagePlugin

from tau.agent.queue import Queue
from tau.ai.exchange_log import ExchangeLog
from tau.ai.wire import ThinkingContent, UserMessage
from tau.base import log
from tau.cli.failure import report_failure
from tau.coding.session.compaction import handoff
from tau.coding.session.queue_file import persist_queue
from tau.coding.session.storage.log import SessionLog
from tau.config.paths import user_paths
from tau.config.secret_mask import make_mask, mask_known_secrets
from tau.modes.interactive.composer.drafts import DraftStore
from tau.modes.interactive.composer.prompt_recall import _remember
from tau.modes.interactive.debug.requests import responses_text
from tests.coding.export.sample import answer
from tests.e2e.program import Program
from tests.support.fake_answers import Call, Status
from tests.support.fake_server import FakeServer
from tests.support.forked import ForkServer

# Assembled at runtime so that secret scanners ignore this file. None of them is real.
AUTH = "planted-in-auth-json-4711"
MODELS = "planted-in-models-json-4711"
HEADER = "planted-in-a-header-4711"
VARIABLE = "planted-in-the-environment"
OWN = "planted in secrets.json"
PATTERN = "ACME-1234-5678"
DOTENV = "glpat-" + "pLanT3dInD0tEnvFi1e5"
OUTPUT = "ghp_" + "pLanT3dInC0mmandOutput1234567890abcd"
ERROR = "sk-ant-" + "api03-pLanT3dInAnErrorB0dy-0123456789abcdef"
PASSWORD = "pLanT3d1nAnUrl"
PROMPT = "sk-" + "proj-pLanT3dInThePrompt0123456789abcdef"
ARGUMENT = "xoxb-" + "123456789012-pLanT3dInAnArgument"
COMMAND = "pLanT3d-with-docker"
METADATA = "npm_" + "pLanT3dInAnImage0123456789abcdefghij"
LARGE = "AKIA" + "PLANT3DARTIFACT1"
DRAFT = "hf_" + "pLanT3dInADraft0123456789abcdefghij"
HISTORY = "gsk_" + "pLanT3dInTheHistory0123456789abcdef"
QUEUE = "r8_" + "pLanT3dInTheQueue0123456789abcdefgh"
RAW = "xai-" + "pLanT3dInRawEvents0123456789abcdefgh"
LOGGED = "eyJ" + "hbGciOiJIUzI1NiJ9.eyJwbGFudGVkIjoxMjM0NX0.pLanT3dInTheL0g"
CRASH = "pypi-" + "pLanT3dInACrash0123456789abcdefghijklmnopqrst"
HANDOFF = "SG." + "pLanT3dInAHandoff.0123456789abcdefghijklm"
PEM = "MIIEpLanT3dInAPrivateKey0123456789"
BEARER = "pLanT3dBearer0123456789abcdefghij"
THINKING = "dop_v1_" + "0123456789abcdef0123456789abcdef0123456789abcdef"

PLANTED = (
    *(AUTH, MODELS, HEADER, VARIABLE, OWN, PATTERN, DOTENV, OUTPUT, ERROR, PASSWORD, PROMPT, ARGUMENT),
    *(COMMAND, METADATA, LARGE, DRAFT, HISTORY, QUEUE, RAW, LOGGED, CRASH, HANDOFF, PEM, BEARER, THINKING),
)
KEPT = {"auth.json", "models.json", "secrets.json"}  # the user's own files


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


@pytest.fixture
def tau(
    server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forks: ForkServer | None
) -> Program:
    program = Program(server, tmp_path, forks)
    monkeypatch.setenv("DEPLOY_SECRET", VARIABLE)
    monkeypatch.setenv("ACME_HEADER", HEADER)
    program.write("auth.json", {"fake": {"type": "api_key", "key": AUTH}})
    (program.home / "auth.json").chmod(0o600)
    program.write("secrets.json", {"values": [OWN], "patterns": ["ACME-[0-9]{4}-[0-9]{4}"]})
    file = json.loads((program.home / "models.json").read_text())
    file["providers"]["fake"] |= {"apiKey": MODELS, "headers": {"x-acme": "ACME_HEADER"}}
    program.write("models.json", file)
    return program


def found_in(text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    return [
        secret
        for secret in PLANTED
        if secret.encode() in data or base64.b64encode(secret.encode())[:-4] in data
    ]


def leaks(home: Path) -> dict[str, list[str]]:
    """Every file below the user's folder that has a planted secret, except the user's own and undo's."""
    return {
        str(path): found
        for path in home.rglob("*")
        if path.is_file() and path.name not in KEPT and "history" not in path.parts
        if (found := found_in(path.read_bytes()))
    }


def picture() -> bytes:
    texts = PngImagePlugin.PngInfo()
    texts.add_text("Comment", METADATA)
    out = BytesIO()
    Image.new("RGB", (8, 8), "red").save(out, "PNG", pnginfo=texts)
    return out.getvalue()


def work(tau: Program) -> list[Call | str]:
    """A conversation in which the model meets a secret at every step."""
    project = tau.project
    (project / ".env").write_text(f"GITLAB={DOTENV}\nKEY2='{OWN}' {PATTERN}\n")
    (project / "key.pem").write_text(
        f"-----BEGIN RSA PRIVATE KEY-----\n{PEM}\n-----END RSA PRIVATE KEY-----\n"
    )
    (project / "a.png").write_bytes(picture())
    (project / "large.py").write_text("print('x' * 50)\n" * 3000 + f"print('{LARGE}')\n" * 2)
    return [
        Call("read", {"path": ".env"}),
        Call("read", {"path": "key.pem"}),
        Call("read", {"path": "a.png"}),
        Call(
            "bash", {"command": f"echo token: {OUTPUT}; curl -H 'Authorization: Bearer {BEARER}' x:1 || true"}
        ),
        Call("bash", {"command": f"true docker login -u me -p {COMMAND}"}),
        Call("bash", {"command": "python3 large.py"}),
        Call("write", {"path": "slack.txt", "content": f"token = {ARGUMENT}\n"}),
        f"I wrote {ARGUMENT} to slack.txt.",
    ]


def test_a_session_full_of_secrets_leaves_none_behind(tau: Program) -> None:
    tau.script(*work(tau))
    ran = tau.ask(f"deploy with {PROMPT} to https://me:{PASSWORD}@host.test/x", TAU_DEBUG="1")
    assert ran.returncode == 0, ran.stderr
    assert "I wrote [masked Slack token] to slack.txt." in ran.stdout
    assert found_in(ran.stdout + ran.stderr) == []
    assert leaks(tau.home) == {}
    assert any(tau.home.rglob("*.bash.log"))  # there is an artifact

    # What went to tools and to the model is exact.
    assert (tau.project / "slack.txt").read_text() == f"token = {ARGUMENT}\n"
    sent = json.dumps([request.body for request in tau.server.requests])
    for secret in (DOTENV, OUTPUT, PROMPT, ARGUMENT, PEM):
        assert secret in sent
    assert tau.server.requests[0].headers["authorization"] == f"Bearer {AUTH}"
    assert tau.server.requests[0].headers["x-acme"] == HEADER

    # Undo restores files, and the session resumes.
    assert tau.run("undo").returncode == 0
    assert not (tau.project / "slack.txt").exists()
    assert tau.run("undo", "--redo").returncode == 0
    assert (tau.project / "slack.txt").read_text() == f"token = {ARGUMENT}\n"
    tau.script("resumed")
    assert tau.ask("-c", "go on").stdout == "resumed\n"
    assert found_in(json.dumps(tau.server.requests[-1].body)) == []


@pytest.mark.parametrize("format", ["--html", "--markdown", "--json", "--pi"])
def test_exports_have_none(tau: Program, format: str) -> None:
    tau.script(*work(tau))
    tau.ask(f"deploy with {PROMPT}")
    ran = tau.run("export", format)
    assert ran.returncode == 0
    assert len(ran.stdout) > 1000
    assert found_in(ran.stdout + ran.stderr) == []


def test_json_events_have_none(tau: Program) -> None:
    tau.script(*work(tau))
    ran = tau.run("--provider", "fake", "--model", "fake-model", "--mode", "json", f"deploy with {PROMPT}")
    assert ran.returncode == 0
    events = [json.loads(line) for line in ran.stdout.splitlines()]
    assert events[-1]["type"] == "agent_settled"
    assert found_in(ran.stdout + ran.stderr) == []
    assert leaks(tau.home) == {}


def test_other_commands_that_print_sessions_have_none(tau: Program) -> None:
    tau.script(*work(tau))
    tau.ask(f"deploy with {PROMPT}")
    id = tau.sessions()[0][0]["id"]
    for words in (
        ["sessions"],
        ["sessions", "show", id],
        ["sessions", "search", "deploy"],
        ["undo", "--list"],
    ):
        ran = tau.run(*words)
        assert ran.returncode == 0, ran.stderr
        assert found_in(ran.stdout + ran.stderr) == []
    for words in (["doctor"], ["config", "list"], ["--list-models"]):
        ran = tau.run(*words)
        assert found_in(ran.stdout + ran.stderr) == []
    assert leaks(tau.home) == {}


@pytest.mark.parametrize("status", [400, 401, 403, 429, 500])
def test_errors_of_a_server_that_echoes_secrets_have_none(tau: Program, status: int) -> None:
    said = f"Bad request with key {AUTH}, {ERROR}, {VARIABLE} and header {HEADER}"
    tau.script(Status(status, said, headers={"x-debug": ERROR}))
    ran = tau.ask("hi", TAU_DEBUG="1")
    assert ran.returncode != 0
    assert found_in(ran.stdout + ran.stderr) == []
    assert leaks(tau.home) == {}


def test_an_address_with_a_password_is_neither_stored_nor_printed(tau: Program) -> None:
    address = tau.server.url.replace("://", f"://me:{PASSWORD}@")
    tau.script("hello")
    ran = tau.run("--base-url", f"{address}/v1", "--model", "m", "-p", "hi", TAU_DEBUG="1")
    assert ran.stdout == "hello\n"
    assert found_in(ran.stdout + ran.stderr) == []
    assert leaks(tau.home) == {}
    again = tau.run("-c", "-p", "go on")
    assert "repeat it with --base-url" in again.stderr


def test_thinking_is_masked_and_its_signature_dropped(tmp_path: Path) -> None:
    """Anthropic rejects a signature that belongs to another text."""
    with closing(SessionLog.new(tmp_path, Path("/"))) as conversation:
        conversation.context()  # as a session does when it opens
        thinking = ThinkingContent(f"The key is {THINKING}.", thinking_signature="c2lnbmVk" * 8)
        message = answer(thinking, stop="stop", error_message=f"failed with {THINKING}")
        conversation.append_message(message)
        assert conversation.path is not None
        stored = conversation.path.read_bytes()
        assert found_in(stored) == []
        assert b"c2lnbmVk" not in stored
        live = conversation.messages()[0]
        assert live == message  # the running session has all of it


def test_drafts_history_queue_and_handoffs_have_none(tmp_path: Path) -> None:
    paths = user_paths()
    drafts = DraftStore(paths.drafts, Path("/"), terminal="t", leader=1)
    data = drafts.encode({"text": f"use {DRAFT}"})
    assert data is not None
    drafts.save_now(data)
    _remember(paths.home / "history.db", f"use {HISTORY}", Path("/"))
    handoff.save(f"The key is {HANDOFF}.", paths.sessions)
    with closing(SessionLog.new(paths.sessions, Path("/"))) as conversation:
        conversation.append_message(UserMessage("hi", 1))
        queue = Queue("one-at-a-time", "one-at-a-time")
        persist_queue(queue, conversation, lambda event: None)
        queue.follow_up(UserMessage(f"then {QUEUE}", 2))
        assert list(paths.sessions.rglob("queue.json"))
    assert leaks(paths.home) == {}


def test_logs_crashes_and_debug_views_have_none(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = user_paths()
    paths.home.mkdir(parents=True)
    monkeypatch.setenv("DEPLOY_SECRET", VARIABLE)
    mask_known_secrets(os.environ, paths)
    log.to(paths.logs)
    log.error(f"It failed with {LOGGED} and {VARIABLE}.")
    report_failure(RuntimeError(f"crashed with {CRASH} and {VARIABLE}"))
    record = ExchangeLog()
    exchange = record.begin("POST", f"https://me:{PASSWORD}@host.test/v1?key={RAW}")
    record.add(exchange, f'data: {{"text": "{RAW}", "token": "{VARIABLE}"}}\n\n'.encode())
    shown = responses_text(record, make_mask(os.environ, paths, lambda problem: None))
    out, err = capfd.readouterr()
    assert "crashed with [masked PyPI token]" in err
    assert (paths.logs / "tau.log").exists()
    assert found_in(shown + out + err) == []
    assert leaks(paths.home) == {}
    log.to(None)


def test_a_key_that_a_command_prints_is_known_once_it_was_used(tau: Program) -> None:
    """It has no format, and is in no file."""
    tau.write("auth.json", {"fake": {"type": "api_key", "key": "!printf planted-by-%s-4711 command"}})
    tau.script(Call("bash", {"command": "echo it is planted-by-'command'-4711"}), "done")
    ran = tau.ask("what is my key?")
    assert ran.returncode == 0
    stored = "".join(path.read_text(errors="replace") for path in tau.home.rglob("*.jsonl"))
    assert "it is [masked]" in stored
    assert "planted-by-command-4711" not in stored
