"""`tau config` as a user sees it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tau.base.errors import ConfigError, UsageError
from tau.cli import main
from tau.cli.config_command import run
from tau.config.paths import user_paths
from tau.config.setting_table import describe_settings
from tests.support.limits import HANG_S

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project in which the commands run."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".tau").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / ".tau" / "settings.json"


def settings_file() -> Path:
    return user_paths().settings


def test_empty_text_was_listed_as_nothing(project: Path, capsys: Capture) -> None:
    run(["set", "python.interpreter", ""])
    run(["list"])
    rows = {line.split()[0]: line.split()[1] for line in capsys.readouterr().out.splitlines()[1:]}
    assert rows["python.interpreter"] == '""'


def test_role_that_an_error_names_can_be_set(project: Path, capsys: Capture) -> None:
    """`tau config set modelRoles.vision` was refused as an unknown setting."""
    run(["set", "modelRoles.vision", "openai/gpt-5.4"])
    run(["set", "modelRoles.smol", "claude-haiku-4-5"])
    run(["set", "edit.modelModes.gpt-4.1*", "patch"])
    assert json.loads(settings_file().read_text()) == {
        "modelRoles": {"vision": "openai/gpt-5.4", "smol": "claude-haiku-4-5"},
        "edit": {"modelModes": {"gpt-4.1*": "patch"}},
    }
    capsys.readouterr()
    run(["get", "modelRoles.vision"])
    run(["get", "edit.modelModes.gpt-4.1*", "--json"])
    run(["reset", "modelRoles.smol"])
    run(["get", "modelRoles"])
    text = capsys.readouterr().out
    assert text.startswith("openai/gpt-5.4\n") and text.endswith('{"vision":"openai/gpt-5.4"}\n')
    assert '"origin": "user"' in text and '"value": "patch"' in text
    with pytest.raises(UsageError, match=r"edit\.modelModes\.x must be one of hashline"):
        run(["set", "edit.modelModes.x", "fast"])


def test_member_of_a_map_may_be_written_with_dots(project: Path, capsys: Capture) -> None:
    settings_file().parent.mkdir(parents=True, exist_ok=True)
    settings_file().write_text('{"modelRoles.vision": "a/b", "modelRoles": {"smol": "c/d"}}')
    project.write_text('{"modelRoles.vision": "evil/x"}')
    run(["get", "modelRoles"])
    out, err = capsys.readouterr()
    assert json.loads(out) == {"vision": "a/b", "smol": "c/d"}
    assert "Ignored modelRoles: only you can set it" in err
    run(["set", "modelRoles.vision", "e/f"])
    assert json.loads(settings_file().read_text())["modelRoles.vision"] == "e/f"
    settings_file().write_text('{"modelRoles": {"smol": 5}}')
    with pytest.raises(ConfigError, match=r"modelRoles\.smol must be text, not 5"):
        run(["list"])


def test_list_shows_every_setting_with_its_value_and_where_it_comes_from(
    project: Path, capsys: Capture
) -> None:
    run(["set", "retry.maxRetries", "3"])
    project.write_text('{"read": {"defaultLimit": 7}, "edit.modelModes": {"a b": "patch"}}')
    capsys.readouterr()
    assert run(["list"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert len(lines) == 1 + len(describe_settings())
    rows = {line.split()[0]: line for line in lines}
    assert rows["retry.maxRetries"].split() == ["retry.maxRetries", "3", str(settings_file())]
    assert rows["read.defaultLimit"].split() == ["read.defaultLimit", "7", str(project)]
    assert rows["bash.timeoutSeconds"].split() == ["bash.timeoutSeconds", "300", "default"]
    assert rows["defaultModel"].split() == ["defaultModel", "-", "default"]
    starts = {line.index(line.split()[1]) for line in lines}
    assert len(starts) == 1
    assert "a b" in rows["edit.modelModes"]
    assert err == ""


def test_without_an_action_the_list_is_shown(capsys: Capture) -> None:
    run([])
    plain = capsys.readouterr().out
    run(["list"])
    assert capsys.readouterr().out == plain


def test_list_as_json_is_complete(capsys: Capture) -> None:
    run(["--json", "list"])
    rows = json.loads(capsys.readouterr().out)
    assert [row["key"] for row in rows] == [setting.key for setting in describe_settings()]
    approval = next(row for row in rows if row["key"] == "tools.approvalMode")
    assert approval == {
        "key": "tools.approvalMode",
        "value": "workspace",
        "origin": "default",
        "path": None,
        "default": "workspace",
        "type": "one of ask, workspace, plan, yolo",
        "scope": "tighten",
        "description": approval["description"],
    }


def test_set_get_and_reset(capsys: Capture) -> None:
    run(["set", "defaultModel", "claude-*"])
    assert capsys.readouterr().out == f"defaultModel is now claude-*, in {settings_file()}.\n"
    run(["get", "defaultModel"])
    run(["get", "retry.enabled"])
    assert capsys.readouterr().out == "claude-*\ntrue\n"
    run(["get", "defaultModel", "--json"])
    row = json.loads(capsys.readouterr().out)
    assert (row["value"], row["origin"], row["path"]) == ("claude-*", "user", str(settings_file()))
    run(["reset", "defaultModel"])
    assert "was removed from" in capsys.readouterr().out
    run(["reset", "defaultModel"])
    assert "is not set in" in capsys.readouterr().out
    run(["get", "defaultModel"])
    assert capsys.readouterr().out == "null\n"


def test_set_and_reset_as_json(capsys: Capture) -> None:
    run(["set", "retry.maxRetries", "4", "--json"])
    assert json.loads(capsys.readouterr().out)["value"] == 4
    run(["reset", "retry.maxRetries", "--json"])
    assert json.loads(capsys.readouterr().out)["value"] == 10


def test_value_may_start_with_a_dash(capsys: Capture) -> None:
    run(["set", "defaultModel", "-x"])
    assert json.loads(settings_file().read_text()) == {"defaultModel": "-x"}
    run(["set", "defaultModel", "--", "--json"])
    assert json.loads(settings_file().read_text()) == {"defaultModel": "--json"}


def test_saved_value_overridden_by_the_project_is_reported(project: Path, capsys: Capture) -> None:
    project.write_text('{"read.defaultLimit": 7}')
    run(["set", "read.defaultLimit", "8"])
    out, err = capsys.readouterr()
    assert out == f"read.defaultLimit is now 8, in {settings_file()}.\n"
    assert f"{project} overrides read.defaultLimit" in err


def test_warnings_go_to_stderr(project: Path, capsys: Capture) -> None:
    project.write_text('{"shellPath": "/bin/evil", "zzz": 1}')
    run(["list", "--json"])
    out, err = capsys.readouterr()
    assert json.loads(out)
    assert len(err.splitlines()) == 2
    assert "only you can set it" in err


def test_unknown_key_can_be_removed(capsys: Capture) -> None:
    user_paths().home.mkdir(parents=True)
    settings_file().write_text('{"zzz": 1}')
    run(["reset", "zzz"])
    out, err = capsys.readouterr()
    assert out.startswith("zzz was removed from")
    assert err == ""
    settings_file().write_text('{"zzz": 1}')
    run(["reset", "zzz", "--json"])
    assert json.loads(capsys.readouterr().out) == {"key": "zzz", "value": None}


def test_path_works_even_if_the_file_is_broken(project: Path, capsys: Capture) -> None:
    user_paths().home.mkdir(parents=True)
    settings_file().write_text("{")
    run(["path"])
    assert capsys.readouterr().out == f"{settings_file()}\n"
    run(["path", "--json"])
    places = json.loads(capsys.readouterr().out)
    assert (places["settings"], places["project"]) == (str(settings_file()), str(project))
    with pytest.raises(ConfigError, match=r"settings\.json:1: "):
        run(["list"])
    with pytest.raises(ConfigError):
        run(["set", "retry.enabled", "true"])
    assert settings_file().read_text() == "{"


def test_schema_prints_a_json_schema(capsys: Capture) -> None:
    run(["schema"])
    assert json.loads(capsys.readouterr().out)["properties"]["retry"]


def test_help_names_every_action(capsys: Capture) -> None:
    for option in ("--help", "-h"):
        assert main.run(["config", option]) == 0
        out = capsys.readouterr().out
        assert all(f"tau config {action}" in out for action in ("list", "get", "set", "reset", "path"))


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["frobnicate"], "use one of list, get, set, reset, path"),
        (["get"], "Usage: tau config get KEY."),
        (["set", "retry.enabled"], "Usage: tau config set KEY VALUE."),
        (["set", "defaultModel", "two", "words"], "Usage: tau config set KEY VALUE."),
        (["list", "--yaml"], 'Unknown flag "--yaml"'),
        (["get", "retry.enable"], "Did you mean retry.enabled?"),
        (["set", "tools.approvalMode", "never"], "one of ask, workspace, plan, yolo"),
    ],
)
def test_invalid_use_is_one_clear_line(argv: list[str], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        run(argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_command_does_not_load_asyncio() -> None:
    code = "import sys; from tau.cli.config_command import run; run(['set', 'retry.enabled', 'false'])"
    check = "; run(['list']); print('asyncio' in sys.modules or 'argparse' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code + check],
        capture_output=True,
        text=True,
        env=dict(os.environ),
        timeout=HANG_S,
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr
