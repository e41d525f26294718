"""A model or its commands cannot quietly change what agents may do and run in the workspace."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.agent.effects import Effects
from tau.ai.faux import Faux, Say
from tau.backends.sandbox.git_guard import MAX_FILE_BYTES, GitGuard
from tau.cli import trust_command
from tau.coding.approval.permissions import Permissions
from tau.coding.approval.policy import Workspace, decide
from tau.config.layers import load_settings
from tau.config.paths import user_paths
from tau.config.trust_locations import locations
from tau.modes.trust_question import ACCEPT, KEEP, ask_trust, run_command
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


class Answers(CountingUi):
    """Answers the questions about a project with these, then with nothing."""

    def __init__(self, *answers: str) -> None:
        super().__init__()
        self.answers = list(answers)

    async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str | None:
        self.asked.append(title)
        return self.answers.pop(0) if self.answers else None


def start(folder: Path, ui: Any = None) -> tuple[list[str], Permissions]:
    """What the next session says about dropped rules, and what holds in it."""

    async def main() -> tuple[list[str], Permissions]:
        if ui is not None:
            await ask_trust(ui, folder, user_paths())
        options = tau.SessionOptions(cwd=folder, stream=Faux([[Say("x")]]).stream, save=False, ui=ui)
        async with tau.create_session(options) as session:
            said = [notice.message for notice in session.notices]
            return [text for text in said if "Since your last session" in text], session.permissions.current

    return asyncio.run(main())


def denies(permissions: Permissions) -> tuple[str, ...]:
    return () if permissions.deny is None else permissions.deny.patterns


@pytest.fixture
def strict(tmp_path: Path) -> Path:
    """The settings of a project that the user has had a session in."""
    settings = tmp_path / ".tau/settings.json"
    settings.parent.mkdir()
    rules = {"tools.deny": ["read: ./.env", "run: sudo"], "tools.approvalMode": "ask"}
    settings.write_text(json.dumps(rules))
    assert start(tmp_path)[0] == []
    return settings


def test_rules_that_a_project_dropped_hold_until_the_user_accepts(tmp_path: Path, strict: Path) -> None:
    strict.write_text(json.dumps({"tools.deny": ["run: sudo"], "tools.ask": ["run: make"]}))
    for ui in (None, Answers()):  # nobody is there, and nobody decides
        (dropped, loosened), permissions = start(tmp_path, ui)
        assert 'dropped "read: ./.env" from tools.deny' in dropped
        assert 'no longer sets tools.approvalMode to "ask"' in loosened
        assert set(denies(permissions)) == {"read: ./.env", "run: sudo"} and permissions.mode == "ask"
    strict.unlink()  # what was added meanwhile counts as well
    notices, permissions = start(tmp_path, Answers(KEEP))
    assert notices == [] and set(denies(permissions)) == {"read: ./.env", "run: sudo"}
    assert permissions.ask is not None and permissions.ask.patterns == ("run: make",)
    assert start(tmp_path, asked := Answers())[0] == [] and asked.asked == []  # decided
    strict.write_text(json.dumps({"tools.deny": ["run: su"]}))
    notices, permissions = start(tmp_path, asked := Answers(ACCEPT))
    assert "run: sudo" in asked.asked[0] and "run: make" in asked.asked[0]
    assert notices == [] and denies(permissions) == ("run: su",) and permissions.mode == "workspace"
    assert start(tmp_path, asked := Answers()) == ([], permissions) and asked.asked == []


def test_rules_hold_for_single_calls_and_nearer_folders(tmp_path: Path, strict: Path) -> None:
    (tmp_path / ".git").mkdir()
    (inner := tmp_path / "inner/.tau").mkdir(parents=True)  # takes the place of the outer folder
    notices, permissions = start(inner.parent)
    assert any("run: sudo" in notice for notice in notices) and permissions.mode == "ask"
    assert set(denies(permissions)) == {f"read: {tmp_path}/.env", "run: sudo"}
    assert start(tmp_path)[0] == []
    strict.write_text("{}")
    (tmp_path / ".env").write_text("KEY")
    with pytest.raises(tau.TauError, match=r"in tools\.deny forbids it"):
        asyncio.run(tau.call_tool("read", {"path": ".env"}, cwd=tmp_path))


def test_user_accepts_with_the_command(
    tmp_path: Path, strict: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    strict.unlink()
    monkeypatch.chdir(tmp_path)
    assert trust_command.run(["show"]) == 0 and '"run: sudo" from tools.deny' in capsys.readouterr().out
    assert trust_command.run(["add"]) == 0
    assert trust_command.run(["show"]) == 0 and "run: sudo" not in capsys.readouterr().out
    assert denies(start(tmp_path)[1]) == ()
    assert asyncio.run(run_command("", Answers(), tmp_path, user_paths()))


def test_flag_of_the_user_beats_what_a_project_dropped(tmp_path: Path, strict: Path) -> None:
    strict.unlink()
    loaded = load_settings(user_paths(), tmp_path, flags={"tools.approvalMode": "yolo"}).settings
    assert loaded.tools.approval_mode == "yolo" and loaded.tools.deny == ["read: ./.env", "run: sudo"]
    (tmp_path / "run.json").write_text('{"tools.approvalMode": "plan"}')
    loaded = load_settings(user_paths(), tmp_path, files=[tmp_path / "run.json"]).settings
    assert loaded.tools.approval_mode == "plan"
