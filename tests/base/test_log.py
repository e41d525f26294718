"""The log file: complete records, bounded, and never in the way."""

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base import log


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    log.to(tmp_path / "logs")
    yield tmp_path / "logs"
    log.to(None)


def text_of(folder: Path) -> str:
    return (folder / "tau.log").read_text()


def test_record_is_one_line_with_time_process_level_and_message(folder: Path) -> None:
    log.error("The disk is full")
    log.warning("Odd")
    first, second = text_of(folder).splitlines()
    assert re.fullmatch(
        rf"\d{{4}}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{{3}}Z {os.getpid()} error The disk is full", first
    )
    assert second.endswith(f" {os.getpid()} warning Odd")


def test_file_and_folder_are_private_and_created_late(folder: Path) -> None:
    assert not folder.exists()
    log.error("x")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "tau.log").stat().st_mode) == 0o600


def test_traceback_is_indented_below(folder: Path) -> None:
    try:
        raise KeyError("missing")
    except KeyError as error:
        log.error("It failed", error)
    first, *trace = text_of(folder).splitlines()
    assert first.endswith("error It failed")
    assert all(line.startswith("    ") for line in trace)
    assert trace[-1] == "    KeyError: 'missing'"
    assert any("test_log.py" in line for line in trace)


def test_debug_is_written_only_when_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log.debug("quiet")
    assert not folder.exists()
    monkeypatch.setenv("TAU_DEBUG", "1")
    log.debug("loud")
    assert text_of(folder).endswith("debug loud\n")


def test_message_cannot_forge_a_record_or_send_control_sequences(folder: Path) -> None:
    log.error("one\n2026-01-01T00:00:00.000Z 1 error forged \x1b[31m \udcff")
    first, second = text_of(folder).splitlines()
    assert first.endswith("error one")
    assert second == "    2026-01-01T00:00:00.000Z 1 error forged \\x1b[31m \\udcff"


def test_tab_is_kept(folder: Path) -> None:
    log.error("a\tb")
    assert text_of(folder).endswith("error a\tb\n")


def test_full_log_is_set_aside_once(folder: Path) -> None:
    line = "x" * 60_000
    for n in range(150):
        log.error(f"{n} {line}")
    current, kept = (folder / "tau.log"), (folder / "tau.log.1")
    assert sorted(entry.name for entry in folder.iterdir()) == ["tau.log", "tau.log.1"]
    assert max(current.stat().st_size, kept.stat().st_size) <= 2 * 1024 * 1024
    assert " error 149 x" in current.read_text()
    assert kept.read_text().count("\n") == 34


def test_giant_record_is_cut_with_a_note(folder: Path) -> None:
    log.error("é" * 5_000_000)
    data = (folder / "tau.log").read_bytes()
    assert len(data) <= 64 * 1024
    assert data.endswith(b"[cut: the record was longer than 64 KiB]\n")


def test_nothing_is_written_without_a_folder(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log.error("x")
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")


def test_unwritable_log_is_ignored(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder.parent.joinpath("logs").write_text("a file where the folder should be")
    log.error("x", ValueError("y"))
    assert capfd.readouterr() == ("", "")
    assert folder.read_text() == "a file where the folder should be"
