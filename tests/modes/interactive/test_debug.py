"""The debug menu: looking inside without leaking anything."""

import asyncio
import json
import os
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tau.ai import exchange_log
from tau.ai.faux import Say
from tau.base import log
from tau.base.threads import StopSignal
from tau.modes.interactive.debug import cleanup, menu, report, work_profile
from tau.modes.interactive.debug.logs import records
from tau.modes.interactive.debug.menu import open_menu, opener
from tau.modes.interactive.debug.secrets import LEFT_OUT, without_keys
from tau.tui.text.width import visible_width
from tests.modes.interactive.rig import Rig, rigged, run

SECRET = "sk-ant-api03-Zx81kQpLm2vNw7RtYb4"


@pytest.fixture(autouse=True)
def fresh_record() -> Iterator[None]:
    exchange_log.stop_recording()
    yield
    exchange_log.stop_recording()


async def opened(rig: Rig, label: str) -> None:
    """The menu is open, with this entry chosen."""
    rig.parts.tasks.start(open_menu(rig.context))
    shown = await rig.show("Debug")
    row = next(row for row in shown.split("\n") if label in row)
    await rig.type(row.strip(" ❯")[0])


def test_log_is_shown_from_its_end_and_loads_older_records(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=100) as rig:
            for number in range(120):
                log.warning(f"Thing {number} is odd.")
            await opened(rig, "Log")
            shown = await rig.show("Thing 119 is odd.")
            assert "Thing 60 is odd." not in shown
            await rig.type("o")
            await rig.show("Last 100 of 120 records.")
            await rig.press("home")
            await rig.show("Thing 20 is odd.")
            await rig.type("o")
            await rig.type("o")
            await rig.show("No older records.")
            await rig.type("c")
            await rig.show("Copied")
            assert "Thing 0 is odd." in rig.terminal.clipboard[-1]
            await rig.press("escape")
            await rig.show("Debug")
            await rig.press("escape")
            await rig.gone("Debug")

    run(test)


def test_empty_log_says_so(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path) as rig:
            await opened(rig, "Log")
            await rig.show("The log is empty")
            await rig.press("escape")
            await rig.press("escape")

    run(test)


def test_multiline_records_stay_together_and_old_files_come_first(tmp_path: Path) -> None:
    (tmp_path / "tau.log.1").write_text("2026 1 error old\n    with a trace\n")
    (tmp_path / "tau.log").write_text("2026 2 error new\n")
    assert records(tmp_path) == ["2026 1 error old\n    with a trace", "2026 2 error new"]
    assert records(tmp_path / "missing") == []


def test_responses_are_shown_raw_with_secrets_masked(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            record = exchange_log.current_log()
            assert record is not None
            exchange = record.begin("POST", "https://api.example.com/v1/messages?key=abc")
            exchange.status = 200
            record.add(exchange, f'event: delta\ndata: {{"text": "{SECRET}"}}\n\n'.encode())
            await opened(rig, "Raw responses")
            shown = await rig.show("POST https://api.example.com/v1/messages: 200")
            assert "event: delta" in shown and "[masked" in shown
            record.add(exchange, b"data: later\n\n")
            await rig.show("data: later")
            await rig.press("escape")
            await rig.show("Debug")
            assert record.on_change is None
            await rig.press("escape")
            assert SECRET not in rig.tape()

    run(test)


def test_system_information_is_shown_in_the_transcript(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120, rows=40) as rig:
            await opened(rig, "System")
            shown = await rig.show("Python")
            assert "faux/faux" in shown and "120 columns" in shown

    run(test)


def test_report_holds_everything_but_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "Tq7-plain-looking-value")

    async def test() -> None:
        async with rigged(tmp_path, [[Say(f"Your key is {SECRET}.")]], columns=120) as rig:
            paths = rig.current.paths
            paths.home.mkdir(parents=True, exist_ok=True)
            paths.settings.write_text(json.dumps({"display": {"tabWidth": 2}}))
            paths.models.write_text(
                json.dumps({"providers": {"mine": {"apiKey": "my-own-key", "baseUrl": "http://x"}}})
            )
            paths.auth.write_text(json.dumps({"mine": {"type": "api_key", "key": "stored-key-value-1"}}))
            log.warning("It failed with Tq7-plain-looking-value and stored-key-value-1.")
            await rig.send("What is my key?")
            await rig.show("Your key is")
            await rig.idle()
            await opened(rig, "Write a report")
            await rig.show("Review it before sharing")
            (written,) = (paths.home / "reports").iterdir()
            assert written.stat().st_mode & 0o777 == 0o600
            with tarfile.open(written) as archive:
                files = {
                    Path(member.name).name: archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                    for member in archive.getmembers()
                }
            assert {"system.txt", "log.txt", "session.jsonl", "settings.json", "models.json"} <= set(files)
            everything = "".join(files.values())
            for secret in (SECRET, "Tq7-plain-looking-value", "stored-key-value-1", "my-own-key"):
                assert secret not in everything
            assert "What is my key?" in files["session.jsonl"]
            assert "It failed with" in files["log.txt"]
            assert json.loads(files["settings.json"]) == {"display": {"tabWidth": 2}}
            assert "auth.json" not in files
            assert all(json.loads(line) for line in files["session.jsonl"].splitlines())

    run(test)


def test_fields_holding_keys_are_left_out_by_name() -> None:
    value = {"providers": {"a": {"apiKey": "x", "headers": {"X-Auth": "y"}, "models": [{"id": "m"}]}}}
    assert without_keys(value) == {
        "providers": {"a": {"apiKey": LEFT_OUT, "headers": LEFT_OUT, "models": [{"id": "m"}]}}
    }


def test_session_is_exported_as_a_page(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=120) as rig:
            await rig.send("hi")
            await rig.show("Hello.")
            await rig.idle()
            await opened(rig, "Export the session")
            await rig.show("Exported the session to")
            assert len(list(tmp_path.glob("*.html"))) == 1

    run(test)


def test_session_folder_is_shown(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=160) as rig:
            await opened(rig, "Session files")
            await rig.show("This session has no files yet.")
            await rig.send("hi")
            await rig.show("Hello.")
            await rig.idle()
            folder = rig.session.log.artifacts_folder
            assert folder is not None
            folder.mkdir(parents=True, exist_ok=True)
            await opened(rig, "Session files")
            await rig.show("The files of this session are in")

    run(test)


def test_file_manager_opens_only_on_a_local_desktop(tmp_path: Path) -> None:
    program = tmp_path / "xdg-open"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    desktop = {"DISPLAY": ":0", "PATH": str(tmp_path)}
    assert opener(desktop, "linux") == str(program)
    assert opener({**desktop, "SSH_TTY": "/dev/pts/1"}, "linux") is None
    assert opener({"PATH": str(tmp_path)}, "linux") is None
    assert opener({}, "darwin") == "open"


def test_only_old_disposable_files_are_cleared_and_only_after_confirmation(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say("Hello.")]], columns=120) as rig:
            await rig.send("hi")
            await rig.show("Hello.")
            await rig.idle()
            paths = rig.current.paths
            old = paths.sessions / "--x--" / "old.jsonl"
            new = paths.sessions / "--x--" / "new.jsonl"
            for session in (old, new):
                (session.with_suffix("") / "local").mkdir(parents=True)
                session.write_text("{}\n")
                (session.with_suffix("") / "0.bash.log").write_text("output")
                (session.with_suffix("") / "local" / "plan.md").write_text("plan")
            os.utime(old, (time.time() - 40 * 86_400,) * 2)
            paths.cache.mkdir(parents=True, exist_ok=True)
            (paths.cache / "thing").write_text("x" * 1000)
            await opened(rig, "Clear caches")
            await rig.show("older than 30 days: 1.")
            await rig.press("enter")
            await rig.show("Debug")
            assert (paths.cache / "thing").exists()
            await rig.press("enter")
            await rig.show("older than 30 days: 1.")
            await rig.type("1")
            await rig.show("Removed")
            assert not (paths.cache / "thing").exists()
            assert not (old.with_suffix("") / "0.bash.log").exists()
            assert (old.with_suffix("") / "local" / "plan.md").exists() and old.exists()
            assert (new.with_suffix("") / "0.bash.log").exists()
            await opened(rig, "Clear caches")
            await rig.show("There is nothing to clear.")

    run(test)


def test_links_are_not_followed_out_of_the_cache(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "link").symlink_to(outside)
    assert cleanup.remove_files(cleanup.find_files(tmp_path / "none", cache, None)) == 0
    assert (outside / "precious").exists()
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("key", ["\r", "\x1b"])
def test_profile_ended_after_10_seconds_instead_of_a_key(tmp_path: Path, key: str) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            await opened(rig, "Record a CPU profile")
            await rig.show("tau keeps working")
            await rig.type(key)
            await rig.show("Wrote the profile to")
            (written,) = (rig.current.paths.home / "reports").iterdir()
            with tarfile.open(written) as archive:
                assert any(name.endswith("/profile.txt") for name in archive.getnames())

    run(test)


def test_memory_is_reported_by_type(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=120) as rig:
            await opened(rig, "Memory")
            await rig.show("Wrote what is in memory to")
            (written,) = (rig.current.paths.home / "reports").iterdir()
            with tarfile.open(written) as archive:
                [name] = [name for name in archive.getnames() if name.endswith("/memory.txt")]
                file = archive.extractfile(name)
                assert file is not None and "builtins.dict" in file.read().decode()

    run(test)


def test_flame_graph_shows_what_the_main_thread_does() -> None:
    stop = StopSignal()

    def busy_with_numbers() -> None:
        while not thread.done():
            sum(range(1000))

    with ThreadPoolExecutor() as pool:
        thread = pool.submit(work_profile.sample, stop, 0.2)
        busy_with_numbers()
    root = thread.result()
    picture = work_profile.flame_graph(root)
    assert root.count and "busy_with_numbers test_debug.py" in picture
    assert ElementTree.fromstring(picture).tag.endswith("svg")


def test_a_report_has_the_sessions_of_the_last_agents(tmp_path: Path) -> None:
    for number in range(12):
        (tmp_path / f"agent-{number}.jsonl").write_text("{}\n")
        os.utime(tmp_path / f"agent-{number}.jsonl", (number, number))
    found = report.agent_sessions(tmp_path)
    assert [path.stem for path in found] == [f"agent-{number}" for number in range(2, 12)]
    assert report.agent_sessions(tmp_path / "missing") == []


def test_profile_names_what_ran() -> None:
    async def test() -> None:
        assert "function calls" in await menu.profile(asyncio.sleep(0.01))

    run(test)


@pytest.mark.parametrize("columns", [20, 40, 200])
def test_menu_and_pager_fit_any_width(tmp_path: Path, columns: int) -> None:
    async def test() -> None:
        async with rigged(tmp_path, columns=columns) as rig:
            log.warning("A long line. " * 50)
            rig.parts.tasks.start(open_menu(rig.context))
            await rig.show("Log")
            assert all(visible_width(row) <= columns for row in rig.terminal.screen())
            await rig.press("enter")
            await rig.show("A long line.")
            assert all(visible_width(row) <= columns for row in rig.terminal.screen())
            await rig.press("escape")
            await rig.show("Debug" if columns > 20 else "Log")
            await rig.press("escape")

    run(test)
