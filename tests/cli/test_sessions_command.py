"""`tau sessions`: what a user sees of earlier conversations."""

import io
import json
import os
import pty
import sys
from pathlib import Path
from typing import Any

import pytest

from tau.ai.wire import AssistantMessage, TextContent, ToolCall, ToolResultMessage, Usage, UserMessage
from tau.base.errors import SessionError, UsageError
from tau.cli import main, sessions_command, sessions_show, sessions_table
from tau.coding.session import entries as s
from tau.coding.session.storage.line_storage import SessionLocked
from tau.coding.session.storage.log import SessionLog
from tau.modes.output_stream import OutputStream
from tau.sdk import session_store
from tests.coding.session_index.session_files import answer, named, user, write


class Desk:
    """A project folder, and the sessions of it and of another one."""

    def __init__(self, project: Path, capfd: pytest.CaptureFixture[str]) -> None:
        self.project = project
        self.root = Path(os.environ["TAU_HOME"]) / "sessions"
        self._capfd = capfd

    def write(self, *lines: bytes, cwd: Path | None = None) -> Path:
        return write(self.root, *lines, cwd=str(cwd or self.project))

    def run(self, *words: str) -> str:
        self._capfd.readouterr()
        assert sessions_command.run(words) == 0
        return self._capfd.readouterr().out

    def json(self, *words: str) -> Any:
        return json.loads(self.run(*words, "--json"))


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Desk:
    project = tmp_path / "project"
    project.mkdir()
    monkeypatch.chdir(project)
    return Desk(project, capfd)


def id_of(path: Path) -> str:
    return path.stem.rpartition("_")[2]


def test_sessions_of_this_folder_are_listed_newest_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    old = desk.write(user("1", "Explain the lexer to me"), answer("2", "x", dollars=0.42, model="large"))
    new = desk.write(user("1", "hi"), named("2", "Flaky test"))
    desk.write(user("1", "elsewhere"), cwd=Path("/other"))
    os.utime(old, (1_700_000_000, 1_700_000_000))
    first, second = desk.run().splitlines()
    assert first.startswith(id_of(new)[:8]) and first.endswith("Flaky test") and " now " in first
    assert "large" in second and "$0.42" in second and second.endswith("Explain the lexer to me")
    assert desk.run("list") == desk.run()
    everything = desk.run("--all")
    assert "/other\n" in everything and "elsewhere" in everything and f"{desk.project}\n" in everything


def test_every_line_fits_without_control_sequences(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.write(
        user("1", "\x1b]0;evil\x07\x1b[31mred \u202e\n" + "long " * 50),
        answer("2", "x" * 200, model="\x1b[2J" + "m" * 99),
    )
    desk.write(user("1", "日本語" * 40))
    desk.write(named("1", "\x9b31mname"))
    for columns in ("80", "50", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        for text in (desk.run(), desk.run("--all"), desk.run("search", "x" * 20), desk.run("search", "日本")):
            assert text.replace("\n", "").isprintable() and "evil" not in text
            widest = max(map(sessions_table.text_width, text.splitlines()))
            assert widest <= int(columns) or columns == "50"


def test_limit_is_respected_and_the_rest_counted(desk: Desk) -> None:
    assert "No sessions" in desk.run() and "--all" in desk.run()
    assert desk.run("--all") == "No sessions yet.\n"
    for _ in range(25):
        desk.write()
    *rows, blank, more = desk.run().splitlines()
    assert (len(rows), blank, more) == (20, "", "5 more; --limit 25 shows all.")
    assert len(desk.run("--limit", "25").splitlines()) == 25
    assert len(desk.run("--limit=3").splitlines()) == 5
    assert len(desk.json()) == 25 and len(desk.json("--limit", "2")) == 2


def test_json_has_everything(desk: Desk) -> None:
    path = desk.write(user("1", "hi"), answer("2", "there", dollars=0.5), named("3", "Name"))
    (row,) = desk.json()
    assert (row["id"], row["path"], row["cwd"]) == (id_of(path), str(path), str(desk.project))
    assert (row["name"], row["firstPrompt"], row["model"]) == ("Name", "hi", "fake/small")
    assert (row["cost"], row["tokens"]["total"], row["messages"], row["prompts"]) == (0.5, 19, 2, 1)
    assert (row["created"], row["problem"], row["parentSession"]) == ("2026-01-31T12:00:00.000Z", None, None)
    (hit,) = desk.json("search", "there")
    assert (hit["id"], hit["role"], hit["snippet"]) == (row["id"], "assistant", "there")


def test_damaged_files_are_listed(desk: Desk) -> None:
    desk.write().write_bytes(b"nonsense")
    desk.write().write_bytes(b"")
    text = desk.run()
    assert "(It is empty.)" in text and "(It does not start" in text


def test_ids_are_as_short_as_possible(desk: Desk) -> None:
    ids = ["0199aaaa-1111-7", "0199aaaa-1112-7", "0200bbbb-0000-7", "x", "xy"]
    assert sessions_table.short_ids(ids) == {
        "0199aaaa-1111-7": "0199aaaa-1111",
        "0199aaaa-1112-7": "0199aaaa-1112",
        "0200bbbb-0000-7": "0200bbbb",
        "x": "x",
        "xy": "xy",
    }
    desk.write()
    desk.write()
    shown = desk.run().splitlines()[0].split()[0]
    assert desk.run("show", shown)


def test_search_shows_the_matching_text(desk: Desk) -> None:
    desk.write(user("1", "Where is the needle?"), answer("2", "In the hay."))
    desk.write(user("1", "no"), cwd=Path("/other"))
    desk.write(user("1", "a needle there"), cwd=Path("/other"))
    text = desk.run("search", "needle")
    assert "You: Where is the needle?" in text and "You: a needle there" in text and "    /other" in text
    assert "there" not in desk.run("search", "--here", "needle").replace("the needle", "")
    assert desk.run("search", "needle", "hay").count("needle") == 2
    assert desk.run("search", "absent") == 'No session contains all of "absent".\n'
    assert "1 more; --limit 2" in desk.run("search", "needle", "--limit", "1")


def conversation(desk: Desk) -> SessionLog:
    log = session_store(os.environ).new()
    log.append_message(UserMessage("Look\n\x1b[31maround", 1))
    call = ToolCall("c", "bash", {"command": "ls"})
    log.append_message(
        AssistantMessage([TextContent("Looking."), call], "a", "fake", "small", Usage(), "toolUse", 1)
    )
    log.append_message(ToolResultMessage("c", "bash", [TextContent("a\nb")], False, 1))
    log.append_message(AssistantMessage([], "a", "fake", "small", Usage(), "error", 1, "Server down"))
    log.append(s.CompactionEntry(summary="We looked.", first_kept_entry_id=""))
    log.append_message(UserMessage("Go on", 1))
    return log


def test_conversation_is_shown_as_text_even_while_open(desk: Desk) -> None:
    log = conversation(desk)
    text = desk.run("show", log.header.id)
    for part in ("You (", "Look\naround", "Looking.\n  [bash: ls]", "  bash ok: a (2 lines)", "Server down"):
        assert part in text
    assert text.index("Look\n") < text.index("We looked.") < text.index("Go on")
    assert "\x1b" not in text
    log.close()


def test_long_conversation_is_paged(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    log = session_store(os.environ).new()
    for number in range(40):
        log.append_message(UserMessage(f"prompt {number}", 1))
    leader, follower = pty.openpty()
    typed = io.StringIO("\nq\n")
    typed.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", typed)
    monkeypatch.setenv("LINES", "11")
    text = ""
    try:
        sessions_show.show(log, OutputStream(follower))
        while text.count(sessions_show.MORE) < 2:
            text += os.read(leader, 65_536).decode()
    finally:
        os.close(leader)
        os.close(follower)
        log.close()
    assert text.endswith(sessions_show.MORE)
    assert len(text.splitlines()) <= 22 and "prompt 3" in text and "prompt 30" not in text


def test_rename_a_session(desk: Desk) -> None:
    path = desk.write(user("1", "hi"))
    assert '"A new \x1b[1mname"'.replace("\x1b[1m", "") in desk.run(
        "rename", id_of(path), "A", "new", "\x1b[1mname"
    )
    assert desk.json()[0]["name"] == "A new name"
    assert "Removed the session's name" in desk.run("rename", id_of(path), "")
    assert desk.json()[0]["name"] is None


def test_session_open_elsewhere_is_neither_renamed_nor_deleted(desk: Desk) -> None:
    log = conversation(desk)
    assert log.path is not None
    before = log.path.read_bytes()
    for words in (["rename", log.header.id, "x"], ["delete", log.header.id]):
        with pytest.raises(SessionLocked, match="open in another tau"):
            sessions_command.run(words)
    assert log.path.read_bytes() == before
    log.close()


def test_deleted_session_is_restored(desk: Desk) -> None:
    path, other = desk.write(user("1", "precious words")), desk.write()
    before = path.read_bytes()
    assert 'Moved "precious words" to the trash.' in desk.run("delete", id_of(path))
    assert [row["path"] for row in desk.json()] == [str(other)]
    assert desk.json("search", "precious") == []
    assert "30 d left  precious words" in desk.run("restore")
    assert desk.json("restore")[0]["path"] == str(path)
    desk.run("restore", id_of(path))
    assert path.read_bytes() == before and len(desk.json("search", "precious")) == 1
    assert desk.run("restore") == "The trash is empty.\n"


def test_several_sessions_are_deleted_at_once(desk: Desk) -> None:
    one, two = desk.write(), desk.write()
    desk.run("delete", id_of(one), str(two))
    assert desk.json() == []
    with pytest.raises(UsageError, match="Use a longer prefix"):
        sessions_command.run(["restore", id_of(one)[:4]])


def test_export_is_done_by_the_export_command(desk: Desk) -> None:
    path = desk.write(user("1", "hi"))
    assert '"hi"' in desk.run("export", id_of(path), "--json").replace(" ", "")
    with pytest.raises(UsageError, match="export ID"):
        sessions_command.run(["export"])


def test_index_can_be_rebuilt(desk: Desk) -> None:
    desk.write()
    assert desk.run("reindex") == "Rebuilt the index from 1 session file.\n"


def test_damaged_index_is_reported_once(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    desk.write(user("1", "hi"))
    desk.run()
    (desk.root.parent / "index.db").write_bytes(b"x" * 10_000)
    assert sessions_command.run([]) == 0
    reported = capfd.readouterr()
    assert "hi" in reported.out and "was damaged" in reported.err
    assert sessions_command.run([]) == 0
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["sow"], 'Unknown action "sow"'),
        (["--wide"], 'Unknown flag "--wide"'),
        (["--limit"], "--limit needs a value: --limit N."),
        (["--limit", "0"], "--limit takes a number"),
        (["search"], "tau sessions search WORD"),
        (["show"], "tau sessions show ID"),
        (["show", "a", "b"], "tau sessions show ID"),
        (["rename", "a"], "tau sessions rename ID NAME"),
        (["show", "none"], 'starts with "none"'),
        (["delete", "/no/such.jsonl"], "no session file"),
        (["restore", "none"], "No session in the trash"),
    ],
)
def test_invalid_use_is_explained(desk: Desk, words: list[str], problem: str) -> None:
    with pytest.raises((UsageError, SessionError), match=problem):
        sessions_command.run(words)


def test_help_names_all_actions(desk: Desk, capfd: pytest.CaptureFixture[str]) -> None:
    assert main.run(["sessions", "--help"]) == 0
    text = capfd.readouterr().out
    assert all(
        f"tau sessions {action}" in text
        for action in (*sessions_command._ACTIONS, "export")
        if action != "list"
    )
    assert desk.run("search", "--", "--help").startswith("No session")


def test_sessions_in_a_custom_folder_are_listed(desk: Desk) -> None:
    folder = desk.project / "talks"
    (desk.root.parent / "settings.json").parent.mkdir(parents=True, exist_ok=True)
    (desk.root.parent / "settings.json").write_text(json.dumps({"sessionDir": str(folder)}))
    path = write(folder, user("1", "flat"), cwd="/any", flat=True)
    assert [row["path"] for row in desk.json()] == [str(path)]
