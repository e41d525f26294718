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
