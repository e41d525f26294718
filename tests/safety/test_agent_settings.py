"""A model or its commands cannot quietly change what agents may do and run in the workspace."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.agent.effects import Effects
from tau.ai.faux import Faux, Say
from tau.backends.sandbox.git_guard import MAX_FILE_BYTES, GitGuard
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import Workspace, decide
from tau.config.trust_locations import locations
from tests.safety.sandbox_rig import ENGINES, Inside, Place, in_sandbox
from tests.safety.test_ordinary_commands import CountingUi

RULES = '{"tools.deny": ["read: ./.env"]}'
FILES = {
    ".tau/settings.json": RULES,
    ".tau/hooks/check.sh": "true\n",
    ".mcp.json": "{}",
    ".claude/settings.json": "{}",
}
CHANGES = (
    "rm -rf .tau .mcp.json .claude",
    "mv .tau old; mkdir -p .tau; echo {} > .tau/settings.json",
    "mv .claude old; mkdir -p .claude; echo {} > .claude/settings.json",
    "for f in .tau/settings.json .tau/hooks/check.sh .mcp.json .claude/settings.json; do echo x > $f; done",
    "echo x > new && mv -f new .tau/settings.json; ln -sf /dev/null .mcp.json; chmod 777 .tau/hooks/check.sh",
)


@pytest.mark.parametrize("mode", ["ask", "workspace", "plan", "yolo"])
def test_write_to_settings_of_agents_asks_in_every_mode_but_yolo(tmp_path: Path, mode: Any) -> None:
    workspace = Workspace.of((tmp_path,))

    def verdict(name: str) -> str:
        effects = Effects(writes=(tmp_path / name,))
        return decide(effects, Permissions(mode=mode), workspace, demo=False, contained=True).verdict

    names = [location.path for location in locations()]
    below = [f"deep/er/{name}" for name in names] + [f"{name}/x" for name in names]
    expected = {"ask": "ask", "workspace": "ask", "plan": "deny", "yolo": "allow"}[mode]
    assert {verdict(name) for name in (*names, *below, ".TAU/Settings.json")} == {expected}
    if mode == "workspace":
        ordinary = (
            "src/a.py",
            ".tau/themes/x.json",
            ".github/workflows/ci.yml",
            "settings.json",
            "x/hooks/a",
        )
        assert {verdict(name) for name in ordinary} == {"allow"}


def test_link_to_settings_of_agents_asks(tmp_path: Path) -> None:
    (tmp_path / ".tau").mkdir()
    (tmp_path / ".tau/settings.json").write_text(RULES)
    (tmp_path / "notes.txt").symlink_to(".tau/settings.json")
    effects = Effects(writes=(tmp_path / "notes.txt",))
    permissions = Permissions(mode="workspace")
    verdict = decide(effects, permissions, Workspace.of((tmp_path,)), demo=False, contained=True)
    assert verdict.verdict == "ask"
    assert "change agent settings" in verdict.reason


@pytest.mark.parametrize("engine", ENGINES)
def test_commands_do_not_change_settings_of_agents(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    place.init(place.project / "nested")
    for name, text in FILES.items():
        for folder in (place.project, place.project / "nested"):
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    async def work(inside: Inside) -> None:
        for change in CHANGES:
            await inside.run(f"({change}); cd nested; {change}")
            inside.sandbox.check_repositories()
            for name, text in FILES.items():
                for folder in (place.project, place.project / "nested"):
                    assert (folder / name).read_text() == text, change
                    assert not (folder / name).is_symlink()
        assert (await inside.run("echo x > new.txt && mkdir -p .tau/themes")).exit.code == 0

    in_sandbox(place, work, engine)


def test_settings_that_a_tool_replaced_are_read_only_again(tmp_path: Path) -> None:
    place = Place(tmp_path)
    path = place.project / ".tau/settings.json"
    path.parent.mkdir()
    path.write_text("{}")

    async def work(inside: Inside) -> None:
        await inside.run("true")
        (path.parent / "new").write_text(RULES)
        (path.parent / "new").replace(path)
        assert (await inside.run("echo {} > .tau/settings.json")).exit.code != 0

    in_sandbox(place, work)
    assert path.read_text() == RULES


def test_large_hook_that_landlock_lets_commands_change_is_set_aside(tmp_path: Path) -> None:
    place = Place(tmp_path)
    hook = place.init(place.project) / ".git/hooks/pre-commit"
    hook.write_bytes(b"#!/bin/sh\n".ljust(MAX_FILE_BYTES + 1, b"#"))
    hook.chmod(0o755)
    guard = GitGuard([place.project])
    guard.restores = True
    guard.find()
    assert guard.check() == []
    with hook.open("r+b") as file:
        file.write(b"#!/bin/bad")
    [note] = guard.check()
    assert "too large to restore" in note
    assert not hook.exists()


class Notices(CountingUi):
    async def select(self, *_: Any, **__: Any) -> str | None:
        return None


def start(folder: Path, ui: Any) -> list[str]:
    async def main() -> list[str]:
        options = tau.SessionOptions(cwd=folder, stream=Faux([[Say("x")]]).stream, save=False, ui=ui)
        async with tau.create_session(options) as session:
            return [
                notice.message for notice in session.notices if "Since your last session" in notice.message
            ]

    return asyncio.run(main())


def test_rules_that_a_project_dropped_are_reported_at_the_next_start(tmp_path: Path) -> None:
    settings = tmp_path / ".tau/settings.json"
    settings.parent.mkdir()
    strict = {"tools.deny": ["read: ./.env", "run: sudo"], "tools.approvalMode": "ask"}
    settings.write_text(json.dumps(strict))
    assert start(tmp_path, Notices()) == []
    settings.write_text(json.dumps({"tools.deny": ["run: sudo"]}))
    for ui in (None, Notices()):  # without a person, it is not settled
        dropped, loosened = start(tmp_path, ui)
        assert 'dropped "read: ./.env" from tools.deny' in dropped
        assert 'loosened tools.approvalMode from "ask" to "workspace"' in loosened
    assert start(tmp_path, Notices()) == []
    (inner := tmp_path / "inner/.tau").mkdir(parents=True)  # a nearer folder takes the place of the outer one
    (tmp_path / ".git").mkdir()
    assert any("run: sudo" in notice for notice in start(inner.parent, Notices()))
    assert start(tmp_path, Notices()) == []
    settings.unlink()
    assert any("run: sudo" in notice for notice in start(tmp_path, Notices()))
