"""`tau rules` lists, shows and tries rules."""

import json
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.rules_command import run


@pytest.fixture
def rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "no-print.md"
    path.write_text("---\ncondition: ['print\\(', '((']\nscope: tool:write(*.py)\n---\nUse the logger.\n")
    return path


def test_list_names_rules_that_come_with_tau(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 0
    assert "secret-in-file: watches the stream (comes with tau)" in capsys.readouterr().out
    assert run(["list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 15


def test_show_prints_fields_and_text(rule: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show", rule.name]) == 0
    shown = capsys.readouterr().out
    assert "tool:write(*.py)" in shown and shown.endswith("Use the logger.\n")


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["--path", "a.py", "x = print(1)"], 0, "matches at character 5: print("),
        (["--path", "a.py", "x"], 1, "Nothing matches."),
        (["print(1)"], 0, "Its globs need a file: add --path."),
        (["--path", "a.rs", "print(1)"], 0, "Its globs do not cover a.rs."),
        (["--source", "text", "print(1)"], 0, "Its scope does not cover text."),
        (["--path", "a.py", "x"], 1, "the condition (( is not valid"),
    ],
)
def test_test_says_what_matches_and_why_nothing_can(
    rule: Path, arguments: list[str], code: int, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["test", rule.name, *arguments]) == code
    assert line in capsys.readouterr().out


@pytest.mark.parametrize(
    "argv", [["show"], ["test", "x"], ["show", "missing"], ["forget"], ["list", "--all"]]
)
def test_wrong_use_is_one_sentence(argv: list[str], rule: Path) -> None:
    with pytest.raises(UsageError):
        run(argv)


def test_only_rules_that_interrupt_wait_for_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".git").mkdir()
    rules = tmp_path / ".tau/rules"
    rules.mkdir(parents=True)
    (rules / "stops.md").write_text("---\ncondition: x\n---\nNo x.\n")
    (rules / "listed.md").write_text("---\ndescription: d\n---\nText.\n")
    (rules / "nowhere.md").write_text("---\ncondition: x\nscope: screen\nalwaysApply: true\n---\nText.\n")
    monkeypatch.chdir(tmp_path)
    assert run([]) == 0
    lines = capsys.readouterr().out.splitlines()
    after = {line.partition(":")[0]: lines[at + 1] for at, line in enumerate(lines[:-1]) if line[0] != " "}
    assert "waits until you trust" in after["stops"] and "waits" not in after["listed"]
    assert any(line.startswith("nowhere: in every prompt") for line in lines)
    assert 'the scope "screen" is not' in after["nowhere"]


def test_rule_of_a_stranger_does_not_hide_one_that_comes_with_tau(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    path = tmp_path / ".tau/rules/secret-in-file.md"
    path.parent.mkdir(parents=True)
    path.write_text("---\ncondition: never\n---\nx\n")
    assert run([]) == 0
    assert "secret-in-file: watches the stream (comes with tau)" in capsys.readouterr().out
