"""A project that an agent and a user both change, and what a turn's undo must leave of it."""

import os
import random
import shlex
import stat
import subprocess
from pathlib import Path
from typing import TypeAlias

from tau.agent.approved_effects import ApprovedEffects, BoundFileSystem
from tau.base.run import LocalRunner, capture
from tau.coding.files.local_fs import LocalFileSystem
from tau.coding.undo.command_watch import CommandWatch
from tau.coding.undo.file_history import FileHistory
from tau.coding.undo.recorder import RecordingFileSystem
from tau.coding.undo.undo import Undo

# The state of a path: nothing, a file with its permissions, or a link.
Thing: TypeAlias = tuple[str, bytes, int] | None
Tree: TypeAlias = dict[str, tuple[str, bytes, int]]

GIT = ("git", "-c", "user.name=T", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def make_repository(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "begin")


def tree_of(folder: Path) -> Tree:
    """All files and links below a folder, except those of git."""
    found: Tree = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *(one for one in folders if (Path(place) / one).is_symlink())]:
            path = Path(place) / name
            info = path.lstat()
            if name == ".git":
                continue
            if stat.S_ISLNK(info.st_mode):
                found[str(path)] = ("link", os.fsencode(path.readlink()), 0)
            elif stat.S_ISREG(info.st_mode):
                found[str(path)] = ("file", path.read_bytes(), stat.S_IMODE(info.st_mode))
    return found


class World:
    """`folder` is where the agent works; the history is kept beside it."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        self.place = Path(os.path.realpath(home)) / "history"
        self.warnings: list[str] = []
        self.runner = LocalRunner()
        self.calls = 0
        self.open()

    def open(self) -> None:
        self.history = FileHistory(lambda: self.place, warn=self.warnings.append)
        recording = RecordingFileSystem(LocalFileSystem(), lambda: self.history)
        self.fs = BoundFileSystem(recording, ApprovedEffects())
        self.commands = CommandWatch(self.history, self.runner)

    @property
    def undo(self) -> Undo:
        return Undo(self.place)

    def close(self) -> None:
        self.commands.close()
        self.history.close()
        self.runner.close()

    async def shell(self, command: str) -> None:
        """A command of the agent, as the bash tool runs it."""
        self.calls += 1
        call = f"call_{self.calls}"
        await self.commands.before(call, [self.folder])
        async with await self.runner.start(command, cwd=self.folder) as process:
            await capture(process)
        await self.commands.after(call)

    async def read(self, name: str) -> bytes:
        return await self.fs.read(self.folder / name)

    async def write(self, name: str, text: str) -> None:
        await self.fs.write(self.folder / name, text.encode())

    async def remove(self, name: str) -> None:
        await self.fs.remove(self.folder / name)

    async def move(self, name: str, target: str) -> None:
        data = (self.folder / name).read_bytes()
        await self.fs.write(self.folder / target, data)
        await self.fs.remove(self.folder / name)


class Actors:
    """Random actions of both, and for each file the order in which they changed it in this turn."""

    def __init__(self, world: World, chance: random.Random, *, tracked: bool) -> None:
        self.world = world
        self.chance = chance
        self.tracked = tracked
        self.numbers = 0
        self.begin_turn()

    def begin_turn(self) -> None:
        self.at_start = tree_of(self.world.folder)
        self.deeds: dict[str, list[tuple[str, Thing, Thing]]] = {}

    def fresh(self, ending: str = "txt") -> str:
        self.numbers += 1
        return f"made_{self.numbers}.{ending}"

    def text(self) -> str:
        self.numbers += 1
        lines = self.chance.randint(0, 4)
        return f"version {self.numbers}\n" + "line\n" * lines

    def some_file(self) -> str | None:
        files = [name for name, (kind, _, _) in tree_of(self.world.folder).items() if kind == "file"]
        files = [name for name in files if "untouched" not in name]
        return os.path.relpath(self.chance.choice(sorted(files)), self.world.folder) if files else None

    def covered_file(self) -> str | None:
        """One that agent commands can change and undo can restore."""
        covered = self.covered()
        files = [name for name, (kind, _, _) in tree_of(self.world.folder).items() if kind == "file"]
        files = [name for name in files if name in covered]
        return os.path.relpath(self.chance.choice(sorted(files)), self.world.folder) if files else None

    def covered(self) -> set[str]:
        """What git tracks, and what tau has read or changed."""
        world = self.world
        found = {*world.history.known, *world.history.read_files}
        if self.tracked:
            names = git(world.folder, "ls-files", "-z").split("\0")[:-1]
            found |= {str(world.folder / name) for name in names}
        return found

    async def agent(self) -> None:
        world, chance = self.world, self.chance
        before, covered = tree_of(world.folder), self.covered()
        deed = chance.choice(["write", "edit", "edit", "remove", "move", "shell", "shell", "shell"])
        name = self.some_file()
        shell = deed == "shell"
        if deed == "write" or name is None:
            await world.write(chance.choice([self.fresh(), f"new/deep/{self.fresh()}"]), self.text())
        elif deed == "edit":
            await world.read(name)
            await world.write(name, self.text())
        elif deed == "remove":
            await world.remove(name)
        elif deed == "move":
            await world.move(name, self.fresh())
        else:
            await world.shell(self.command())
        self.note("agent", before, covered if shell else None)

    def command(self) -> str:
        chance = self.chance
        name = self.covered_file()
        if name is None:
            return "true"
        quoted = shlex.quote(name)
        commands = [
            f"printf %s {shlex.quote(self.text())} > {quoted}",
            f"printf x >> {quoted}",
            f"rm -f {quoted}",
            f"mv {quoted} {self.fresh('moved')}",
            f"chmod +x {quoted}; printf y >> {quoted}",
            f"printf %s {shlex.quote(self.text())} > made_{self.numbers}.new",
            f"ln -sf elsewhere {quoted}",
        ]
        if self.tracked:
            commands += [
                "git checkout -q -- .",
                "git add -u && git commit -qm more --allow-empty",
                f"printf x >> {quoted}; git add -u",
                f"git rm -q --cached {quoted} 2>/dev/null; printf z >> {quoted}",
                "git stash -q 2>/dev/null || true",
            ]
        return "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a; " + (
            chance.choice(commands)
        )

    def user(self) -> None:
        before = tree_of(self.world.folder)
        name = self.some_file()
        deed = self.chance.choice(["write", "write", "edit", "remove", "replace"])
        if deed == "write" or name is None:
            (self.world.folder / self.fresh("user")).write_text(self.text())
        elif deed == "edit":
            with (self.world.folder / name).open("a") as file:
                file.write(self.text())
        elif deed == "remove":
            (self.world.folder / name).unlink()
        else:  # like editors save
            part = self.world.folder / f"{name}.part"
            part.write_text(self.text())
            part.replace(self.world.folder / name)
        self.note("user", before, None)

    def note(self, who: str, before: Tree, covered: set[str] | None) -> None:
        after = tree_of(self.world.folder)
        for path in sorted(before.keys() | after.keys()):
            old, new = before.get(path), after.get(path)
            if old != new:
                # A command's changes to unknown files count as someone else's.
                actor = who if covered is None or path in covered else "command"
                self.deeds.setdefault(path, []).append((actor, old, new))

    def expected(self, path: str) -> Thing:
        """What the last other person left, or else the state at the start of the turn."""
        others = [new for who, _, new in self.deeds.get(path, ()) if who != "agent"]
        return others[-1] if others else self.at_start.get(path)

    def alone(self, path: str) -> bool:
        return all(who == "agent" for who, _, _ in self.deeds.get(path, ()))

    def conflict(self, path: str) -> bool:
        """Whether a change of the agent is visible below someone else's."""
        state = tree_of(self.world.folder).get(path)
        for who, old, new in reversed(self.deeds.get(path, ())):
            if who != "agent" or content(old) == content(new):
                continue
            if content(state) == content(old):
                continue
            if content(state) != content(new):
                return True
            state = old
        return False


def content(thing: Thing) -> tuple[str, bytes] | None:
    return None if thing is None else thing[:2]
