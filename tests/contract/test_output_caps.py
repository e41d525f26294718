"""The caps of tool output: whatever a tool is asked for, the model gets 3,000 lines or 50 KiB at most."""

import asyncio
import base64
import json
import shlex
import sqlite3
import sys
import tarfile
import zipfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import tau
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tau.base.sizes import KIB, MIB
from tau.coding.output import OutputLimits, lines_of
from tau.coding.readers import large_file
from tau.coding.tools.registry import TOOLS, ToolParts, create_tools
from tau.config.settings import Settings
from tests.coding.context import FakeUi

LIMITS = OutputLimits()
NOTICES = 4 * KIB  # a header, and the lines that say what is missing
LONG = "x" * 200
MANY = "".join(f"line {number} {LONG}\n" for number in range(20_000))
CONFLICT = "<<<<<<< ours\n{0}\n=======\n{0}{0}\n>>>>>>> theirs\n"

PAGED = ("read", "search", "find", "ast_grep", "ast_edit")
Asked = tuple[str, dict[str, Any]]
REQUESTS: dict[str, Callable[[Path], Asked]] = {}


def request(make: Callable[[Path], Asked]) -> Callable[[Path], Asked]:
    """Prepare something huge in a folder; return the tool and the arguments that ask for it."""
    REQUESTS[make.__name__] = make
    return make


def read(path: str) -> Asked:
    return "read", {"path": path}


@request
def long_text(folder: Path) -> Asked:
    (folder / "a.txt").write_text(MANY)
    return read("a.txt:1-")


@request
def raw_text(folder: Path) -> Asked:
    (folder / "a.txt").write_text("\n" * 100_000)
    return read("a.txt:1-:raw")


@request
def one_line(folder: Path) -> Asked:
    (folder / "a.txt").write_text("x" * MIB)
    return read("a.txt")


@request
def file_too_large_for_a_tag(folder: Path) -> Asked:
    (folder / "a.log").write_bytes(b"0123456789" * 100 + b"\n" * 10 + b"y" * large_file.LARGE_BYTES)
    return read("a.log:1-")


@request
def summary_of_many_functions(folder: Path) -> Asked:
    body = "\n".join(
        f"def f{number}():\n    a = 1\n    b = 2\n    c = 3\n    d = 4" for number in range(3_900)
    )
    (folder / "a.py").write_text(body)
    return read("a.py")


@request
def folder_with_long_names(folder: Path) -> Asked:
    for number in range(1_000):
        (folder / f"{number:04}{LONG}").touch()
    return read(".")


@request
def full_folders(folder: Path) -> Asked:
    for outer in range(60):
        for inner in range(12):
            (folder / f"{outer}{LONG}" / f"{inner}{LONG}").mkdir(parents=True)
    return read(".:1-60")


@request
def zip_with_long_names(folder: Path) -> Asked:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for number in range(500):
            archive.writestr(f"{number}{'n' * 30_000}", b"")
    return read("a.zip")


@request
def tar_with_long_links(folder: Path) -> Asked:
    with tarfile.open(folder / "a.tar", "w") as archive:
        for number in range(300):
            link = tarfile.TarInfo(f"{number}{LONG}")
            link.type, link.linkname = tarfile.SYMTYPE, "t" * 20_000
            archive.addfile(link)
    return read("a.tar")


@request
def zip_with_names_that_lead_out(folder: Path) -> Asked:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("a", b"")
        for number in range(2_000):
            archive.writestr(f"../{number}{'n' * 3_000}", b"")
    return read("a.zip")


@request
def text_in_an_archive(folder: Path) -> Asked:
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr("a.txt", MANY)
    return read("a.zip:a.txt:1-")


@request
def bytes_in_an_archive_with_a_long_name(folder: Path) -> Asked:
    name = "n" * 60_000
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.writestr(name, b"\0\1")
    return read(f"a.zip:{name}")


def database(folder: Path, *statements: str) -> None:
    with closing(sqlite3.connect(folder / "a.db")) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@request
def tables_with_long_names(folder: Path) -> Asked:
    database(folder, *(f'CREATE TABLE "{number}{"t" * 1_000}" (a)' for number in range(200)))
    return read("a.db")


@request
def table_with_a_long_definition(folder: Path) -> Asked:
    database(folder, f"CREATE TABLE t (a /* {'c' * MIB} */)")
    return read("a.db:t")


@request
def row_of_many_long_cells(folder: Path) -> Asked:
    columns = [f"c{number}" for number in range(100)]
    database(
        folder,
        f"CREATE TABLE t ({', '.join(columns)})",
        f"INSERT INTO t VALUES ({', '.join(['printf(' + repr('%.*c') + ', 70000, ' + repr('z') + ')'] * 100)})",
    )
    return read("a.db:t:1")


def wide_rows(folder: Path) -> None:
    cells = ", ".join(["printf('%.*c', 100, 'z')"] * 5)
    counted = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 2000)"
    database(folder, "CREATE TABLE t (a, b, c, d, e)", f"INSERT INTO t {counted} SELECT {cells} FROM n")


@request
def selected_rows(folder: Path) -> Asked:
    wide_rows(folder)
    return read("a.db:t?limit=500")


@request
def queried_rows(folder: Path) -> Asked:
    wide_rows(folder)
    return read("a.db?q=SELECT * FROM t")


@request
def many_conflicts(folder: Path) -> Asked:
    (folder / "a.txt").write_text(CONFLICT.format(LONG) * 8_000)
    return read("a.txt:conflicts")


@request
def one_huge_conflict(folder: Path) -> Asked:
    (folder / "a.txt").write_text(CONFLICT.format(MANY))
    return read("a.txt:conflicts")


@request
def notebook(folder: Path) -> Asked:
    cell = {"cell_type": "code", "execution_count": 1, "metadata": {}, "outputs": [], "source": [MANY]}
    book = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "a.ipynb").write_text(json.dumps(book))
    return read("a.ipynb:1-")


@request
def path_that_is_too_long(folder: Path) -> Asked:
    return read("d/" * 100_000)


@request
def unknown_url(folder: Path) -> Asked:
    return read(f"local://{'p' * 100_000}")


@request
def search_with_long_lines(folder: Path) -> Asked:
    for number in range(30):
        (folder / f"{number}.txt").write_text(f"needle {'x' * 5_000}\n" * 300)
    return "search", {"pattern": "needle", "paths": ["."]}


@request
def search_of_missing_paths(folder: Path) -> Asked:
    (folder / "a.txt").write_text("needle")
    missing = [f"{number}/{'m' * 200}" for number in range(900)]
    return "search", {"pattern": "needle", "paths": ["a.txt", *missing]}


@request
def search_of_only_missing_paths(folder: Path) -> Asked:
    return "search", {"pattern": "needle", "paths": [f"{number}/{'m' * 200}" for number in range(900)]}


@request
def search_with_a_huge_pattern(folder: Path) -> Asked:
    return "search", {"pattern": "p" * 100_000 + "(?=q)", "paths": ["."]}


@request
def find_with_long_names(folder: Path) -> Asked:
    for number in range(250):
        deep = folder / f"{number}{LONG}" / LONG
        deep.mkdir(parents=True)
    return "find", {"paths": ["."]}


@request
def find_of_missing_paths(folder: Path) -> Asked:
    return "find", {"paths": [".", *(f"{number}/{'m' * 200}" for number in range(900))]}


@request
def ast_grep_with_many_matches(folder: Path) -> Asked:
    for number in range(30):
        (folder / f"{number}.py").write_text(f"call('{'x' * 3_000}')\n" * 200)
    return "ast_grep", {"pat": "call($A)", "paths": ["."]}


@request
def ast_grep_of_missing_paths(folder: Path) -> Asked:
    (folder / "a.py").write_text("call(1)")
    missing = [f"{number}/{'m' * 200}" for number in range(900)]
    return "ast_grep", {"pat": "call($A)", "paths": ["a.py", *missing]}


@request
def ast_edit_of_everything(folder: Path) -> Asked:
    for number in range(30):
        (folder / f"{number}.py").write_text(f"call('{'x' * 3_000}')\n" * 200)
    return "ast_edit", {"ops": [{"pat": "call($A)", "out": "other($A)"}], "paths": ["."]}


@request
def bash_output(folder: Path) -> Asked:
    return "bash", {"command": f"{shlex.quote(sys.executable)} -c 'print(\"line\\n\" * 300000)'"}


@request
def eval_output(folder: Path) -> Asked:
    return "eval", {"cells": [{"language": "py", "code": f"print('{LONG}\\n' * 20000)"}]}


@request
def write_of_a_long_row_key(folder: Path) -> Asked:
    database(folder, "CREATE TABLE t (id TEXT PRIMARY KEY, a)")
    return "write", {"path": f"a.db:t:{'k' * 100_000}", "content": "{}"}


@request
def write_of_an_entry_with_a_long_name(folder: Path) -> Asked:
    return "write", {"path": f"a.zip:{'n' * 60_000}", "content": "text"}


@request
def write_of_a_file_with_a_long_name(folder: Path) -> Asked:
    return "write", {"path": "n" * 100_000, "content": "text"}


@request
def write_of_a_huge_row(folder: Path) -> Asked:
    database(folder, "CREATE TABLE t (a)")
    return "write", {"path": "a.db:t", "content": json.dumps({"b" * 100_000: 1})}


@request
def edit_of_a_file_with_a_long_name(folder: Path) -> Asked:
    return "edit", {"input": f"¶{'n' * 100_000}#0000\n1:x"}


@request
def edit_of_many_missing_files(folder: Path) -> Asked:
    return "edit", {"input": "\n".join(f"¶{number}{LONG}#0000\nreplace 1..1:\n+x" for number in range(400))}


@request
def todo_with_long_tasks(folder: Path) -> Asked:
    return "todo", {"ops": [{"op": "init", "list": [{"phase": "p" * 100_000, "items": ["t" * 100_000]}]}]}


@request
def todo_with_many_wrong_operations(folder: Path) -> Asked:
    return "todo", {"ops": [{"op": "done", "task": f"{number}{LONG}"} for number in range(1_000)]}


@request
def task_of_a_huge_agent(folder: Path) -> Asked:
    tasks = [{"assignment": "a" * 100_000, "id": "i" * 40} for _ in range(10)]
    return "task", {"agent": "n" * 100_000, "context": "c", "tasks": tasks}


@request
def message_to_a_huge_name(folder: Path) -> Asked:
    return "irc", {"op": "send", "to": "n" * 100_000, "message": "m" * 100_000}


@request
def jobs_that_do_not_exist(folder: Path) -> Asked:
    return "job", {"cancel": [f"{number}{LONG}" for number in range(1_000)]}


@request
def answer_of_the_user(folder: Path) -> Asked:
    return "ask", {"questions": [{"question": "Which?", "options": ["a" * 100_000, "b"]}]}


@request
def unknown_host(folder: Path) -> Asked:
    return "ssh", {"host": "h" * 100_000, "command": "ls"}


@request
def place_without_a_server(folder: Path) -> Asked:
    return "lsp", {"action": "hover", "file": "f" * 100_000}


@request
def program_without_a_debugger(folder: Path) -> Asked:
    return "debug", {"action": "launch", "program": "p" * 100_000}


@request
def search_without_a_provider(folder: Path) -> Asked:
    return "web_search", {"query": "q" * 100_000}


@request
def browser(folder: Path) -> Asked:
    return "browser", {"action": "run", "name": "n" * 100_000, "code": "return tab.url()"}


@request
def search_of_issues(folder: Path) -> Asked:
    return "github", {"op": "search_issues", "query": "q" * 100_000}


@request
def goal_of_a_checkpoint(folder: Path) -> Asked:
    return "checkpoint", {"goal": "g" * 100_000}


@request
def report_of_an_investigation(folder: Path) -> Asked:
    return "rewind", {"report": "r" * 100_000}


@request
def preview_with_a_long_title(folder: Path) -> Asked:
    return "resolve", {"action": "discard"}


@request
def answer_about_an_image(folder: Path) -> Asked:
    (folder / "a.png").write_bytes(
        base64.b64decode(
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC"
        )
    )
    return "inspect_image", {"path": "a.png", "question": "What is it?"}


@request
def recall_without_a_backend(folder: Path) -> Asked:
    return "recall", {"query": "q" * 100_000}


@request
def question_without_a_backend(folder: Path) -> Asked:
    return "reflect", {"query": "q" * 100_000}


@request
def retain_without_a_backend(folder: Path) -> Asked:
    return "retain", {"items": [{"content": "c" * 100_000}]}


@request
def memory_edit_with_a_long_id(folder: Path) -> Asked:
    return "memory_edit", {"op": "forget", "id": "i" * 100_000}


class NoParams(Struct):
    pass


class Flood(tau.Tool[NoParams]):
    """A tool of someone else, which has no caps."""

    name, label, description = "flood", "Flood", "Returns too much."

    async def run(self, params: NoParams, ctx: tau.ToolContext) -> tau.ToolOutput:
        return tau.ToolOutput.text(MANY)


@request
def tool_without_caps(folder: Path) -> Asked:
    return "flood", {}


@pytest.fixture(scope="module", autouse=True)
def loaded_tools() -> None:
    """Import what sessions need before the first test: no test is about the time that takes."""
    assert tau.create_session
    create_tools(tuple(TOOLS), ToolParts(Settings()))


def result_of(folder: Path, tool: str, arguments: dict[str, Any]) -> ToolResultMessage:
    """Run one call in a session; what the model gets of it."""
    script: list[list[FauxStep]] = [[Use(tool, **arguments)], [Say("a" * 100_000)]]
    options = tau.SessionOptions(
        cwd=folder,
        stream=Faux(script).stream,
        save=False,
        tools=tuple(TOOLS),
        add_tools=(Flood(),),
        settings={"tools.approvalMode": "yolo", "checkpoint.enabled": True},
        ui=FakeUi(["a" * 100_000]),
    )

    async def main() -> ToolResultMessage:
        async with tau.create_session(options) as session:
            await session.prompt("Do it.")
            return next(each for each in session.log.messages() if isinstance(each, ToolResultMessage))

    return asyncio.run(main())


@pytest.mark.parametrize("name", REQUESTS)
def test_read_gave_15_mb_of_a_zip_listing(name: str, tmp_path: Path) -> None:
    """Every tool and reader is asked for something huge."""
    tool, arguments = REQUESTS[name](tmp_path)
    result = result_of(tmp_path, tool, arguments)
    text = text_of(result.content)
    assert len(text.encode()) <= LIMITS.bytes + NOTICES
    assert len(lines_of(text)) <= LIMITS.lines + 20
    assert result.is_error or len(text) > 100, text
    if tool in PAGED and not result.is_error:
        assert "artifact://" not in text, "it must say how to see the rest, not be cut by the session"


def test_whole_output_of_a_tool_without_caps_is_an_artifact(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [[Use("flood")], [Use("read", path="artifact://0:19999-")], [Say("ok")]]
    options = tau.SessionOptions(
        cwd=tmp_path, stream=Faux(script).stream, save=False, tools=("read",), add_tools=(Flood(),)
    )

    async def main() -> list[str]:
        async with tau.create_session(options) as session:
            await session.prompt("Do it.")
            messages = session.log.messages()
            return [text_of(each.content) for each in messages if isinstance(each, ToolResultMessage)]

    cut, end = asyncio.run(main())
    assert cut.startswith(MANY[:100]) and "full output: artifact://0" in cut
    assert end.splitlines()[2] == f"20000:{MANY.splitlines()[-1]}"


def test_every_tool_is_asked_for_something_huge(tmp_path: Path) -> None:
    asked = {make(_fresh(tmp_path, name))[0] for name, make in REQUESTS.items()}
    assert asked >= set(TOOLS)


def _fresh(folder: Path, name: str) -> Path:
    path = folder / name
    path.mkdir()
    return path
