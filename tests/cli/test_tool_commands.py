"""`tau read`, `tau grep`, `tau edit`: the user sees what the model gets."""

import io
import sys
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli import tool_commands


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    return tmp_path


def typed(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))


def test_read_shows_the_header_and_the_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert tool_commands.run("read", ["a.txt:2-2"]) == 0
    header, *rows = capfd.readouterr().out.splitlines()
    assert header.startswith("¶a.txt#") and rows == ["1:one", "2:two", "3:three"]


def test_grep_shows_the_matches_with_their_lines(capfd: pytest.CaptureFixture[str]) -> None:
    assert tool_commands.run("grep", ["tw", "a.txt"]) == 0
    assert "*2:two" in capfd.readouterr().out


def test_edit_typed_by_hand_is_applied(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool_commands.run("read", ["a.txt"])
    header = capfd.readouterr().out.splitlines()[0]
    typed(monkeypatch, f"{header}\nreplace 2..2:\n+TWO\n")

    assert tool_commands.run("edit", []) == 0

    assert (project / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert "+2:TWO" in capfd.readouterr().out


def test_json_object_is_a_whole_call(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAU_EDIT_MODE", "replace")
    typed(monkeypatch, '{"path": "a.txt", "old_text": "two", "new_text": "TWO"}')

    assert tool_commands.run("edit", []) == 0

    assert (project / "a.txt").read_text() == "one\nTWO\nthree\n"


def test_broken_json_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    typed(monkeypatch, '{"path')
    with pytest.raises(UsageError, match="Invalid JSON"):
        tool_commands.run("edit", [])


def test_edit_of_a_changed_file_is_refused(
    project: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tool_commands.run("read", ["a.txt"])
    header = capfd.readouterr().out.splitlines()[0]
    (project / "a.txt").write_text("something\nelse\n")
    typed(monkeypatch, f"{header}\nreplace 2..2:\n+TWO\n")

    assert tool_commands.run("edit", []) == 1

    assert (project / "a.txt").read_text() == "something\nelse\n"
    assert "a.txt" in capfd.readouterr().err


def test_failure_is_one_line_and_code_1(capfd: pytest.CaptureFixture[str]) -> None:
    assert tool_commands.run("read", ["nothing.txt"]) == 1
    assert capfd.readouterr().err == "tau: There is no file nothing.txt.\n"


@pytest.mark.parametrize(
    ("name", "words"), [("read", []), ("read", ["a", "b"]), ("grep", []), ("edit", ["x"])]
)
def test_invalid_use_says_what_to_type(name: str, words: list[str]) -> None:
    with pytest.raises(UsageError, match=f"tau {name}"):
        tool_commands.run(name, words)
