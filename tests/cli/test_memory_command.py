"""`tau memory`: what people see and change."""

import json
import os
from pathlib import Path

import pytest

from tau.backends.memory.hindsight import HindsightError
from tau.base.errors import UsageError
from tau.cli.memory_command import run
from tau.config.paths import user_paths
from tests.support.fake_hindsight import hindsight_thread


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_add_search_edit_forget(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["add", "The", "cache", "is", "warm"]) == 0
    id = capsys.readouterr().out.strip()
    assert run(["search", "caches"]) == 0 and id in capsys.readouterr().out
    assert run(["edit", id, "The queue is warm"]) == 0 and run(["search", "cache"]) == 1
    capsys.readouterr()
    run(["show", id])
    assert capsys.readouterr().out.startswith("The queue is warm\n")
    run(["list", "--json"])
    assert [item["id"] for item in json.loads(capsys.readouterr().out)] == [id]
    assert run(["stats"]) == 0 and run(["doctor"]) == 0
    assert run(["forget", id]) == 0 and run(["list"]) == 0
    assert capsys.readouterr().out.endswith("No memories.\n")


def test_an_export_can_be_imported_twice(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["add", "one"])
    run(["add", "two"])
    run(["export", "out.jsonl"])
    run(["clear", "--yes"])
    capsys.readouterr()
    assert run(["import", "out.jsonl"]) == 0 and run(["import", "out.jsonl"]) == 0
    assert capsys.readouterr().out == "Added 2 of 2 memories.\nAdded 0 of 2 memories.\n"


def test_a_folder_of_markdown_is_imported(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (project / "memory").mkdir()
    (project / "memory" / "MEMORY.md").write_text("Prefer tabs in Makefiles.\n")
    run(["import", "memory"])
    assert run(["search", "makefile"]) == 0 and "Prefer tabs" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [[], ["show"], ["nope"], ["show", "x"], ["clear"], ["clear", "--yes", "--scope", "all"], ["import", "x"]],
)
def test_misuse_is_reported(words: list[str]) -> None:
    with pytest.raises(UsageError):
        run(words)


def test_a_bad_line_of_an_import_is_named_and_nothing_is_stored(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "x.jsonl").write_text('{"text": "good"}\n{"text": 3}\n')
    with pytest.raises(UsageError, match=r"x\.jsonl:2"):
        run(["import", "x.jsonl"])
    run(["list"])
    assert capsys.readouterr().out == "No memories.\n"


def test_an_import_neither_waits_for_pipes_nor_follows_links_out(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = project / "notes"
    notes.mkdir()
    (project / "secret").write_text("the key of the safe")
    (notes / "a.md").symlink_to(project / "secret")
    (notes / "b.md").symlink_to("c.md")
    (notes / "c.md").write_text("one fact")
    os.mkfifo(notes / "d.md")
    run(["import", "notes"])
    run(["list"])
    shown = capsys.readouterr().out
    assert "one fact" in shown and "safe" not in shown


def test_with_hindsight_the_server_is_searched_and_asked(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with hindsight_thread() as server:
        save_settings({"memory": {"backend": "hindsight"}, "hindsight": {"apiUrl": server.url}})
        assert run(["add", "The cache is warm"]) == 0 and run(["search", "cache"]) == 0
        out = capsys.readouterr().out
        assert out.startswith("1 memory queued.\n- The cache is warm [world] (20")
        assert run(["search", "zebra"]) == 1 and run(["stats"]) == 0 and run(["doctor"]) == 0
        out = capsys.readouterr().out
        assert "1 memory in the bank tau at 127.0.0.1" in out and "0 waiting to be sent" in out
        with pytest.raises(UsageError, match="tau memory has search, add, stats, doctor"):
            run(["forget", "1"])
        server.fail = lambda asked: (500, b"")
        assert run(["add", "The queue is cold"]) == 0
        assert "until the Hindsight server takes them" in capsys.readouterr().err
        with pytest.raises(HindsightError, match="status 500"):
            run(["doctor"])
        server.fail = lambda asked: None
        assert run(["doctor"]) == 0 and server.texts == ["The cache is warm", "The queue is cold"]


def save_settings(values: dict[str, object]) -> None:
    path = user_paths(os.environ).settings
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(values))
