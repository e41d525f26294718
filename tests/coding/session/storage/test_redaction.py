"""Secrets in what was written down before tau knew them."""

import json
from pathlib import Path

from tau.base.secrets import SecretMask
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
