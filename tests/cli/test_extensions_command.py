"""`tau extensions`: what was found, what is not used and why, and switching it off."""

import json
import os
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.extensions_command import run
from tests.coding.skills.skill_files import put_skill


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a repository with something of each state."""
    repo = tmp_path / "repo"
    (repo / ".git").mkdir(parents=True)
    home = Path(os.environ["HOME"])
    put_skill(home / ".claude/skills/pdf", "Use when: there is a PDF")
    put_skill(home / ".agents/skills/pdf")
    put_skill(home / ".claude/skills/bad", "x")
    (home / ".claude/skills/bad/SKILL.md").write_text("---\nname: bad\n")
    (repo / ".tau/tools").mkdir(parents=True)
    (repo / ".tau/tools/deploy.py").write_text("raise SystemExit")
    (repo / "AGENTS.md").write_text("Use tabs.")
    monkeypatch.chdir(repo)
    return repo


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(words) == 0
    return capsys.readouterr().out


def test_list_says_where_things_are_from_and_why_they_are_not_used(
    repo: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = listed(capsys)
    assert "pdf (claude, user, " in text and "read line by line" in text
    assert "bad [invalid] (claude, user) " in text and "SKILL.md:1\n    The front matter has no" in text
    assert "deploy [waiting for trust] (native, project) " in text
    assert "agents-md/AGENTS.md (agents-md, project, " in text and "shadowed" not in text
    assert "pdf [shadowed] (agents, user)" in listed(capsys, "list", "--all")


def test_all_that_is_in_each_request_has_its_tokens(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = Path(os.environ["HOME"])
    put_skill(home / ".claude/skills/always", alwaysApply="true", body="Do this each time.")
    (home / ".claude/SYSTEM.md").write_text("You are a cat.")
    (repo / ".tau/rules").mkdir()
    (repo / ".tau/rules/brief.md").write_text("---\nalwaysApply: true\n---\nBe brief, always.\n")
    (repo / ".tau/rules/listed.md").write_text("---\ndescription: about APIs\n---\nText.\n")
    rows = {row["id"]: row["tokens"] for row in json.loads(listed(capsys, "list", "--json"))}
    names = ("skills:always", "system-prompt:SYSTEM", "rules:brief", "rules:listed")
    assert [rows[name] > 2 for name in names] == [True] * 4


def test_json_has_each_item(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["id"]: row for row in json.loads(listed(capsys, "list", "--json"))}
    assert rows["skills:pdf"]["tokens"] > 3 and rows["tools:deploy"]["state"] == "waiting"
    assert rows["skills:bad"]["line"] == 1


def test_items_and_providers_are_switched_off_and_on(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = Path(os.environ["TAU_HOME"]) / "settings.json"
    assert "tau extensions enable skills:pdf" in listed(capsys, "disable", "skills:pdf")
    assert "pdf" not in listed(capsys) and "pdf [off]" in listed(capsys, "list", "--all")
    assert json.loads(settings.read_text()) == {"disabledExtensions": ["skills:pdf"]}
    listed(capsys, "enable", "skills:pdf")
    listed(capsys, "disable", "claude")
    assert "pdf (agents, user, " in listed(capsys)
    assert json.loads(settings.read_text())["disabledProviders"] == ["claude"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("disable", "skills:nothing"), 'There is no "skills:nothing"'),
        (("enable", "claude"), '"claude" is not in disabledProviders'),
        (("enable",), "Usage: tau extensions"),
        (("show",), "Usage: tau extensions"),
        (("enable", "claude", "--all"), "Usage: tau extensions"),
    ],
)
def test_misuse_is_one_sentence(repo: Path, words: tuple[str, ...], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        run(words)


def test_empty_folders_say_where_files_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert listed(capsys).startswith("Nothing found.")


@pytest.mark.parametrize("trusted", [True, False])
def test_extension_that_only_a_pyproject_toml_names_is_listed_and_switched_off(
    repo: Path, capsys: pytest.CaptureFixture[str], trusted: bool
) -> None:
    plugins = Path(os.environ["TAU_HOME"]) / "plugins" if trusted else repo / ".tau/plugins"
    (plugins / "greeter").mkdir(parents=True)
    (plugins / "greeter/pyproject.toml").write_text('[tool.tau]\nextensions = ["hello.py"]\n')
    (plugins / "greeter/hello.py").write_text("def extension(tau):\n    pass\n")
    state, level = ("", "user") if trusted else (" [waiting for trust]", "project")
    row = f"greeter{state} (tau-plugins, {level}) {plugins}/greeter/hello.py"
    assert row in listed(capsys) and listed(capsys).count("greeter/hello.py") == 1
    listed(capsys, "disable", "extension-module:greeter")
    assert "greeter" not in listed(capsys) and "greeter [off] " in listed(capsys, "list", "--all")
    assert "greeter" not in listed(capsys, "time")


def test_extension_that_a_setting_names_is_listed(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "own.py").write_text("def extension(tau):\n    pass\n")
    settings = {"extensions": [str(repo / "own.py"), "/nowhere.py"]}
    home = Path(os.environ["TAU_HOME"])
    home.mkdir(parents=True)
    (home / "settings.json").write_text(json.dumps(settings))
    text = listed(capsys)
    assert f"own (settings, user) {repo}/own.py" in text
    assert "nowhere.py [invalid] (settings, user) /nowhere.py" in text


@pytest.mark.parametrize(
    "fault", ["pipe", "link", "tool = 3", '[tool.tau]\nextensions = ["../x", "\\u0000"]']
)
def test_hostile_pyproject_toml_of_a_repository_is_named(
    repo: Path, capsys: pytest.CaptureFixture[str], fault: str
) -> None:
    folder = repo / ".tau/plugins/bad"
    folder.mkdir(parents=True)
    file = folder / "pyproject.toml"
    if fault == "pipe":
        os.mkfifo(file)
    elif fault == "link":
        (repo.parent / "secret.toml").write_text("[tool.tau]\nextensions = ['x.py']")
        file.symlink_to(repo.parent / "secret.toml")
    else:
        file.write_text(fault)
    assert ("bad [invalid] (tau-plugins, project)" in listed(capsys)) == (fault != "pipe")
