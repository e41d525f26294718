"""`tau hooks` lists command hooks, tries them on a sample and turns them off."""

import json
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.hooks_command import REFUSED, run
from tests.ext.hooks.rig import events, hook, user_hooks


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> "Shown":
    monkeypatch.chdir(tmp_path)
    return Shown(capsys)


class Shown:
    """Runs the command, and keeps what it printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *argv: str, code: int = 0) -> str:
        assert run(list(argv)) == code
        return self._capsys.readouterr().out


def test_list_shows_each_hook_with_its_file_and_its_fault(shown: Shown) -> None:
    assert "There are no command hooks" in shown()
    user_hooks(events(PreToolUse=("Bash", hook("exit 0"), {"type": "command"}), Elicitation=[hook("true")]))
    text = shown("list")
    assert "Bash: exit 0" in text and "settings.json:" in text
    assert 'no "command"' in text and "not supported" in text
    assert [row["event"] for row in json.loads(shown("--json"))] == [
        "PreToolUse",
        "PreToolUse",
        "Elicitation",
    ]


def test_test_runs_the_hooks_of_an_event_on_a_sample(shown: Shown) -> None:
    user_hooks(events(PreToolUse=("Bash", hook("grep -q 'rm -rf' && { echo no >&2; exit 2; }; exit 0"))))
    assert "had no objection" in shown("test", "PreToolUse")
    assert "blocked (no)" in shown(
        "test", "PreToolUse", "--tool", "Bash", '{"command": "rm -rf x"}', code=REFUSED
    )
    assert shown("test", "PreToolUse", "--tool", "Read") == "No hook of PreToolUse matches.\n"
    assert shown("test", "Stop") == "No hook of Stop matches.\n"
    with pytest.raises(UsageError, match="is not an event of hooks"):
        run(["test", "Nothing"])


def test_test_names_hooks_that_wait_for_trust(tmp_path: Path, shown: Shown) -> None:
    (tmp_path / ".git").mkdir()
    path = tmp_path / ".tau/hooks.json"
    path.parent.mkdir()
    path.write_text(json.dumps(events(PreToolUse=[hook(f"touch {tmp_path}/ran")])))
    assert "waits until you trust this repository" in shown("test", "PreToolUse")
    assert not (tmp_path / "ran").exists()


def test_disabled_hook_is_off_until_it_is_enabled(shown: Shown) -> None:
    user_hooks(events(PreToolUse=[hook("exit 2")]))
    (row,) = json.loads(shown("--json"))
    shown("disable", row["id"])
    assert f"{row['id']} (" in shown("test", "PreToolUse") and "off" in shown("list")
    shown("enable", row["id"])
    assert "blocked" in shown("test", "PreToolUse", code=REFUSED)
    with pytest.raises(UsageError, match="no hook"):
        run(["disable", "other"])
