"""tau is killed right after a command: the next session judges what the command left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.safety.sandbox_rig import ENGINES, GIT_ENV, Inside, Place, in_sandbox, require

KILLED = """
import asyncio, sys
from pathlib import Path
from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
from tau.base.run import LocalRunner, capture
async def main():
    engine, project, records, command = sys.argv[1:]
    options = SandboxOptions(
        roots=(Path(project),), caches=Path(records).parent / "caches", records=Path(records), engine=engine,
        mode="required",
    )
    async with SessionSandbox(options, LocalRunner()) as sandbox:
        runner = LocalRunner(sandbox=sandbox)
        async with await runner.start(command, cwd=Path(project)) as process:
            print((await capture(process)).exit.code, flush=True)
        await asyncio.Event().wait()
asyncio.run(main())
"""


def run_and_kill(place: Place, engine: str, command: str) -> None:
    """Run a command in a session that is killed before it looks at what the command did."""
    require(engine)
    words = [sys.executable, "-c", KILLED, engine, str(place.project), str(place.records), command]
    env = {**os.environ, **GIT_ENV, "HOME": str(place.home)}
    with subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True) as tau:
        assert tau.stdout is not None
        assert tau.stdout.readline() == "0\n"
        tau.send_signal(signal.SIGKILL)


def open_next(place: Place, engine: str = "auto") -> list[str]:
    """Start the next session; returns what it reports."""
    notes: list[str] = []

    async def work(inside: Inside) -> None:
        await inside.run("true")

    in_sandbox(place, work, engine, warn=notes.append)
    return notes


def make_hook(folder: Path, name: str = "pre-commit") -> Path:
    hook = folder / ".git/hooks" / name
    hook.parent.mkdir(parents=True, exist_ok=True)
    hook.write_text("#!/bin/sh\n")
    hook.chmod(0o755)
    return hook


LEFT = {
    "hook of a new repository": (
        "new/.git/hooks/pre-commit",
        "git init -q new; cd new/.git/hooks; echo > pre-commit; chmod +x pre-commit",
    ),
    "setting of a new repository": ("new/.git/config", "git init -q new; git -C new config alias.st '!evil'"),
    "first hook": (
        "nohooks/.git/hooks/x",
        "mkdir nohooks/.git/hooks; cd nohooks/.git/hooks; echo > x; chmod +x x",
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", LEFT)
def test_hook_made_right_before_a_kill_is_new_in_the_next_session(
    tmp_path: Path, engine: str, way: str
) -> None:
    file, command = LEFT[way]
    place = Place(tmp_path)
    place.init(place.project)
    old = make_hook(place.project)
    bare = place.init(place.project / "nohooks") / ".git/hooks"
    for path in bare.iterdir():
        path.unlink()
    bare.rmdir()
    run_and_kill(place, engine, command)
    notes = open_next(place, engine)
    path = place.project / file
    assert any(str(path) in note and "disabled" in note for note in notes), notes
    assert not os.access(path, os.X_OK)
    assert "evil" not in path.read_text()
    assert os.access(old, os.X_OK)  # the user's own
    assert open_next(place, engine) == []
    assert list(place.records.iterdir()) == []


def test_a_hook_that_landlock_could_not_restore_before_a_kill_is_disabled(tmp_path: Path) -> None:
    place = Place(tmp_path)
    hook = make_hook(place.init(place.project))
    run_and_kill(place, "landlock", "echo evil >> .git/hooks/pre-commit; git config alias.st '!evil'")
    notes = open_next(place, "landlock")
    assert len([note for note in notes if "disabled" in note]) == 2, notes
    assert not os.access(hook, os.X_OK)
    assert "evil" not in (place.project / ".git/config").read_text()


def test_a_startup_file_made_before_a_kill_is_disabled_in_the_next_session(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.project = place.home
    run_and_kill(place, "auto", "echo evil > ~/.zshrc")
    assert any("New startup file" in note for note in open_next(place))
    assert not (place.home / ".zshrc").exists()


def test_a_session_in_a_folder_below_judges_what_the_killed_one_left(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (place.project / "sub").mkdir()
    run_and_kill(place, "auto", LEFT["hook of a new repository"][1])
    hook = place.project / LEFT["hook of a new repository"][0]
    place.project = place.project / "sub"
    assert any(str(hook) in note for note in open_next(place))
    assert not os.access(hook, os.X_OK)


def test_hooks_that_the_user_made_between_sessions_are_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.project)
    assert open_next(place) == []
    hooks = [make_hook(place.project), make_hook(place.init(place.project / "mine"))]
    assert open_next(place) == []
    assert all(os.access(hook, os.X_OK) for hook in hooks)


def test_a_session_leaves_the_record_of_a_running_one_alone(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def work(inside: Inside) -> tuple[list[str], int]:
        left = inside.sandbox._records.find_left([place.project])
        return [str(path) for path, _ in left], len(list(place.records.iterdir()))

    assert in_sandbox(place, work) == ([], 1)
