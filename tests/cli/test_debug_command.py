"""`tau debug adapters` and `tau doctor` say what is there, what is missing, and how to install it."""

import json
import os
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli import debug_command, doctor_command


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "main.go").touch()
    return tmp_path


def test_a_missing_adapter_comes_with_its_command(capfd: pytest.CaptureFixture[str]) -> None:
    assert debug_command.run(["adapters"]) == 0
    text = capfd.readouterr().out
    assert "dlv: dlv is not installed: go install github.com/go-delve/delve/cmd/dlv@latest" in text
    assert "No installed debug adapter fits this folder" in text
    doctor_command.run(["--json"])
    rows = [row for row in json.loads(capfd.readouterr().out)["checks"] if row["name"] == "debug"]
    assert any("go install" in row["text"] for row in rows)


def test_an_installed_adapter_is_listed(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "elsewhere").mkdir()
    os.environ["PATH"] = "/usr/bin-of-tests"
    assert debug_command.run(["--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert {"name", "state", "why"} <= data["adapters"][0].keys()


def test_wrong_words_are_refused() -> None:
    with pytest.raises(UsageError, match="tau debug"):
        debug_command.run(["the", "tests"])
