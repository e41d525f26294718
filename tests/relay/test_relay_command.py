"""`tau relay` as a program."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from tau.base.errors import TauError
from tau.cli import relay_command
from tests.relay.chat import Chat
from tests.support.limits import HANG_S


def tau(*words: str, stdin: str = "", home: Path) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "TAU_RELAY_HOME": str(home)}
    return subprocess.run(
        [sys.executable, "-m", "tau", "relay", *words], input=stdin, env=env, capture_output=True, text=True
    )


def test_the_console_is_answered_and_the_status_counts(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")
    assert tau("init", home=chat.folder).returncode == 0
    config = {
        "inbound": {
            "allowFrom": ["console:you"],
            "timestampPrefix": False,
            "reply": {
                "agent": {"kind": "claude", "identityPrefix": ""},
                "command": [str(chat.folder / "claude")],
            },
        }
    }
    (chat.folder / "relay.json").write_text(json.dumps(config))
    done = tau("run", "--channel", "console", stdin="/help\nhello\n", home=chat.folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("hello\n")
    counts = json.loads(tau("status", "--json", home=chat.folder).stdout)["counts"]
    assert counts == {"in answered": 2, "out sent": 2}


def test_a_bad_config_lists_all_problems_and_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "relay.json").write_text("{inbound: {x: 1}, y: 2}")
    for verb in ("run", "check", "show"):
        done = tau(verb, home=tmp_path)
        assert done.returncode == 2
        assert done.stderr.count("\n- ") == 3
        assert "Traceback" not in done.stderr


def test_a_missing_config_says_how_to_make_one(tmp_path: Path) -> None:
    done = tau("run", home=tmp_path)
    assert done.returncode == 2
    assert "tau relay init" in done.stderr


def test_the_version_loads_no_relay_module() -> None:
    code = "import sys; sys.argv = ['tau', '--version']\nfrom tau.cli.main import main\nmain()\n"
    code += "print([name for name in sys.modules if 'relay' in name])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.endswith("[]\n")


@contextmanager
def running(chat: Chat, config: dict[str, Any]) -> Iterator[subprocess.Popen[str]]:
    """A relay on the console that waits for input."""
    (chat.folder / "relay.json").write_text(json.dumps(config))
    env = {**os.environ, "TAU_RELAY_HOME": str(chat.folder)}
    command = [sys.executable, "-m", "tau", "relay", "run", "--channel", "console", "--verbose"]
    with subprocess.Popen(command, env=env, stdin=PIPE, stdout=PIPE, stderr=PIPE, text=True) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("hello\n")
        process.stdin.flush()
        assert process.stdout.readline() == "hello\n"
        try:
            yield process
        finally:
            process.stdin.close()
            process.wait(HANG_S)
            process.stdout.close()
            assert process.stderr is not None
            process.stderr.close()


def console_config(chat: Chat) -> dict[str, Any]:
    agent = {"kind": "claude", "identityPrefix": ""}
    reply = {"agent": agent, "command": [str(chat.folder / "claude")]}
    return {"inbound": {"allowFrom": ["console:you"], "timestampPrefix": False, "reply": reply}}


def test_messages_and_heartbeats_go_over_the_running_relay(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")
    with running(chat, console_config(chat)) as process:
        assert process.stdout is not None
        assert stat.S_IMODE(chat.home.socket.stat().st_mode) == 0o600
        sent = tau("send", "--to", "console:console", "-m", "dinner", "--json", home=chat.folder)
        assert json.loads(sent.stdout)["via"] == "relay"
        assert process.stdout.readline() == "dinner\n"
        wrong = tau("send", "--to", "xmpp:ann@x.org", "-m", "hi", home=chat.folder)
        assert (wrong.returncode, wrong.stderr) == (1, "tau: The running relay does not answer on xmpp.\n")
        dry = tau("heartbeat", "--dry-run", home=chat.folder)
        assert dry.stdout == "[dry-run] would ask in console:you\n"
        beat = tau("heartbeat", "--json", home=chat.folder)
        assert json.loads(beat.stdout)["asked"] == ["console:you"]
        assert process.stdout.readline() == "HEARTBEAT\n"
        assert "console:you" in tau("sessions", home=chat.folder).stdout
        assert "out sent: 3" in tau("status", home=chat.folder).stdout
        assert "A relay already runs" in tau("run", home=chat.folder).stderr
    assert not chat.home.socket.exists()


def test_a_message_is_sent_without_a_relay(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")
    (chat.folder / "relay.json").write_text(json.dumps(console_config(chat)))
    (tmp_path / "cat.txt").write_text("meow")
    assert tau("send", "-t", "console:x", "-m", "hi", home=chat.folder).stdout.startswith("hi\n")
    media = tau("send", "-t", "console:x", "--media", str(tmp_path / "cat.txt"), home=chat.folder)
    assert "text/plain, 4 bytes: cat.txt" in media.stdout
    dry = tau("send", "-t", "console:x", "-m", "hi", "--dry-run", home=chat.folder)
    assert dry.stdout == "[dry-run] would send via console -> x: hi\n"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["send", "-m", "hi"], "Usage: tau relay send"),
        (["send", "-t", "ann", "-m", "hi"], "does not say where to"),
        (["send", "-t", "xmpp:ann@x.org", "-m", "hi"], "The config has no account for xmpp"),
        (["send", "-t", "console:x", "--media", "/no/such/file"], "cannot be read"),
        (["heartbeat"], "No relay is running"),
        (["login"], "Name the channel with --channel"),
        (["logout", "--channel", "xmpp"], "remove it there"),
        (["tmux", "detach"], "Usage: tau relay tmux"),
        (["webhook"], "twilio.publicUrl must be"),
        (["run", "--interval", "0"], "twilio.pollSeconds: must be a whole number from 1, not 0."),
        (["run", "--web-retry-max", "1"], "web.reconnect.maxMs: must be at least"),
        (["status"], "The relay has not run yet."),
        (["nothing"], "usage"),
    ],
)
def test_a_mistake_is_one_clear_sentence(
    tmp_path: Path,
    words: list[str],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    chat = Chat(tmp_path / "r")
    (chat.folder / "relay.json").write_text(json.dumps(console_config(chat)))
    for name in ("TWILIO_ACCOUNT_SID", "TWILIO_AUTH_TOKEN", "TWILIO_WHATSAPP_FROM"):
        monkeypatch.setenv(name, "value")
    monkeypatch.setenv("TAU_RELAY_HOME", str(chat.folder))
    try:
        code, said = relay_command.run(words), ""
    except TauError as error:
        code, said = 1, str(error)
    assert code in (1, 2)
    assert problem.lower() in (said + capsys.readouterr().err).lower()


def test_a_socket_of_someone_else_is_not_used(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")
    (chat.folder / "relay.json").write_text(json.dumps(console_config(chat)))
    chat.home.socket.write_text("not a socket")
    assert "is not a socket of yours" in tau("heartbeat", home=chat.folder).stderr


def test_the_doctor_names_what_is_missing(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")
    config = console_config(chat)
    config["inbound"]["reply"]["command"] = ["no-such-agent"]
    (chat.folder / "relay.json").write_text(json.dumps(config))
    done = tau("doctor", home=chat.folder)
    assert done.returncode == 1
    assert "BAD  agent claude: no-such-agent cannot be started: No such file or directory" in done.stdout
    assert "BAD  login: none found; log in with claude" in done.stdout
    found = {one["what"]: one["ok"] for one in json.loads(tau("doctor", "--json", home=chat.folder).stdout)}
    assert found["relay"] and found["channel console"] and not found["login"]


def test_the_webhook_shows_what_it_would_do_and_systemd_gets_a_unit(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "r")
    (chat.folder / "relay.json").write_text(json.dumps(console_config(chat)))
    words = ("webhook", "--port", "4000", "--path", "/x", "--ingress", "tailscale", "--dry-run")
    assert tau(*words, home=chat.folder).stdout == (
        "[dry-run] would listen on port 4000 at /x, reached by tailscale\n"
    )
    assert "ExecStart=" in tau("systemd", home=chat.folder).stdout


@pytest.mark.parametrize(
    ("channel", "package", "config"),
    [
        ("xmpp", "slixmpp", {"jid": "a@localhost", "password": "x"}),
        ("telegram", "telegram", {"token": "1:x"}),
        ("whatsapp", "neonize", {"enabled": True}),
    ],
)
def test_a_missing_extra_is_named(tmp_path: Path, channel: str, package: str, config: dict[str, Any]) -> None:
    chat = Chat(tmp_path / "r")
    (chat.folder / "relay.json").write_text(json.dumps({**console_config(chat), channel: config}))
    code = f"import sys; sys.modules[{package!r}] = None; sys.argv = ['tau', 'relay', 'run']\n"
    code += "from tau.cli.main import main\nsys.exit(main())"
    env = {**os.environ, "TAU_RELAY_HOME": str(chat.folder)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert f"pip install 'tau-agent[{channel}]'" in done.stderr
    assert "Traceback" not in done.stderr
