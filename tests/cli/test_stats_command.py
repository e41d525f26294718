"""`tau stats` as a user types it."""

import json
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli.stats_command import run
from tau.sdk import session_store
from tests.coding.export.sample import sample_session

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sample_session(session_store(cwd=tmp_path).folder).close()


def test_usage_is_printed_by_day_model_and_folder(capfd: Capture) -> None:
    assert run([]) == 0
    text = capfd.readouterr().out
    for words in (
        "day",
        "anthropic/claude-sonnet-5",
        "anthropic/claude-haiku-5",
        "/home/ana/shop",
        "1 session, 7 requests",
    ):
        assert words in text
    assert "Cost: $0.12." in text


def test_json_has_the_same_numbers(capfd: Capture) -> None:
    assert run(["--json", "--days", "7"]) == 0
    document = json.loads(capfd.readouterr().out)
    assert document["sessions"] == 1
    assert document["total"]["cost"] == pytest.approx(6 * 0.0203)
    assert run(["--json", "--all"]) == 0
    assert json.loads(capfd.readouterr().out)["total"] == document["total"]


def test_page_goes_to_a_file_or_to_stdout(capfd: Capture) -> None:
    assert run(["--html"]) == 0
    page = Path("tau-stats.html").read_text()
    assert page.startswith("<!DOCTYPE html>") and "<svg" in page
    assert "to tau-stats.html." in capfd.readouterr().err
    assert run(["--html", "other.html", "--days=3"]) == 0
    assert Path("other.html").exists()
    assert run(["--html", "-"]) == 0
    assert capfd.readouterr().out.startswith("<!DOCTYPE html>")


def test_page_does_not_overwrite_a_users_file() -> None:
    Path("mine.html").write_text("<p>mine</p>")
    with pytest.raises(UsageError, match="is not a tau export"):
        run(["--html", "mine.html"])
    assert run(["--html", "mine.html", "--force"]) == 0


@pytest.mark.parametrize("words", [["--json", "--html"], ["file.html"]])
def test_invalid_use_is_reported(words: list[str]) -> None:
    with pytest.raises(UsageError, match="Usage: tau stats"):
        run(words)


@pytest.mark.parametrize("number", ["0", "-1", "many", "99999"])
def test_days_are_a_number(number: str) -> None:
    with pytest.raises(UsageError, match=f'--days takes a number from 1 to 3660, not "{number}"'):
        run([f"--days={number}"])
