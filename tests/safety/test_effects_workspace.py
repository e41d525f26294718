"""Folders that the user adds belong to the workspace from the next call on."""

import asyncio
from pathlib import Path

import tau
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tau.coding.files.workspace_folders import WorkspaceFolders
from tests.safety.effects_rig import Trap


def test_added_folder_is_writable_and_named_in_the_prompt(trap: Trap) -> None:
    script: list[list[FauxStep]] = []
    for name in ("before", "after"):
        script += [[Use("write", path=f"../out/{name}.txt", content="x")], [Say("ok")]]

    async def main() -> list[str]:
        options = tau.SessionOptions(cwd=trap.ws, stream=Faux(script).stream, save=False, tools=("write",))
        async with tau.create_session(options) as session:
            await session.prompt("go")
            assert session.folders is not None
            assert str(trap.out) not in session.setup().system
            assert session.folders.add(trap.out) and not session.folders.add(trap.out)
            assert f"Also in the workspace: {trap.out}" in session.setup().system
            await session.prompt("go")
            messages = session.log.messages()
        return [text_of(each.content) for each in messages if isinstance(each, ToolResultMessage)]

    before, after = asyncio.run(main())
    assert "needs the user's approval" in before and "Created" in after
    assert not (trap.out / "before.txt").exists() and (trap.out / "after.txt").exists()


def test_folder_below_the_workspace_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "a")
    folders = WorkspaceFolders(tmp_path)
    assert not folders.add(tmp_path / "a") and not folders.add(tmp_path / "link")
    assert folders.all == (tmp_path,)
