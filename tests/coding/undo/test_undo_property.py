"""Random turns of an agent and a user in one project: undo reverts exactly the agent's part."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tests.coding.undo.undo_rig import Actors, World, content, make_repository, tree_of

RUNS = 60
SOAK_RUNS = 500
FILES = {f"src/m{number}.py": f"value = {number}\n" * 3 for number in range(6)}


@contextmanager
def project(folder: Path, *, tracked: bool) -> Iterator[World]:
    work = folder / "work"
    work.mkdir(parents=True)
    files = {**FILES, "README.md": "# Read me\n", ".gitignore": "*.log\n"}
    if tracked:
        make_repository(work, files)
    else:
        for name, text in files.items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
    (work / "untouched.txt").write_text("mine\n")
    (work / "untouched.log").write_text("ignored by git\n")
    (work / "notes.txt").write_text("not tracked\n")
    world = World(work, folder / "home")
    try:
        yield world
    finally:
        world.close()


async def one_run(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    tracked = seed % 4 != 3
    with project(folder, tracked=tracked) as world:
        actors = Actors(world, chance, tracked=tracked)
        for turn in range(chance.randint(1, 3)):
            world.history.begin_turn(f"turn {turn}")
            actors.begin_turn()
            for _ in range(chance.randint(1, 6)):
                if chance.random() < 0.35:
                    actors.user()
                else:
                    await actors.agent()
        if chance.random() < 0.4:
            actors.user()
        check(actors, world)
        for name, text in (("untouched.txt", "mine\n"), ("untouched.log", "ignored by git\n")):
            assert (world.folder / name).read_text() == text


def check(actors: Actors, world: World) -> None:
    before = tree_of(world.folder)
    conflicts = {path for path in actors.deeds if actors.conflict(path)}
    agents = [path for path, deeds in actors.deeds.items() if any(who == "agent" for who, _, _ in deeds)]
    try:
        plan = world.undo.plan(world.history.turn.id)
    except UsageError:
        assert not agents
        return
    result = world.undo.apply(plan)
    after = tree_of(world.folder)
    reported = [world.warnings, result]

    assert not result.unrestorable and not result.failed, reported
    assert {str(one.path) for one in result.conflicts} == conflicts, reported
    for path in before.keys() | after.keys() | actors.at_start.keys():
        wanted = actors.expected(path)
        if path not in agents:
            assert after.get(path) == before.get(path), (path, reported)
        elif actors.alone(path):
            assert after.get(path) == wanted, (path, actors.deeds[path], reported)
        else:
            assert content(after.get(path)) == content(wanted), (path, actors.deeds[path], reported)
    if result.id is not None:
        again = world.undo.apply(world.undo.redo_plan())
        assert again.clean, again
    assert tree_of(world.folder) == before


@pytest.mark.parametrize("part", range(6))
def test_undo_reverts_exactly_what_the_agent_did(part: int, tmp_path: Path) -> None:
    for seed in range(part, RUNS, 6):
        asyncio.run(one_run(seed, tmp_path / str(seed)))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_undo_reverts_exactly_what_the_agent_did_in_500_runs(part: int, tmp_path: Path) -> None:
    for seed in range(1000 + part, 1000 + SOAK_RUNS, 20):
        asyncio.run(one_run(seed, tmp_path / str(seed)))
