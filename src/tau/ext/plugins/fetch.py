"""Brings a plugin into a temporary folder: from a folder, a git repository, an archive of npm or a wheel."""

import os
import re
import shutil
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Literal

from msgspec import Struct

from tau.ai.proxy import is_loopback, parse_url
from tau.base.errors import TauError
from tau.base.files import typed_path
from tau.base.run import Limits, LocalRunner, capture

MAX_OUTPUT_BYTES = 64_000
TIMEOUT_S = 600
_GIT = re.compile(r"(https?|ssh|git|file)://.+|[\w.-]+@[\w.-]+:.+|github:[\w.-]+/[\w.-]+")
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]*(\[[\w,.-]+\])?([<>=!~]=?[\w.,<>=!~*]+)?")
SAFE_GIT = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never", "-c", "core.fsmonitor=")

NPM_PACK = ("npm", "pack", "--ignore-scripts", "--loglevel=error")
_NPM_ERROR = re.compile(r"^npm error (?!code |syscall |errno )(.+)", re.M)

SourceKind = Literal["folder", "git", "marketplace", "package", "wheel", "npm"]


class PluginSource(Struct, frozen=True, kw_only=True):
    """Where a plugin is. `ref` is a branch, tag or commit, `sha` the wanted commit, `folder` below it."""

    kind: SourceKind
    text: str
    ref: str = ""
    sha: str = ""
    folder: str = ""
    name: str = ""


def parse_source(text: str, cwd: Path) -> PluginSource:
    """What a user typed: a path, a git URL, NAME@MARKETPLACE, or a package. Raises TauError."""
    path = typed_path(text)
    path = path if path.is_absolute() else cwd / path
    if text.endswith(".whl") and path.is_file():
        return PluginSource(kind="wheel", text=str(path))
    if text.startswith((".", "/", "~")) or path.is_dir():
        if not path.is_dir():
            raise TauError(f'There is no folder "{text}".')
        return PluginSource(kind="folder", text=str(path))
    address, _, ref = text.partition("#")
    if _GIT.fullmatch(address):
        name = address.removeprefix("github:")
        url = f"https://github.com/{name}.git" if address.startswith("github:") else address
        return PluginSource(kind="git", text=url, ref=ref)
    if re.fullmatch(r"[\w.-]+@[\w.-]+", text):
        name, _, market = text.partition("@")
        return PluginSource(kind="marketplace", text=market, name=name)
    if _PACKAGE.fullmatch(text):
        return PluginSource(kind="package", text=text)
    raise TauError(f'"{text}" is no folder, git address, NAME@MARKETPLACE or package.')


async def run(argv: Sequence[str], cwd: Path, *, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Run one of tau's own programs; the exit code and the output."""
    async with AsyncExitStack() as services:
        runner = LocalRunner()
        services.callback(runner.close)
        try:
            process = await runner.start(list(argv), cwd=cwd, env=env, limits=Limits(timeout=TIMEOUT_S))
        except OSError as error:
            raise TauError(f"{argv[0]} cannot run: {error.strerror or error}.") from error
        async with process:
            done = await capture(process, max_bytes=MAX_OUTPUT_BYTES)
    return -1 if done.exit.code is None else done.exit.code, done.output.decode("utf-8", "replace")


async def fetch(source: PluginSource, stage: Path) -> tuple[Path, str]:
    """The folder of the plugin, in or outside `stage`, and its commit. Raises TauError."""
    if source.kind == "folder":
        return _inner(Path(source.text), source.folder), ""
    if source.kind == "git":
        last = re.split(r"[/:]", source.text.rstrip("/").removesuffix(".git"))[-1]
        target = stage / (re.sub(r"[^\w.-]", "-", last).strip(".-")[:100] or "clone")
        commit = await _clone(source, target)
        return _inner(target, source.folder), commit
    if source.kind == "npm":
        code, output = await run(
            (*NPM_PACK, "--pack-destination", str(stage), source.text),
            stage,
        )
        archives = list(stage.glob("*.tgz"))
        if code or not archives:
            why = _NPM_ERROR.search(output)
            raise TauError(
                f"Fetching {source.text} with npm failed: {last_line(output) if why is None else why[1]}"
            )
        shutil.unpack_archive(archives[0], stage / "npm", filter="data")
        return _inner(stage / "npm" / "package", source.folder), ""
    raise TauError(f"{source.text} is not a plugin's folder or repository.")


async def _clone(source: PluginSource, target: Path) -> str:
    environ = {"GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1"}
    scheme, _, rest = source.text.partition("://")
    plain = scheme.lower() in ("http", "git")
    if plain and not is_loopback(parse_url(f"http://{rest}")):
        raise TauError(f"{source.text} is not encrypted, so others could change the plugin: use https.")
    shallow = () if source.ref or source.sha else ("--depth", "1")
    argv = (
        "git",
        *SAFE_GIT,
        *(() if plain else ("-c", "protocol.http.allow=never")),  # a redirect
        "clone",
        "--quiet",
        "--no-recurse-submodules",
        *shallow,
        "--",
        source.text,
        str(target),
    )
    code, output = await run(argv, target.parent, env=environ)
    if code:
        fatal = next((line for line in output.splitlines() if line.startswith("fatal: ")), "")
        why = fatal.removeprefix("fatal: ") or last_line(output)
        raise TauError(f"Fetching {source.text} with git failed: {why}")
    if wanted := source.sha or source.ref:
        if wanted.startswith("-"):
            raise TauError(f'"{wanted}" is not a branch, tag or commit.')
        code, output = await run(
            ("git", *SAFE_GIT, "checkout", "--quiet", "--detach", wanted), target, env=environ
        )
        if code:
            raise TauError(f'{source.text} has no branch, tag or commit "{wanted}".')
    _, output = await run(("git", *SAFE_GIT, "rev-parse", "HEAD"), target, env=environ)
    commit = output.strip()
    if source.sha and commit != source.sha:
        raise TauError(f"{source.text} is at {commit[:12]}, but the marketplace names {source.sha[:12]}.")
    return commit


def _inner(base: Path, folder: str) -> Path:
    """A folder below the base, which no link leads out of. Raises TauError."""
    inner = base / folder if folder else base
    if not Path(os.path.realpath(inner)).is_relative_to(os.path.realpath(base)) or not inner.is_dir():
        raise TauError(f'There is no folder "{folder}" in {base.name}.')
    return inner


def last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "no output"
