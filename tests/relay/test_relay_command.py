"""`tau relay` as a program."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.relay.chat import Chat


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
