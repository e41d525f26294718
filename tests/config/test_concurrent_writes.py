"""Many processes saving at once: the files are always valid and no key is lost."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tau.config.auth_file import AuthFile
from tau.config.layers import load_settings
from tau.config.paths import Paths
from tau.config.setting_values import set_setting

KEYS = [
    *("retry.maxRetries", "retry.baseDelayMs", "retry.maxDelayMs", "stream.connectTimeoutMs"),
    *("stream.firstEventTimeoutMs", "stream.idleTimeoutMs", "tools.artifactSpillThreshold"),
    "tools.outputMaxColumns",
    *(
        "bash.timeoutSeconds",
        "read.defaultLimit",
        "defaultProvider",
        "defaultModel",
        "shellPath",
        "sessionDir",
    ),
]

SETTINGS_WRITER = """
import sys
from pathlib import Path
from tau.config.paths import Paths
from tau.config.setting_values import reset_setting, set_setting
home, key, count = sys.argv[1:]
paths = Paths(Path(home))
for number in range(1, int(count) + 1):
    if number % 10 == 0:
        reset_setting(paths, key)
    set_setting(paths, key, str(number % 90 + 1))
"""

AUTH_WRITER = """
import sys
from pathlib import Path
from tau.config.auth_file import AuthFile
home, name, count = sys.argv[1:]
auth = AuthFile(Path(home) / "auth.json")
for number in range(1, int(count) + 1):
    auth.set_key(f"{name}-{number}", f"key-{name}-{number}")
    auth.set_key("shared", name)
    assert auth.remove(f"{name}-{number}") is True
    auth.set_key(f"{name}-{number}", f"key-{name}-{number}")
"""


def run_writers(script: str, home: Path, names: list[str], count: int, check: Any) -> None:
    """Start one writer per name, and keep reading the file."""
    command = [sys.executable, "-c", script, str(home)]
    writers = [
        subprocess.Popen([*command, name, str(count)], stderr=subprocess.PIPE, text=True) for name in names
    ]
    try:
        while any(writer.poll() is None for writer in writers):
            check()
            time.sleep(0.002)
    finally:
        problems = []
        for writer in writers:
            writer.kill()
            problems.append(writer.communicate()[1])
    assert [writer.returncode for writer in writers] == [0] * len(writers), problems


def write_settings(home: Path, processes: int, count: int) -> None:
    paths = Paths(home)
    set_setting(paths, "retry.enabled", "false")
    paths.settings.write_text('{"unknown": {"kept": 1e3}, "retry": {"enabled": false}}')
    names = [KEYS[number % len(KEYS)] for number in range(processes)]
    run_writers(SETTINGS_WRITER, home, names, count, lambda: load_settings(paths, home))
    content = json.loads(paths.settings.read_text())
    assert content["unknown"] == {"kept": 1000}
    assert content["retry"]["enabled"] is False
    last = count % 90 + 1
    for key in KEYS:
        group, dot, name = key.partition(".")
        assert content[group][name] == last if dot else content[group] == str(last)


def write_auth(home: Path, processes: int, count: int) -> None:
    home.mkdir()
    auth = AuthFile(home / "auth.json")
    auth.set_key("first", "kept")
    names = [f"writer{number}" for number in range(processes)]

    def check() -> None:
        assert auth.get("first") == "kept"

    run_writers(AUTH_WRITER, home, names, count, check)
    content = json.loads(auth.path.read_text())
    shared = content.pop("shared")
    assert shared["key"] in names
    wanted = {f"{name}-{number}": f"key-{name}-{number}" for name in names for number in range(1, count + 1)}
    assert {name: entry["key"] for name, entry in content.items()} == {"first": "kept", **wanted}
    assert auth.path.stat().st_mode & 0o777 == 0o600


def test_twenty_processes_saving_settings_lose_nothing(tmp_path: Path) -> None:
    write_settings(tmp_path / "home", 20, 20)


def test_twenty_processes_saving_keys_lose_nothing(tmp_path: Path) -> None:
    write_auth(tmp_path / "home", 20, 5)  # four writes each time


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_twenty_processes_saving_settings_for_long_lose_nothing(tmp_path: Path) -> None:
    write_settings(tmp_path / "home", 20, 400)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_twenty_processes_saving_keys_for_long_lose_nothing(tmp_path: Path) -> None:
    write_auth(tmp_path / "home", 20, 100)
