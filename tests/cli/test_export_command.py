"""`tau export` as a user types it."""

import json
import os
from pathlib import Path

import pytest

from tau.base.errors import TauError, UsageError
from tau.cli.export_command import run
from tau.config.paths import user_paths
from tau.sdk import session_store
from tests.coding.export.test_secrets import ANTHROPIC, OWN_KEY, STORED, planted_session

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one session, keys in the environment and in auth.json."""
    monkeypatch.chdir(tmp_path)
    os.environ["ACME_API_KEY"] = OWN_KEY
    auth = user_paths().auth
    auth.parent.mkdir(parents=True)
    auth.write_text(
        json.dumps({"acme": {"type": "api_key", "key": STORED}, "x": {"key": "!command --secret"}})
    )
    auth.chmod(0o600)
    folder = session_store(cwd=tmp_path).folder
    log = planted_session(folder)
    log.close()
    assert log.path is not None
    text = log.path.read_text().replace('"cwd":"/home/me"', f'"cwd":"{tmp_path}"')
    log.path.write_text(text)
    return log.path


@pytest.mark.parametrize("name", ["a.html", "a.md", "a.json"])
def test_the_latest_session_goes_to_a_file_in_the_format_of_its_ending(name: str, capsys: Capture) -> None:
    assert run([name]) == 0
    text = Path(name).read_text()
    told = capsys.readouterr().err
    assert f"Exported the session to {name}." in told
    masked = name != "a.json"
    assert (ANTHROPIC in text) != masked
    assert (OWN_KEY in text) != masked
    assert (STORED in text) != masked
    assert ("places that looked like a secret were masked" in told) == masked


@pytest.mark.parametrize("option", ["--html", "--markdown", "--json", "--pi"])
def test_without_a_file_it_goes_to_standard_output(option: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([option]) == 0
    out = capfd.readouterr().out
    starts = {
        "--html": "<!DOCTYPE html>",
        "--markdown": "<!-- exported",
        "--json": '{"header":',
        "--pi": '{"type":',
    }
    assert out.startswith(starts[option])
    assert run([option, "-"]) == 0
    assert capfd.readouterr().out[:5] == out[:5]


def test_a_session_is_named_by_its_id_or_its_path(project: Path) -> None:
    id = project.stem.rpartition("_")[2]
    assert run([id, "by-id.json"]) == 0
    assert run([str(project), "by-path.json"]) == 0
    assert run(["--json", id[:30], "-"]) == 0
    assert Path("by-id.json").read_text() == Path("by-path.json").read_text()


def test_masking_can_be_asked_for_and_declined(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["--json", "--mask"]) == 0
    taken = capfd.readouterr()
    assert ANTHROPIC not in taken.out
    assert "were masked" in taken.err
    assert run(["--html", "--no-mask"]) == 0
    assert ANTHROPIC in capfd.readouterr().out


def test_a_file_of_the_users_own_is_not_written_over(capsys: Capture) -> None:
    Path("notes.md").write_text("mine")
    with pytest.raises(UsageError, match=r"notes\.md exists and is not a tau export"):
        run(["notes.md"])
    assert Path("notes.md").read_text() == "mine"
    assert run(["notes.md", "--force"]) == 0
    assert run(["notes.md"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--html", "--json"],
        ["a", "b", "c.html"],
        ["--mask", "--no-mask", "a.html"],
        ["abc"],
        ["a", "b.txt"],
    ],
)
def test_wrong_use_is_told_in_one_sentence(words: list[str]) -> None:
    with pytest.raises(UsageError, match="Usage: tau export"):
        run(words)


def test_unknown_options_and_places_are_named() -> None:
    with pytest.raises(UsageError, match='Unknown option "--pdf"'):
        run(["--pdf", "a.html"])
    with pytest.raises(TauError, match=r"missing/a\.html cannot be written: No such file or directory\."):
        run(["missing/a.html"])


def test_what_auth_json_holds_is_masked_and_a_broken_one_is_told(capsys: Capture) -> None:
    run(["--html"])
    assert STORED not in capsys.readouterr().out
    user_paths().auth.write_text("{broken")
    run(["--html"])
    assert "Keys from auth.json are not masked" in capsys.readouterr().err
