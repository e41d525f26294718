"""A workspace full of traps, and single calls in it through a whole session."""

import os
import shutil
import sqlite3
import tarfile
import zipfile
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import Any

import tau
from tau.agent.hooks import Hooks, ToolQuestion
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tests.support.pictures import PNG

OLD = "old text\n"


class Trap:
    """`ws` is the workspace, `out` and `home` are not. Every file's text contains its own name."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.ws, self.out, self.home = base / "ws", base / "out", base / "home"
        for folder in (self.ws / "sub" / ".git", self.ws / ".git" / "hooks", self.ws / "d.tar", self.out):
            folder.mkdir(parents=True)
        for folder in (self.home / ".ssh", self.home / ".tau" / "agent"):
            folder.mkdir(parents=True)
        texts = (
            "ws/a.txt",
            "ws/sub/b.txt",
            "ws/sub/only.py",
            "ws/.git/config",
            "ws/é.txt",
            "ws/e\u0301x.txt",
        )
        for name in (*texts, "out/secret.txt", "out/hard.txt", "out/code.py", "home/.bashrc", "home/.ssh/id"):
            (base / name).write_text(f"marker of {name}\n{OLD}")
        (self.out / "pic.png").write_bytes(PNG)
        for name in ("ws/x.zip", "out/o.zip", "o.zip"):
            with zipfile.ZipFile(base / name, "w") as packed:
                packed.writestr("m.txt", f"marker of {name}\n")
        self._tar(self.out / "o.tar")
        for name in ("ws/x.db", "out/o.db", "out/h.db", "o.db"):
            with closing(sqlite3.connect(base / name)) as database:
                database.execute("CREATE TABLE t(id INTEGER PRIMARY KEY, text)")
                database.execute("INSERT INTO t VALUES(1, ?)", (f"marker of {name}",))
                database.commit()
        self._links()

    def _tar(self, path: Path) -> None:
        data = f"marker of {path.relative_to(self.base)}\n".encode()
        with tarfile.open(path, "w") as tar:
            info = tarfile.TarInfo("m.txt")
            info.size = len(data)
            tar.addfile(info, BytesIO(data))

    def _links(self) -> None:
        for name, target in {
            "link.txt": "../out/secret.txt",
            "chain.txt": "link.txt",
            "folder": "../out",
            "dangling": "../out/new.txt",
            "far": "../nowhere/new.txt",
            "loop": "loop",
            "inner.txt": "sub/b.txt",
            "a.zipx:y": "../out/secret.txt",
            "a.dbx:y": "../out/secret.txt",
            "d.tar/x:y": "../../out/secret.txt",
            "a.zip:b.tar": "../out/o.tar",
            "a.db:x.db": "../out/o.db",
            "link.zip": "../out/o.zip",
            "link.db": "../out/o.db",
            "p.png": "../out/pic.png",
            "hooks": ".git/hooks",
        }.items():
            (self.ws / name).symlink_to(target)
        os.link(self.out / "hard.txt", self.ws / "hard.txt")
        os.link(self.out / "h.db", self.ws / "hard.db")

    def state(self) -> dict[str, bytes]:
        """The content of every file but tau's cache, links by their target, by path below the base."""
        found: dict[str, bytes] = {}
        below = len(f"{self.base}/")
        for folder, _, names in os.walk(self.base):
            for name in names if folder != str(self.home / ".tau/agent/cache") else ():
                path = Path(folder, name)
                target = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
                found[f"{folder}/{name}"[below:]] = target
        return found

    def short(self, path: Path) -> str:
        """A real path below the base, relative to it; the absolute path of any other."""
        target = Path(os.path.realpath(path))
        return str(target.relative_to(self.base)) if target.is_relative_to(self.base) else str(target)


class Watch(Hooks):
    """Records what a call declared; `when_asked` acts while its question is open."""

    def __init__(self) -> None:
        self.effects: tau.Effects | None = None
        self.when_asked = lambda: None

    async def before_tool(self, question: ToolQuestion) -> str | None:
        self.effects = question.effects
        self.when_asked()
        return None


class Outcome:
    """What a call declared (None: it was refused before), what it answered, and the files it changed."""

    def __init__(self, trap: Trap, watch: Watch, text: str, before: dict[str, bytes]) -> None:
        after = trap.state()
        names = before.keys() | after.keys()
        self.text = text
        self.declared = watch.effects
        self.changed = {name for name in names if before.get(name) != after.get(name)}
        self.writes = None if watch.effects is None else set(map(trap.short, watch.effects.writes))
        self.reads = None if watch.effects is None else set(map(trap.short, watch.effects.reads))


async def play(
    trap: Trap,
    tool: str,
    arguments: dict[str, Any],
    *,
    mode: str = "yolo",
    first: tuple[FauxStep, ...] = (),
    watch: Watch | None = None,
    **settings: Any,
) -> Outcome:
    """One call in a session, after the `first` ones. Only the last one is reported."""
    watch = watch or Watch()
    script: list[list[FauxStep]] = [*([step] for step in first), [Use(tool, **arguments)], [Say("ok")]]
    options = tau.SessionOptions(
        cwd=trap.ws,
        stream=Faux(script).stream,
        save=False,
        hooks=(watch,),
        tools=tuple({tool, *(step.tool for step in first if isinstance(step, Use))}),
        settings={"tools.approvalMode": mode, **settings},
    )
    before = trap.state()
    async with tau.create_session(options) as session:
        await session.prompt("go")
        results = [each for each in session.log.messages() if isinstance(each, ToolResultMessage)]
    assert len(results) == len(script) - 1
    return Outcome(trap, watch, text_of(results[-1].content), before)


def copy_of(template: Path, base: Path) -> Trap:
    """A fresh copy, with its hard links."""
    shutil.copytree(template, base, symlinks=True, dirs_exist_ok=True, copy_function=shutil.copyfile)
    trap = object.__new__(Trap)
    trap.base, trap.ws, trap.out, trap.home = base, base / "ws", base / "out", base / "home"
    for name in ("hard.txt", "hard.db"):
        (trap.ws / name).unlink()
    os.link(trap.out / "hard.txt", trap.ws / "hard.txt")
    os.link(trap.out / "h.db", trap.ws / "hard.db")
    return trap
