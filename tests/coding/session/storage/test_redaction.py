"""Secrets in what was written down before tau knew them."""

import json
import os
from pathlib import Path

import pytest

from tau.base.jsonl import JsonlFile
from tau.base.secrets import SecretMask
from tau.coding.session.storage import redaction
from tau.coding.session.storage.redaction import redact_sessions

SECRET = "hunter2hunter2"


def test_undo_journal_loses_secrets_of_prompts_and_keeps_paths_and_hashes(tmp_path: Path) -> None:
    turn = {"type": "turn", "prompt": f"the password is {SECRET}"}
    write = {"type": "write", "path": f"/srv/{SECRET}.txt", "before": SECRET}
    journal = tmp_path / "history/journal.log"
    journal.parent.mkdir()
    journal.write_text("".join(json.dumps(record) + "\n" for record in (turn, write)))
    report = redact_sessions([tmp_path], SecretMask([SECRET]))
    first, second = map(json.loads, journal.read_text().splitlines())
    assert SECRET not in first["prompt"] and first["prompt"].startswith("the password is ")
    assert second == write
    assert (report.changed, report.places, report.skipped) == ([str(journal)], 1, [])


def test_dry_run_counts_and_changes_nothing(tmp_path: Path) -> None:
    note = tmp_path / "notes.md"
    note.write_text(f"{SECRET} and {SECRET}")
    report = redact_sessions([tmp_path], SecretMask([SECRET]), dry_run=True)
    assert (report.files, report.changed, report.places) == (1, [str(note)], 2)
    assert note.read_text() == f"{SECRET} and {SECRET}"


def test_file_that_is_not_redacted_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redaction, "MAX_FILE_BYTES", 100)
    (tmp_path / "fits.md").write_text("x" * 100)
    (tmp_path / "large.md").write_text("x" * 101)
    os.mkfifo(tmp_path / "pipe.jsonl")
    held = tmp_path / "open.jsonl"
    with JsonlFile(held) as log:
        assert log.lock()
        report = redact_sessions([tmp_path], SecretMask([SECRET]))
    why = "it is not a file of at most 100 bytes"
    assert report.skipped == [
        *(
            f"{tmp_path}/large.md: {why}",
            f"{held}: it is open in another tau",
            f"{tmp_path}/pipe.jsonl: {why}",
        )
    ]
    assert (report.files, report.changed) == (4, [])
