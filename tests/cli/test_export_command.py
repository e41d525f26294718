"""`tau export` as a user types it."""

import json
import os
from pathlib import Path

import pytest

from tau.base.errors import TauError, UsageError
from tau.cli.export_command import run
from tau.config.paths import user_paths
from tau.sdk import session_store
from tests.coding.export.test_masked_exports import ANTHROPIC, OWN_KEY, STORED, planted_session

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one session of an older tau, which masked nothing; keys in variables and auth.json."""
    monkeypatch.chdir(tmp_path)
    os.environ["ACME_API_KEY"] = OWN_KEY
    auth = user_paths().auth
    auth.parent.mkdir(parents=True)
    auth.write_text(
        json.dumps({"acme": {"type": "api_key", "key": STORED}, "x": {"key": "!command --secret"}})
    )
    auth.chmod(0o600)
    folder = session_store(cwd=tmp_path).folder
    with monkeypatch.context() as older:
        older.setattr("tau.base.secrets.mask_line", lambda line: line)
        log = planted_session(folder)
    log.close()
    assert log.path is not None
    text = log.path.read_text().replace('"cwd":"/home/me"', f'"cwd":"{tmp_path}"')
    log.path.write_text(text)
    return log.path


@pytest.mark.parametrize("name", ["a.html", "a.md", "a.json"])
def test_latest_session_goes_to_a_file_in_the_format_of_its_extension(name: str, capsys: Capture) -> None:
    assert run([name]) == 0
    text = Path(name).read_text()
    reported = capsys.readouterr().err
    assert f"Exported the session to {name}." in reported
    assert not {secret for secret in (ANTHROPIC, OWN_KEY, STORED) if secret in text}
    assert "places that looked like a secret were masked" in reported


@pytest.mark.parametrize("option", ["--html", "--markdown", "--json", "--pi"])
def test_without_a_file_it_goes_to_stdout(option: str, capfd: pytest.CaptureFixture[str]) -> None:
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


def test_session_is_named_by_its_id_or_path(project: Path) -> None:
    id = project.stem.rpartition("_")[2]
    assert run([id, "by-id.json"]) == 0
    assert run([str(project), "by-path.json"]) == 0
    assert run(["--json", id[:30], "-"]) == 0
    assert Path("by-id.json").read_text() == Path("by-path.json").read_text()


@pytest.mark.parametrize("format", ("--html", "--markdown", "--json", "--pi"))
def test_shared_export_shows_no_key_unless_it_is_raw(format: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run([format]) == 0
    taken = capfd.readouterr()
    assert ANTHROPIC not in taken.out
    assert "were masked" in taken.err
    assert run([format, "--raw"]) == 0
    assert ANTHROPIC in capfd.readouterr().out


def test_users_file_is_not_overwritten(capsys: Capture) -> None:
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
        ["abc"],
        ["a", "b.txt"],
    ],
)
def test_invalid_use_is_one_sentence(words: list[str]) -> None:
    with pytest.raises(UsageError, match="Usage: tau export"):
        run(words)


def test_unknown_options_and_paths_are_named() -> None:
    with pytest.raises(UsageError, match='Unknown flag "--pdf"'):
        run(["--pdf", "a.html"])
    with pytest.raises(TauError, match=r"missing/a\.html cannot be written: No such file or directory\."):
        run(["missing/a.html"])


def test_auth_json_values_are_masked_and_a_broken_file_is_reported(capsys: Capture) -> None:
    run(["--html"])
    assert STORED not in capsys.readouterr().out
    user_paths().auth.write_text("{broken")
    run(["--html"])
    assert "Keys from auth.json are not masked" in capsys.readouterr().err
