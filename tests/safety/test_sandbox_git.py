"""Git in a sandbox: the usual operations work; what runs programs cannot be changed or added unnoticed."""

import asyncio
import os
from pathlib import Path

import pytest

from tau.agent.events import Notice
from tau.ai.faux import Faux, Say, Use
from tau.backends.sandbox.git_config import is_harmless, keep_harmless
from tau.sdk import SessionOptions, create_session
from tests.safety.sandbox_rig import ENGINES, Inside, Place, git, in_sandbox
from tests.support.idle import until
from tests.support.limits import HANG_S

OPERATIONS = (
    "git status --short",
    "echo two >> a.txt && git add a.txt",
    "git commit -qm second",
    "git commit --amend -qm 'second, again'",
    "git branch topic",
    "git checkout -q topic",
    "echo three >> a.txt && git commit -qam third",
    "git switch -q main",
    "echo four > b.txt && git add . && git commit -qm fourth",
    "git rebase -q main topic",
    "git checkout -q main && git merge -q topic",
    "echo x >> a.txt && git stash",
    "git stash pop",
    "git checkout -- a.txt",
    "git reset -q --hard HEAD~1",
    "git tag v1",
    "git cherry-pick topic",
    "git revert --no-edit HEAD",
    "git worktree add -q ../project/wt topic2 2>/dev/null || git worktree add -q wt -b topic2",
    "cd wt && echo in worktree > c.txt && git add . && git commit -qm fifth",
    "git worktree remove wt",
    'git fetch -q "$REMOTE" main',
    "git gc -q",
    "git mv b.txt d.txt && git commit -qm moved",
    "git log --oneline | wc -l && git fsck",
)


@pytest.mark.parametrize("engine", ENGINES)
def test_operations_work(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    place.init(place.project)
    remote = place.init(place.outside / "remote")

    async def work(inside: Inside) -> list[str]:
        failed = []
        for command in OPERATIONS:
            done = await inside.run(command, REMOTE=str(remote))
            if done.exit.code != 0:
                failed.append(f"{command}: {done.output.decode()}")
            for note in inside.sandbox.check_repositories():
                if "New Git repository" not in note:
                    failed.append(f"{command}: {note}")
        return failed

    assert in_sandbox(place, work, engine) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_commit_in_a_linked_worktree_whose_repository_is_elsewhere(tmp_path: Path, engine: str) -> None:
    place = Place(tmp_path)
    main = place.init(place.outside / "main")
    place.project.rmdir()
    git(main, "worktree", "add", "-q", str(place.project), "-b", "work")

    async def work(inside: Inside) -> str:
        text = await inside.text(
            "echo 1 > new && git add . && git commit -qm one && git log --oneline | wc -l"
        )
        return text + await inside.text(
            f"echo '[x]' >> {main}/.git/config; echo > {main}/.git/hooks/post-commit"
        )

    text = in_sandbox(place, work, engine)
    assert text.startswith("2\n"), text
    assert "[x]" not in (main / ".git/config").read_text()
    assert not os.access(main / ".git/hooks/post-commit", os.X_OK)


# The file to be disabled, and the commands that make it.
NEW_PROGRAMS = {
    "hook": ("new/.git/hooks/x", "git init -q new", "cd new/.git/hooks", "echo > x", "chmod +x x"),
    "config": ("new/.git/config", "git init -q new", "git -C new config core.fsmonitor /bin/evil"),
    "bare": ("b/config", "git init -q --bare b", "git -C b config core.fsmonitor /bin/evil"),
    "copied": (
        "nested/.git/hooks/x",
        *("cp -r nested/.git evil", "mv nested nested2", "mkdir nested", "mv evil nested/.git"),
        *("cd nested/.git/hooks", "echo > x", "chmod +x x"),
    ),
    "moved in": (
        "moved/.git/config",
        *("git init -q $TMPDIR/r", "git -C $TMPDIR/r config alias.st '!evil'", "mv $TMPDIR/r moved"),
    ),
    "commondir": (".git/commondir", "echo ../evil > .git/commondir"),
    "first hook": (
        "nohooks/.git/hooks/x",
        *("mkdir nohooks/.git/hooks", "cd nohooks/.git/hooks", "echo > x", "chmod +x x"),
    ),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", NEW_PROGRAMS)
def test_new_programs_of_git_are_reported_and_disabled(tmp_path: Path, engine: str, way: str) -> None:
    file, *commands = NEW_PROGRAMS[way]
    command = " && ".join(commands)
    place = Place(tmp_path)
    place.init(place.project)
    place.init(place.project / "nested")
    place.init(place.project / "nohooks")
    for path in (place.project / "nohooks/.git/hooks").iterdir():
        path.unlink()
    (place.project / "nohooks/.git/hooks").rmdir()

    async def work(inside: Inside) -> list[str]:
        done = await inside.run(command)
        assert done.exit.code == 0, done.output
        notes = inside.sandbox.check_repositories()
        assert inside.sandbox.check_repositories() == []  # each is reported once
        return notes

    notes = in_sandbox(place, work, engine)
    path = place.project / file
    assert any(str(path) in note and "disabled" in note for note in notes), notes
    assert not path.exists() or not os.access(path, os.X_OK)
    if path.name == "config":
        assert "evil" not in path.read_text()


def test_a_hook_that_a_background_job_makes_is_disabled_when_it_ends(tmp_path: Path) -> None:
    hook = tmp_path / "new/.git/hooks/pre-commit"
    command = f"git init -q new && echo > {hook} && chmod +x {hook} && git -C new config core.fsmonitor evil"
    faux = Faux([[Use("bash", command=command, **{"async": True})], [Say("ok")]])
    noted: list[str] = []

    async def main() -> None:
        options = SessionOptions(cwd=tmp_path, stream=faux.stream, save=False)
        async with create_session(options) as session:
            session.subscribe(
                lambda event: noted.append(event.message) if isinstance(event, Notice) else None
            )
            await session.prompt("go")
            await until(lambda: len(noted) >= 3, HANG_S, lambda: f"only {noted}")

    asyncio.run(main())
    assert any(f"{hook}" in note and "disabled" in note for note in noted), noted
    assert not os.access(hook, os.X_OK) and "evil" not in (tmp_path / "new/.git/config").read_text()


def test_disabled_hook_can_be_kept(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.project)
    hook = place.project / "new/.git/hooks/pre-commit"

    async def work(inside: Inside) -> list[str]:
        await inside.run(f"git init -q new; echo > {hook}; chmod +x {hook}")
        inside.sandbox.check_repositories()
        assert not os.access(hook, os.X_OK)
        assert inside.sandbox.guard is not None
        inside.sandbox.guard.keep(hook)
        return inside.sandbox.check_repositories()

    assert in_sandbox(place, work) == []
    assert os.access(hook, os.X_OK)


def test_repository_behind_a_link_in_place_of_a_folder_is_not_reported_as_new(tmp_path: Path) -> None:
    place = Place(tmp_path)
    place.init(place.outside / "other")
    (place.project / "sub").mkdir()

    async def work(inside: Inside) -> list[str]:
        await inside.run(f"rmdir sub && ln -s {place.outside} sub")
        return inside.sandbox.check_repositories()

    assert in_sandbox(place, work) == []


def test_new_repository_works_in_the_next_command(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def work(inside: Inside) -> tuple[list[str], str]:
        await inside.run("git init -q new && echo 1 > new/a")
        notes = inside.sandbox.check_repositories()
        return notes, await inside.text("cd new && git add . && git commit -qm one && git log --format=%s")

    notes, text = in_sandbox(place, work)
    assert notes == [f"New Git repository: {place.project / 'new'}."]
    assert text == "one\n"


HARMLESS = """
[core]
	repositoryformatversion = 0
	bare = false
# a comment
[remote "origin"]
	url = https://example.com/x.git
	fetch = +refs/heads/*:refs/remotes/origin/*
[branch "main"] remote = origin
"""


def test_config_of_a_fresh_clone_is_harmless() -> None:
    assert is_harmless(HARMLESS)
    assert is_harmless("")


@pytest.mark.parametrize(
    "text",
    [
        "[core]\nfsmonitor = /bin/evil",
        "[core] fsmonitor = /bin/evil",
        "[Core]\n\tFsMonitor=/bin/evil",
        "[core]\nfsmon\\\nitor = evil",
        '[filter "x"]\nclean = evil',
        "[include]\npath = ../evil",
        '[includeIf "gitdir:/"]\npath = ../evil',
        "[alias]\nst = !evil",
        '[remote "x"]\nurl = ext::sh -c evil',
        '[remote "x"]\nuploadpack = evil',
        "[core]\nbare = false\nsshCommand = evil",
        "[diff]\nexternal = evil",
        "[gpg]\nprogram = evil",
        "garbage = evil",
        "[credential]\nhelper = !evil",
    ],
)
def test_config_that_could_run_a_program_is_stripped(text: str) -> None:
    assert not is_harmless(text)
    assert "evil" not in keep_harmless(text)
    assert is_harmless(keep_harmless(text))
