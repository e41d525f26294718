"""A file that the user's rules deny is denied under every name, in every tool, and to commands."""

import asyncio
import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of

SECRET = "TOP_SECRET_VALUE"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a denied file, other names of it, and an archive that contains it."""
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    for name in (".env", "sub/.env"):
        (project / name).write_text(f"KEY={SECRET}\n")
    (project / "code.py").write_text("KEY = 1\n")
    os.link(project / ".env", project / "notes.txt")
    os.link(project / "sub/.env", project / "other.py")
    (project / "link.txt").symlink_to(".env")
    with closing(sqlite3.connect(project / "sub/keys.db")) as database:
        database.execute(f"create table keys as select '{SECRET}' as key")
        database.commit()
    os.link(project / "sub/keys.db", project / "data.db")
    with tarfile.open(project / "a.tar", "w") as archive:
        archive.add(project / ".env", ".env")
        archive.add(project / ".env", "sub/.env")
        archive.add(project / "code.py", "code.py")
    return project


async def call(project: Path, *calls: tuple[str, dict[str, Any]], mode: str = "workspace") -> str:
    """What the model gets from some calls, with `.env` denied."""
    script: list[list[FauxStep]] = [[Use(name, **arguments)] for name, arguments in calls]
    options = tau.SessionOptions(
        cwd=project,
        stream=Faux([*script, [Say("ok")]]).stream,
        save=False,
        settings={"tools.approvalMode": mode, "tools.deny": ["read: ./.env", "read: ./sub/**"]},
    )
    async with tau.create_session(options) as session:
        await session.prompt("go")
        results = [each for each in session.log.messages() if isinstance(each, ToolResultMessage)]
    assert len(results) == len(calls)
    return "\n".join(text_of(each.content) for each in results)


READS = {
    "its path": ("read", {"path": ".env"}),
    "a hard link": ("read", {"path": "notes.txt"}),
    "a hard link of a file below a denied folder": ("read", {"path": "other.py"}),
    "a symbolic link": ("read", {"path": "link.txt"}),
    "a wrong folder, which finds the file by its name": ("read", {"path": "x/.env"}),
    "a member of an archive": ("read", {"path": "a.tar:.env"}),
    "a member in a folder of an archive": ("read", {"path": "a.tar:sub/.env"}),
    "another name of a database": ("read", {"path": "data.db:keys"}),
    "an edit of a hard link": ("edit", {"path": "notes.txt", "old_text": "KEY", "new_text": "K"}),
    "a search in a member": ("search", {"pattern": "KEY", "paths": ["a.tar:.env"]}),
    "a search in its folder": ("search", {"pattern": "KEY", "paths": ["."]}),
    "a search in it": ("search", {"pattern": "KEY", "paths": [".env", "notes.txt"]}),
    "a search for code": ("ast_grep", {"pat": "KEY=$X", "paths": ["."]}),
    "a command": ("bash", {"command": "cat .env notes.txt sub/.env other.py link.txt"}),
    "a command that makes a link": (
        "bash",
        {"command": "ln .env x; cat x; tar cf b.tar .env; tar xOf b.tar"},
    ),
    "a cell": ("eval", {"cells": [{"language": "py", "code": "print(open('.env').read())"}]}),
}


@pytest.mark.parametrize("way", READS)
def test_denied_file_is_not_read_by(way: str, project: Path) -> None:
    text = asyncio.run(call(project, READS[way]))
    assert SECRET not in text
    assert text


def test_denied_files_stay_denied_in_yolo_mode(project: Path) -> None:
    text = asyncio.run(call(project, READS["a hard link"], READS["a search in its folder"], mode="yolo"))
    assert SECRET not in text
    assert "code.py" in text  # the rest is found


def test_other_members_of_an_archive_are_read(project: Path) -> None:
    text = asyncio.run(call(project, ("read", {"path": "a.tar:code.py"}), ("read", {"path": "code.py"})))
    assert text.count("KEY = 1") == 2
