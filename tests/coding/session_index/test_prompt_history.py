"""Prompts to recall: stored, found, bounded, and never in the way."""

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tau.base import log
from tau.coding.session_index import database, prompt_history
from tau.coding.session_index.prompt_history import PromptHistory


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "history.db"


def texts(found: list[prompt_history.PastPrompt]) -> list[str]:
    return [one.text for one in found]


def test_newest_first_from_all_folders_or_one(path: Path) -> None:
    history = PromptHistory(path)
    for text, cwd in (("one", "/a"), ("two", "/b"), ("three", "/a")):
        history.add(text, Path(cwd))
    assert texts(history.recent()) == ["three", "two", "one"]
    assert texts(history.recent(limit=2)) == ["three", "two"]
    assert texts(history.recent(cwd="/a")) == ["three", "one"]
    assert history.recent()[1].cwd == "/b" and history.recent()[0].time_ms > 1_600_000_000_000
    history.close()
    again = PromptHistory(path)
    assert texts(again.recent(1)) == ["three"]
    again.close()


def test_repeated_prompt_is_recalled_once(path: Path) -> None:
    history = PromptHistory(path)
    for text in ("again", "again", " again\n", "other", "again"):
        history.add(text, "/a")
    assert texts(history.recent()) == ["again", "other"]
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT count(*) FROM prompts").fetchone() == (3,)
    db.close()
    history.close()


def test_search_requires_all_words(path: Path) -> None:
    history = PromptHistory(path)
    for text in ("Fix the naïve parser", "fix parse_arguments", "100% sure", "日本語のテスト"):
        history.add(text, "/a")
    assert texts(history.search("FIX pars")) == ["fix parse_arguments", "Fix the naïve parser"]
    assert texts(history.search("naive")) == ["Fix the naïve parser"]
    assert texts(history.search("parse_")) == ["fix parse_arguments"]
    assert texts(history.search("100%")) == ["100% sure"]
    assert texts(history.search("テスト")) == ["日本語のテスト"]
    assert texts(history.search('"; DROP TABLE prompts')) == []
    assert len(history.search("")) == 4 and len(history.search("fix", 1)) == 1
    history.close()


def test_empty_or_oversized_prompt_is_not_stored(path: Path) -> None:
    history = PromptHistory(path)
    for text in ("", "  \n", "x" * (prompt_history.MAX_PROMPT_BYTES + 1), "half \ud800 \0 pair"):
        history.add(text, "/a\udcff")
    (kept,) = history.recent()
    assert kept.text.startswith("half") and "\0" not in kept.text
    history.close()


def test_oldest_are_dropped_when_there_are_too_many(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_history, "MAX_PROMPTS", 50)
    history = PromptHistory(path)
    for number in range(200):
        history.add(f"prompt {number}", "/a")
    assert texts(history.recent(1_000)) == [f"prompt {number}" for number in range(199, 149, -1)]
    assert len(history.search("prompt", 1_000)) == 50
    history.close()


def test_database_is_private(path: Path) -> None:
    history = PromptHistory(path)
    history.add("secret", "/a")
    assert {stat.S_IMODE(one.stat().st_mode) for one in path.parent.iterdir()} == {0o600}
    history.close()


@pytest.mark.parametrize("damage", ["no database", "pages"])
def test_damaged_database_is_set_aside_and_replaced(path: Path, damage: str) -> None:
    history = PromptHistory(path)
    for number in range(300):
        history.add(f"old {number} {'x' * 100}", "/a")
    history.close()
    if damage == "no database":
        path.write_bytes(b"no database" * 1000)
    else:
        with path.open("r+b") as file:
            file.seek(4096)
            file.write(b"\xa5" * (path.stat().st_size - 4096))
    history.add("new", "/a")
    assert texts(history.recent())[:1] == ["new"]
    assert (path.parent / "history.db.damaged").exists()
    history.close()


def test_database_of_another_version_is_set_aside(path: Path) -> None:
    path.parent.mkdir()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE prompts(x)")
        db.execute("PRAGMA user_version = 7")
    db.close()
    history = PromptHistory(path)
    history.add("new", "/a")
    assert texts(history.recent()) == ["new"]
    assert (path.parent / "history.db.v7").exists()
    history.close()


def test_errors_are_logged_and_not_raised(tmp_path: Path) -> None:
    log.to(tmp_path / "logs")
    try:
        (tmp_path / "history.db").mkdir()
        history = PromptHistory(tmp_path / "history.db")
        history.add("hi", "/a")
        history.add("hi again", "/a")
        assert history.recent() == history.search("hi") == []
        history.close()
    finally:
        log.to(None)
    assert (tmp_path / "logs" / "tau.log").read_text().count("cannot be used") == 1


def test_search_works_without_fts5(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_history, "has_fts5", lambda db: False)
    history = PromptHistory(path)
    history.add("Fix the parser", "/a")
    assert texts(history.search("PARS fix")) == ["Fix the parser"]
    history.close()
    monkeypatch.setattr(prompt_history, "has_fts5", database.has_fts5)
    history = PromptHistory(path)
    history.add("Fix the lexer", "/a")
    assert len(history.search("fix")) == 2
    history.close()


WORKER = """
import os, sys
from tau.coding.session_index.prompt_history import PromptHistory
from pathlib import Path
history = PromptHistory(Path(sys.argv[1]))
for number in range(40):
    history.add(f"{os.getpid()} {number}", "/a")
history.close()
"""


def test_several_processes_add_at_once(path: Path) -> None:
    command = [sys.executable, "-c", WORKER, str(path)]
    workers = [subprocess.Popen(command, env=dict(os.environ)) for _ in range(3)]
    assert [worker.wait() for worker in workers] == [0, 0, 0]
    history = PromptHistory(path)
    assert len(history.recent(1_000)) == 120
    history.close()
