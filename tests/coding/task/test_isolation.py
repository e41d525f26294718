"""Isolated agents work in copies; their changes are merged, or kept and named, never lost."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tau.ai.faux import Act, Say, Use
from tau.coding.session.session import Session
from tests.coding.task.play import Play, finish, session_of, task, yielded

COMMIT = "git -c user.name=a -c user.email=a@a commit"
YOLO = {"tools.approvalMode": "yolo"}


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q")
    (root / "a.txt").write_text("one\ntwo\nthree\nfour\nfive\n")
    (root / "b.txt").write_text("b\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "first")
    return root


def work(
    repository: Path,
    command: str,
    *,
    mode: str = "worktree",
    before: Any = None,
    sandbox: str = "off",
    **settings: Any,
) -> tuple[Any, str]:
    """The result of one isolated agent that runs a command; `before` acts on the original meanwhile."""

    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        if turn == 0:
            return [Use("bash", command=command)]
        return [Act(before or (lambda: None)), *yielded("done")]

    async def main() -> tuple[Any, str]:
        play = Play([[task("work", id="W", isolated=True)], [Say("ok")]], agent)
        chosen = {
            "task.isolation.mode": mode,
            "sandbox.mode": sandbox,
            **YOLO,
            **{f"task.isolation.{k}": v for k, v in settings.items()},
        }
        async with session_of(play, repository, settings=chosen) as session:
            await session.prompt("go")
            await finish(session)
            return result_of(session), str(session.team().roster.agents["W"].workspace.folder)  # type: ignore[union-attr]

    return asyncio.run(main())


def result_of(session: Session) -> Any:
    assert session.team is not None
    result = session.team().result("W")
    assert result is not None
    return result


@pytest.mark.parametrize("mode", ["worktree", "copy", "overlay", "fuse-overlay"])
def test_changes_of_every_kind_arrive(repository: Path, mode: str) -> None:
    (repository / "staged.txt").write_text("staged\n")
    git(repository, "add", "staged.txt")
    (repository / "untracked.txt").write_text("untracked\n")
    (repository / "b.txt").write_text("b dirty\n")
    command = (
        "cat staged.txt untracked.txt b.txt && sed -i s/one/ONE/ a.txt && git mv b.txt c.txt && "
        f"{COMMIT} -qam agent && printf '\\0\\1' > bin && ln -s a.txt link && chmod +x untracked.txt && "
        "rm staged.txt && git stash list && git config user.x y"
    )
    result, folder = work(repository, command, mode=mode)
    assert result.merged is True, result.notes
    assert (repository / "a.txt").read_text().startswith("ONE\n")
    assert not (repository / "b.txt").exists() and (repository / "c.txt").read_text() == "b dirty\n"
    assert (repository / "bin").read_bytes() == b"\0\1"
    assert (repository / "link").is_symlink()
    assert (repository / "untracked.txt").stat().st_mode & 0o100
    assert not (repository / "staged.txt").exists()
    assert git(repository, "log", "--format=%s") == "first\n"
    assert "y" not in git(repository, "config", "--list").splitlines()
    assert not Path(folder).exists()


def test_overlay_works_in_the_sandbox_and_is_unmounted_at_the_end(repository: Path) -> None:
    """Skips nothing: where overlays or sandboxes do not work, others take their place."""
    result, folder = work(
        repository,
        "cat a.txt > copy.txt; git status --short; touch ../outside",
        mode="auto",
        sandbox="auto",
        apply=False,
    )
    assert result.merged is False, result.notes
    assert Path(folder, "upper" if Path(folder, "upper").exists() else "files", "copy.txt").exists()
    assert not Path(folder, "outside").exists()
    assert not Path(folder, "files").is_mount()


def test_parent_edits_elsewhere_in_the_file_are_kept(repository: Path) -> None:
    def edit() -> None:
        path = repository / "a.txt"
        path.write_text(path.read_text().replace("five", "FIVE"))

    result, _ = work(repository, "sed -i s/one/ONE/ a.txt", before=edit)
    assert result.merged is True, result.notes
    assert (repository / "a.txt").read_text() == "ONE\ntwo\nthree\nfour\nFIVE\n"


def test_conflict_keeps_both_sides_and_names_the_copy(repository: Path) -> None:
    def edit() -> None:
        (repository / "a.txt").write_text("PARENT\ntwo\nthree\nfour\nfive\n")

    result, folder = work(repository, "sed -i s/one/AGENT/ a.txt; echo new > new.txt", before=edit)
    assert result.merged is False and result.workspace == folder
    assert (repository / "a.txt").read_text().startswith("PARENT")
    assert not (repository / "new.txt").exists()  # all or nothing
    assert (Path(folder) / "files" / "a.txt").read_text().startswith("AGENT")
    assert "AGENT" in Path(result.patch_path).read_text()


def test_untracked_file_of_the_same_name_is_never_overwritten(repository: Path) -> None:
    def create() -> None:
        (repository / "new.txt").write_text("mine\n")

    result, folder = work(repository, "echo agent > new.txt", before=create)
    assert result.merged is False
    assert (repository / "new.txt").read_text() == "mine\n"
    assert (Path(folder) / "files" / "new.txt").exists()


def test_same_change_on_both_sides_merges(repository: Path) -> None:
    def edit() -> None:
        (repository / "b.txt").write_text("same\n")

    result, folder = work(repository, "echo same > b.txt", before=edit)
    assert result.merged is True and not Path(folder).exists()


def test_without_apply_the_patch_and_the_copy_stay(repository: Path) -> None:
    result, folder = work(repository, "echo x > b.txt", apply=False)
    assert result.merged is False and Path(folder).exists()
    assert (repository / "b.txt").read_text() == "b\n"


def test_nested_repository_keeps_the_copy(repository: Path) -> None:
    command = f"mkdir in && cd in && git init -q && echo x > f && git add f && {COMMIT} -qm x"
    result, folder = work(repository, command)
    assert Path(folder).exists() and "repositories inside" in " ".join(result.notes)


def test_branch_has_the_commit_and_files_are_merged(repository: Path) -> None:
    result, _ = work(repository, "echo x > b.txt", merge="branch")
    assert result.branch_name == "tau/task/W"
    assert git(repository, "show", "tau/task/W:b.txt") == "x\n"
    assert (repository / "b.txt").read_text() == "x\n"


def test_too_much_to_copy_is_refused(repository: Path) -> None:
    (repository / "big").write_bytes(b"x" * 5000)
    result, _ = work(repository, "true", maxBytes=1000)
    assert result.outcome == "failed" and "task.isolation.maxBytes" in str(result.error)


def test_no_repository_is_an_error(tmp_path: Path) -> None:
    play = Play([[task("x", isolated=True)], [Say("ok")]], lambda assignment, turn: yielded())

    async def main() -> None:
        async with session_of(play, tmp_path, settings={"task.isolation.mode": "auto"}) as session:
            await session.prompt("go")
            assert "requires a git repository" in str(session.log.messages()[2])
            assert not play.agent_requests

    asyncio.run(main())


@pytest.mark.parametrize("tool", ["write", "bash"])
def test_absolute_paths_into_the_original_are_refused(repository: Path, tool: str) -> None:
    target = repository / "a.txt"
    call = {
        "write": Use("write", path=str(target), content="gone"),
        "bash": Use("bash", command=f"cd '{repository}' && echo gone > a.txt"),
    }[tool]

    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return [call] if turn == 0 else yielded("done")

    async def main() -> str:
        play = Play([[task("work", id="W", isolated=True)], [Say("ok")]], agent)
        async with session_of(
            play, repository, settings={"task.isolation.mode": "worktree", **YOLO}
        ) as session:
            await session.prompt("go")
            await finish(session)
            return str(play.agent_requests[1].messages[-1])

    assert "You work in a copy of" in asyncio.run(main())
    assert target.read_text().startswith("one")


def test_undo_reverts_merged_changes(repository: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return (
            [Use("bash", command="sed -i s/one/ONE/ a.txt; echo n > n.txt")] if turn == 0 else yielded("done")
        )

    async def main() -> None:
        play = Play([[task("work", id="W", isolated=True)], [Say("ok")]], agent)
        settings = {"task.isolation.mode": "worktree", "async.enabled": False, **YOLO}
        async with session_of(play, repository, settings=settings) as session:
            await session.prompt("go")
            assert (repository / "n.txt").exists()
            assert session.recorder is not None
            await session.recorder.change_back(lambda undo: undo.plan())

    asyncio.run(main())
    assert (repository / "a.txt").read_text().startswith("one\n") and not (repository / "n.txt").exists()


def test_copy_has_actions_until_it_is_gone(repository: Path) -> None:
    def agent(assignment: str, turn: int):  # type: ignore[no-untyped-def]
        return [Use("bash", command="echo n > n.txt")] if turn == 0 else yielded("done")

    async def main() -> list[bool]:
        orders = [[task("work", id="W", isolated=True)], [Say("ok")], [task("look", id="L")], [Say("ok")]]
        settings = {"task.isolation.mode": "worktree", "task.isolation.apply": False, **YOLO}
        async with session_of(Play(orders, agent), repository, settings=settings) as session:
            for prompt in ("go", "and look"):
                await session.prompt(prompt)
                await finish(session)
            assert session.team is not None
            team = session.team()
            found = [team.has_copy("W"), team.has_copy("L")]
            await team.discard("W")
            return [*found, team.has_copy("W")]

    assert asyncio.run(main()) == [True, False, False]
