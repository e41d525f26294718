"""Saving one setting: how values are typed, and that nothing else in the file changes."""

import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import ConfigError, UsageError
from tau.config.layers import load_settings
from tau.config.paths import Paths
from tau.config.setting_values import reset_setting, set_setting
from tests.support.limits import HANG_S


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "home")


def content(paths: Paths) -> Any:
    return json.loads(paths.settings.read_text())


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("retry.enabled", "false", False),
        ("retry.maxRetries", "10", 10),
        ("defaultModel", "claude-sonnet", "claude-sonnet"),
        ("defaultModel", '"quoted text"', "quoted text"),
        ("defaultModel", "10", "10"),
        ("defaultModel", "true", "true"),
        ("defaultModel", "null", None),
        ("defaultModel", "", ""),
        ("defaultModel", '{"not": "text"}', '{"not": "text"}'),
        ("enabledModels", '["a", "b"]', ["a", "b"]),
        ("tools.approvalMode", "ask", "ask"),
        ("tools.approvalMode", '"yolo"', "yolo"),
    ],
)
def test_values_are_parsed_by_the_type_of_their_setting(
    paths: Paths, key: str, text: str, value: Any
) -> None:
    assert set_setting(paths, key, text) == value
    loaded = load_settings(paths, paths.home)
    assert loaded.origin(key).layer == "user"
    found = content(paths)
    for part in key.split("."):
        found = found[part]
    assert found == value


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("retry.enabled", "maybe", 'must be true or false, not "maybe"'),
        ("retry.enabled", "1", "must be true or false, not 1"),
        ("retry.maxRetries", "many", "a whole number from 0 to 100"),
        ("retry.maxRetries", "101", "a whole number from 0 to 100"),
        ("retry.maxRetries", "1.5", "a whole number"),
        ("tools.approvalMode", "never", "one of ask, workspace, plan, yolo"),
        ("enabledModels", "claude-*", 'Write it as JSON: \'["first", "second"]\''),
        ("retry.enable", "true", "Did you mean retry.enabled?"),
        ("approvalmode", "ask", "Did you mean tools.approvalMode?"),
        ("retry", "{}", "Did you mean retry.enabled or"),
        ("zzz", "1", "tau config list"),
    ],
)
def test_wrong_value_or_key_is_refused_with_the_allowed_ones(
    paths: Paths, key: str, text: str, message: str
) -> None:
    with pytest.raises(UsageError) as caught:
        set_setting(paths, key, text)
    assert message in str(caught.value)
    assert not paths.settings.exists()


def test_everything_else_in_the_file_is_kept(paths: Paths) -> None:
    paths.home.mkdir(parents=True)
    paths.settings.write_text(
        '{"zzz": {"big": 123456789012345678901234567890, "exp": 1e5, "twice": 1, "twice": 2},\n'
        ' "stream": {"unknown": [1.00], "idleTimeoutMs": 5},\n "retry.enabled": true, "ü": "\\u00fc"}'
    )
    set_setting(paths, "stream.idleTimeoutMs", "6")
    set_setting(paths, "retry.enabled", "false")
    set_setting(paths, "retry.maxRetries", "3")
    set_setting(paths, "stream.connectTimeoutMs", "4")
    assert paths.settings.read_text() == (
        "{\n"
        '  "zzz": {\n'
        '    "big": 123456789012345678901234567890,\n'
        '    "exp": 1e5,\n'
        '    "twice": 1,\n'
        '    "twice": 2\n'
        "  },\n"
        '  "stream": {\n'
        '    "unknown": [\n'
        "      1.00\n"
        "    ],\n"
        '    "idleTimeoutMs": 6,\n'
        '    "connectTimeoutMs": 4\n'
        "  },\n"
        '  "retry.enabled": false,\n'
        '  "ü": "\\u00fc",\n'
        '  "retry": {\n'
        '    "maxRetries": 3\n'
        "  }\n"
        "}\n"
    )


def test_duplicate_key_is_changed_in_both_places(paths: Paths) -> None:
    paths.home.mkdir(parents=True)
    paths.settings.write_text('{"retry": {"enabled": true}, "retry.enabled": true}')
    set_setting(paths, "retry.enabled", "false")
    assert content(paths) == {"retry": {"enabled": False}, "retry.enabled": False}
    assert reset_setting(paths, "retry.enabled")
    assert content(paths) == {}


def test_reset_removes_one_key_and_its_empty_group(paths: Paths) -> None:
    set_setting(paths, "retry.enabled", "false")
    set_setting(paths, "retry.maxRetries", "1")
    set_setting(paths, "bash.timeoutSeconds", "2")
    assert reset_setting(paths, "retry.enabled")
    assert reset_setting(paths, "bash.timeoutSeconds")
    assert content(paths) == {"retry": {"maxRetries": 1}}
    before = paths.settings.stat()
    assert not reset_setting(paths, "retry.enabled")
    assert paths.settings.stat() == before


def test_reset_without_a_file_creates_none(paths: Paths) -> None:
    assert not reset_setting(paths, "retry.enabled")
    assert not paths.home.exists()


def test_reset_removes_unknown_keys(paths: Paths) -> None:
    paths.home.mkdir(parents=True)
    paths.settings.write_text('{"old": {"thing": 1, "kept": 2}}')
    assert reset_setting(paths, "old.thing")
    assert content(paths) == {"old": {"kept": 2}}
    with pytest.raises(UsageError, match="Unknown setting"):
        reset_setting(paths, "old.thing")


@pytest.mark.parametrize("broken", ['{"a": 1,}', "[]", '{"a": 1', "// x"])
def test_broken_file_is_never_overwritten(paths: Paths, broken: str) -> None:
    paths.home.mkdir(parents=True)
    paths.settings.write_text(broken)
    with pytest.raises(ConfigError):
        set_setting(paths, "retry.enabled", "false")
    with pytest.raises(ConfigError):
        reset_setting(paths, "retry.enabled")
    assert paths.settings.read_text() == broken


def test_group_that_is_not_an_object_is_not_overwritten(paths: Paths) -> None:
    paths.home.mkdir(parents=True)
    paths.settings.write_text('{"retry": 5}')
    with pytest.raises(ConfigError, match="not an object"):
        set_setting(paths, "retry.enabled", "false")
    assert content(paths) == {"retry": 5}


def test_linked_settings_file_stays_a_link_and_keeps_its_mode(paths: Paths) -> None:
    paths.home.mkdir(parents=True)
    real = paths.home / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    paths.settings.symlink_to(real)
    set_setting(paths, "retry.enabled", "false")
    assert paths.settings.is_symlink()
    assert json.loads(real.read_text()) == {"retry": {"enabled": False}}
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_full_disk_during_a_save_keeps_the_old_file(paths: Paths, monkeypatch: pytest.MonkeyPatch) -> None:
    set_setting(paths, "defaultModel", "old")
    before = paths.settings.read_bytes()
    write = os.write

    def fill_up(fd: int, data: Any) -> int:
        if len(data) > 10:
            return write(fd, bytes(data)[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", fill_up)
    with pytest.raises(ConfigError, match="No space left on device"):
        set_setting(paths, "defaultModel", "new")
    monkeypatch.undo()
    assert paths.settings.read_bytes() == before
    assert {path.name for path in paths.home.iterdir()} == {"settings.json", "settings.json.lock"}


LIMITED = """
import resource, sys
from pathlib import Path
from tau.base.errors import ConfigError
from tau.config.paths import Paths
from tau.config.setting_values import set_setting
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
try:
    set_setting(Paths(Path(sys.argv[1])), "defaultModel", "x" * 1000)
except ConfigError as error:
    print(error)
"""


def test_write_cut_off_by_the_kernel_keeps_the_old_file(paths: Paths) -> None:
    set_setting(paths, "defaultModel", "old")
    before = paths.settings.read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(paths.home)], capture_output=True, text=True, timeout=HANG_S
    )
    assert done.returncode == 0, done.stderr
    assert "it is unchanged: File too large" in done.stdout
    assert paths.settings.read_bytes() == before
    assert {path.name for path in paths.home.iterdir()} == {"settings.json", "settings.json.lock"}
