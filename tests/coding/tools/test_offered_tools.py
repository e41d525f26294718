"""Tools that a request includes: those that can be used now."""

import asyncio
import os
from contextlib import nullcontext
from itertools import repeat
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.ai.faux import Faux, Say, Use
from tau.coding.files import source_files
from tau.coding.files.source_files import CodeDetector

PREVIEW = Use("ast_edit", ops=[{"pat": "print($A)", "out": "log($A)"}], paths="a.py")
APPLY = Use("resolve", action="apply")


def requests_of(folder: Path, script: Any, *, plan: bool = False, **more: Any) -> list[list[str]]:
    """The names of the tools in each request of a session."""
    faux = Faux(script)

    async def main() -> None:
        options = tau.SessionOptions(cwd=folder, stream=faux.stream, save=False, **more)
        async with tau.create_session(options) as session:
            if plan:
                session.plan.enter()
            await session.prompt("go")

    asyncio.run(main())
    return [[tool.name for tool in request.tools] for request in faux.requests]


def test_resolve_is_paid_for_only_while_a_preview_waits(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    sent = requests_of(tmp_path, [[PREVIEW], [APPLY], [Say("Done.")]])
    assert ["resolve" in names for names in sent] == [False, True, False]
    assert (tmp_path / "a.py").read_text() == "log(1)\n"


def test_preview_applied_in_the_same_answer_is_not_lost(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("print(1)\n")
    requests_of(tmp_path, [[PREVIEW, APPLY], [Say("Done.")]])
    assert (tmp_path / "a.py").read_text() == "log(1)\n"


def test_plan_can_be_submitted_at_any_time(tmp_path: Path) -> None:
    write = Use("write", path="local://plan.md", content="# A plan")
    sent = requests_of(tmp_path, [[write], [APPLY], [APPLY], [Say("Here it is.")]], plan=True)
    assert ["resolve" in names for names in sent] == [True] * 4


@pytest.mark.parametrize("name", ("src/app.py", "deep/er/main.go", "Rakefile"))
def test_structural_tools_are_offered_where_there_is_code(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    [sent] = requests_of(tmp_path, [[Say("Hi.")]])
    assert {"ast_grep", "ast_edit"} <= set(sent)


@pytest.mark.parametrize("name", ("notes.md", "data.json", ".cache/tool.py", "ci.yml", "a.bin"))
def test_folder_without_code_does_not_pay_for_structural_tools(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()
    [sent] = requests_of(tmp_path, [[Say("Hi.")]])
    assert not {"ast_grep", "ast_edit"} & set(sent)


def test_tools_named_by_the_user_are_offered_everywhere(tmp_path: Path) -> None:
    [sent] = requests_of(tmp_path, [[Say("Hi.")]], tools=("ast_grep", "ast_edit", "read"))
    assert sent == ["read", "ast_grep", "ast_edit"]


def test_code_in_an_added_folder_counts(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "a.rs").touch()
    [sent] = requests_of(tmp_path / "here", [[Say("Hi.")]], add_dirs=(tmp_path / "there",))
    assert "ast_grep" in sent


def test_first_code_file_brings_the_structural_tools(tmp_path: Path) -> None:
    code = CodeDetector([tmp_path], rescan_s=0)
    assert not code.found
    (tmp_path / "a.py").touch()
    assert code.found
    (tmp_path / "a.py").unlink()
    assert code.found  # a request's tools change as rarely as possible: servers cache them


def test_huge_folder_counts_as_code_without_being_searched(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.bin").touch()
    assert CodeDetector([tmp_path], max_entries=20).found
    assert not CodeDetector([tmp_path], max_entries=200).found


def test_busy_machine_offered_structural_tools_for_a_folder_of_notes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source_files, "SCAN_S", -1)
    for number in range(200):
        (tmp_path / f"{number}.txt").touch()
    assert not CodeDetector([tmp_path]).found
    (tmp_path / "one more.txt").touch()
    assert CodeDetector([tmp_path]).found


def test_endless_folder_does_not_hold_the_first_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").touch()
    with os.scandir(tmp_path) as entries:
        [entry] = entries
    monkeypatch.setattr(os, "scandir", lambda path: nullcontext(repeat(entry)))
    assert CodeDetector([tmp_path]).found
