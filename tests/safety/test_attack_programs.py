"""Programs that commands leave on the search path, in an environment of the workspace: none runs outside."""

import asyncio
import os
import stat
from contextlib import suppress
from pathlib import Path

import pytest

from tau.backends.web.addresses import WebError
from tau.backends.web.converters import read_locally
from tau.base.programs import avoid_folders, find_program
from tau.base.run import OUTSIDE, LocalRunner, capture
from tau.coding.search import rg_command
from tests.e2e.program import Program
from tests.safety.contained_rig import ScriptedUi
from tests.safety.sandbox_rig import require
from tests.safety.test_attack_program import tau as tau
from tests.safety.test_network_transfers import add_commit, git, session
from tests.safety.test_network_transfers import place as place
from tests.support.fake_answers import Call

PLANTED = ("git", "rg", "bwrap", "gpgconf", "ssh", "sh", "touch")


def plant(folder: Path, ran: Path, *names: str) -> None:
    folder.mkdir(parents=True)
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho {name} >> {ran}\nexec /usr/bin/{name} "$@"\n')
        program.chmod(program.stat().st_mode | stat.S_IXUSR)


def test_program_of_the_workspace_does_not_run_outside(tau: Program, tmp_path: Path) -> None:
    require("auto")
    ran = tmp_path / "ran"
    programs = tau.project / ".venv/bin"
    plant(programs, ran, *PLANTED)
    git(tau.project, "init", "-q")
    (tau.project / "a.txt").write_text("needle\n")
    tau.script(
        Call("search", {"pattern": "needle", "path": "."}),
        Call("bash", {"command": "git commit -S -m x --allow-empty"}),
        Call("write", {"path": "b.txt", "content": "x"}),
        "Done.",
    )
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    tau.ask("Go.", PATH=path)
    tau.run("doctor", PATH=path)
    assert not ran.exists(), ran.read_text()


def test_converter_of_pages_is_not_one_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "bin", tmp_path / "ran", "trafilatura")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tau.base.programs._Avoided.folders", ())
    avoid_folders([tmp_path])

    async def main() -> None:
        runner = LocalRunner()
        with suppress(WebError):  # unless it is installed elsewhere
            await read_locally("trafilatura", "<p>Text</p>", runner)
        runner.close()

    asyncio.run(main())
    assert not (tmp_path / "ran").exists()


def test_command_that_runs_outside_finds_no_program_of_the_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(tmp_path / "bin", tmp_path / "ran", "touch")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tau.base.programs._Avoided.folders", ())
    rg_command.locate.cache_clear()
    assert find_program("touch") == str(tmp_path / "bin/touch")
    avoid_folders([tmp_path])
    assert find_program("touch") != str(tmp_path / "bin/touch")

    async def main() -> None:
        runner = LocalRunner()
        async with await runner.start("touch made", cwd=tmp_path, sandbox=OUTSIDE) as process:
            await capture(process)
        runner.close()

    asyncio.run(main())
    assert (tmp_path / "made").exists() and not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("commands", "ran"), [(False, False), (True, True)], ids=["editor or key command", "agent's command"]
)
def test_runner_without_a_sandbox_finds_programs_of_the_workspace_only_for_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commands: bool, ran: bool
) -> None:
    """Editors, pagers and commands that print keys run outside, by name, in a runner without a sandbox."""
    plant(tmp_path / "bin", tmp_path / "ran", "touch")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tau.base.programs._Avoided.folders", ())
    monkeypatch.chdir(tmp_path)

    async def main() -> None:
        own = LocalRunner()
        runner = own.inside(None) if commands else own
        for command in ("touch made", ("touch", "made")):
            async with await runner.start(command, cwd=tmp_path) as process:
                await capture(process)
        own.close()

    asyncio.run(main())
    assert (tmp_path / "made").exists() and (tmp_path / "ran").exists() is ran


def test_home_as_workspace_leaves_the_programs_of_the_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Path(os.environ["HOME"]) / ".local/bin"
    plant(own, tmp_path / "ran", "mine", "touch")
    monkeypatch.setenv("PATH", f"{own}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("tau.base.programs._Avoided.folders", ())
    avoid_folders([Path.home()])
    assert find_program("mine") == str(own / "mine")
    assert find_program("touch") not in (None, str(own / "touch"))
    avoid_folders([Path("/")])
    assert find_program("mine") == str(own / "mine")


def test_repository_that_commands_can_replace_keeps_its_transfers_inside(place: Path) -> None:
    """While a question is open, a command can move the folder and put another repository there."""

    async def main() -> None:
        nested = place / "work/nested"
        git(place, "init", "-q", "-b", "main", str(nested))
        git(nested, "remote", "add", "origin", "https://good.example/x.git")
        ui = ScriptedUi(0)
        async with session(place, ui) as rig:
            moved = await rig.run(
                "mv nested aside && mkdir nested && echo moved && rmdir nested && mv aside nested"
            )
            assert "moved" in moved
            text = await rig.run("git -C nested fetch")
            assert "stayed inside, because commands can replace the repository" in text
        assert not any("your keys" in title for title, _ in ui.asked)

    asyncio.run(main())


@pytest.mark.parametrize("name", ["remotes", "branches"])
def test_remote_that_commands_can_change_keeps_its_transfers_inside(place: Path, name: str) -> None:
    async def main() -> None:
        ui = ScriptedUi(0)
        async with session(place, ui) as rig:
            url = "https://good.example/x.git"
            await rig.run(
                f"mkdir -p .git/{name}; echo '{'URL: ' if name == 'remotes' else ''}{url}' > .git/{name}/new"
            )
            await rig.run("git fetch new")
        assert not any("your keys" in title for title, _ in ui.asked)

    asyncio.run(main())


def test_link_to_a_repository_is_followed_once(place: Path) -> None:
    """The question is about the repository that a link led to, and so is the transfer."""

    async def main() -> None:
        link, evil, ran = place / "work/link", place / "work/evil", place / "ran"
        git(place, "init", "-q", "-b", "main", str(evil))
        git(evil, "config", "core.sshCommand", f"touch {ran};")
        git(evil, "remote", "add", "origin", "ssh://good.example/x.git")
        link.symlink_to(place / "work")

        class Swap(ScriptedUi):
            async def select(self, *arguments: object, **more: object) -> str | None:
                link.unlink()
                link.symlink_to(evil)
                return await super().select(*arguments, **more)  # type: ignore[arg-type]

        async with session(place, Swap(1)) as rig:
            add_commit(place, "one")
            output = await rig.output("git -C link fetch")
            assert not output.is_error, output
            assert "one" in await rig.run("git log --format=%s origin/main")

    asyncio.run(main())
