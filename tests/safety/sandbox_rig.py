"""A home with secrets, a project with repositories, and a sandbox of each engine to run things in."""

import asyncio
import os
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

import pytest

from tau.backends.sandbox import engines
from tau.backends.sandbox.policy import SandboxRules
from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
from tau.base.run import CapturedOutput, LocalRunner, capture

ENGINES = tuple(engine.name for engine in engines.ENGINES)
GIT_ENV = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    **{f"GIT_{who}_{what}": "test" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
SECRET = "a secret that nobody may read"


def git(folder: Path, *words: str) -> str:
    """Run git outside."""
    done = subprocess.run(
        ["git", *words], cwd=folder, check=True, env={**os.environ, **GIT_ENV}, capture_output=True, text=True
    )
    return done.stdout


class Place:
    """A home, a project in it, and a folder beside the project that is not the sandbox's business."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = self.home / "project"
        self.outside = self.home / "outside"
        self.caches = folder / "caches"
        self.records = folder / "guards"
        for path in (
            self.project,
            self.outside,
            self.home / ".ssh",
            self.home / ".aws",
            self.home / ".cache",
        ):
            path.mkdir(parents=True)
        self.credentials = self.home / ".tau/auth.json"
        self.credentials.parent.mkdir()
        for path in (self.home / ".ssh/id_ed25519", self.home / ".aws/credentials", self.credentials):
            path.write_text(SECRET)
        (self.home / ".bashrc").write_text("# mine\n")
        (self.outside / "file").write_text("mine\n")

    def init(self, folder: Path) -> Path:
        """Make a repository with one commit."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "a.txt").write_text("one\n")
        for words in (("init", "-q", "-b", "main"), ("add", "."), ("commit", "-qm", "first")):
            git(folder, *words)
        return folder

    def options(self, engine: str = "auto", **rules: object) -> SandboxOptions:
        return SandboxOptions(
            roots=(self.project,),
            caches=self.caches,
            records=self.records,
            private=(self.credentials,),
            protected=(self.credentials.parent,),
            engine=engine,
            mode="required",
            rules=SandboxRules(**{"network": "off", **rules}),  # type: ignore[arg-type]
        )


class Inside:
    """Runs commands in an open sandbox."""

    def __init__(self, place: Place, sandbox: SessionSandbox, runner: LocalRunner) -> None:
        self.place = place
        self.sandbox = sandbox
        self.runner = runner

    async def run(self, command: str | Sequence[str], cwd: Path | None = None, **env: str) -> CapturedOutput:
        full = {**GIT_ENV, **env}
        async with await self.runner.start(command, cwd=cwd or self.place.project, env=full) as process:
            return await capture(process)

    async def text(self, command: str | Sequence[str], cwd: Path | None = None, **env: str) -> str:
        return (await self.run(command, cwd, **env)).output.decode(errors="replace")


T = TypeVar("T")


def in_sandbox(
    place: Place,
    work: Callable[[Inside], Awaitable[T]],
    engine: str = "auto",
    *,
    warn: Callable[[str], None] = print,
    **rules: object,
) -> T:
    """Run `work` in a sandbox of this engine, or skip the test if the machine has none."""
    require(engine)

    async def main() -> T:
        outside = LocalRunner()
        async with SessionSandbox(place.options(engine, **rules), outside, warn=warn) as sandbox:
            runner = LocalRunner(sandbox=sandbox)
            assert await runner.prepare(), sandbox.problem
            try:
                return await work(Inside(place, sandbox, runner))
            finally:
                runner.close()
                outside.close()

    home, cache_home = os.environ["HOME"], os.environ.pop("XDG_CACHE_HOME", None)
    os.environ["HOME"] = str(place.home)
    try:
        return asyncio.run(main())
    finally:
        os.environ["HOME"] = home
        if cache_home is not None:
            os.environ["XDG_CACHE_HOME"] = cache_home


def require(engine: str) -> None:
    if problem := problem_of(engine):
        pytest.skip(f"{engine} does not work here: {problem}")


@cache
def problem_of(engine: str) -> str:
    """Why an engine cannot be used on this machine: only what the machine lacks counts."""
    if engine == "auto":
        return "" if any(not problem_of(name) for name in ENGINES) else "no engine works"
    missing = next(one for one in engines.ENGINES if one.name == engine).missing()
    if missing or engine == "landlock":
        return missing or ("" if Path("/sys/kernel/security").exists() else "no security modules")
    probe = subprocess.run(["unshare", "-Ur", "true"], capture_output=True, text=True)
    return probe.stderr.strip()


@contextmanager
def listening(address: "str | tuple[str, int]") -> Iterator[socket.socket]:
    """A server outside: a socket file, an abstract name, or a port."""
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as server:
        server.bind(address)
        server.listen()
        yield server
