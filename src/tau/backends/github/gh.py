"""Runs gh with the user's own login, and turns its failures into sentences."""

import asyncio
import os
import re
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from tau.backends.github.names import DEFAULT_HOST
from tau.base import log
from tau.base.errors import ToolError
from tau.base.files import write_atomic
from tau.base.late import late
from tau.base.programs import find_program
from tau.base.run import OUTSIDE, QUIET, Limits, Runner, capture
from tau.base.sizes import MIB
from tau.base.text import shortened, strip_controls

tempfile = late("tempfile")

T = TypeVar("T")

LIMIT_S = 120.0
MAX_OUTPUT_BYTES = 32 * MIB
MAX_ERROR_CHARS = 2_000
MAX_WAIT_S = 60.0
LARGE_CHARS = 200_000
NOT_INSTALLED = "GitHub CLI (gh) is not installed; the user can install it from https://cli.github.com."
NO_LOGIN = "GitHub CLI is not authenticated. Run `gh auth login`."
NO_REPOSITORY = (
    "GitHub repository context is unavailable. Pass `repo` explicitly or run the tool inside a"
    " GitHub checkout."
)
TOKENS = ("GH_TOKEN", "GITHUB_TOKEN", "GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
_ENVIRONMENT = {
    **QUIET,
    "GH_PROMPT_DISABLED": "1",
    "GH_PAGER": "cat",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_FORCE_TTY": "",
    "GH_DEBUG": "",
    "DEBUG": "",
    "CLICOLOR": "0",
    "CLICOLOR_FORCE": "0",
    "GH_BROWSER": "false",
    "GH_EDITOR": "false",
    "LC_ALL": "C.UTF-8",
}
_UNKNOWN_FIELD = re.compile(r'Unknown JSON field: "(\w+)"')
_RATE_LIMIT = re.compile(r"rate limit|HTTP 429|abuse detection", re.IGNORECASE)
_SECONDARY = re.compile(r"secondary rate limit|abuse detection", re.IGNORECASE)


class GhAnswer(Struct, frozen=True):
    """What one call of gh printed, and its exit code."""

    code: int
    output: bytes
    error: str


class _Limit(Struct, frozen=True):
    remaining: int
    reset: int


class _Limits(Struct, frozen=True):
    resources: dict[str, _Limit]


class Gh:
    """gh in one folder. It runs outside the sandbox: it needs the user's login, and no text of ours is shell.

    `fields_file` remembers which fields a version of gh does not know.
    """

    def __init__(
        self,
        runner: Runner,
        cwd: Path,
        fields_file: Path | None = None,
        *,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.runner = runner
        self.cwd = cwd
        self._fields_file = fields_file
        self._unknown: dict[str, set[str]] | None = None
        self._sleep = sleep
        self._now = now

    async def run(self, *words: str, host: str = "") -> GhAnswer:
        """Raises ToolError if it is missing, hangs, prints too much, or the rate limit is used up."""
        answer = await self._once(words, host)
        if answer.code and _RATE_LIMIT.search(answer.error):
            await self._wait_for_limit(answer.error, host)
            answer = await self._once(words, host)
            if answer.code and _RATE_LIMIT.search(answer.error):
                raise ToolError(f"GitHub's rate limit is used up: {answer.error}")
        return answer

    async def text(self, *words: str, host: str = "", repo: bool = False) -> str:
        """Its output. `repo` says that the call names a repository. Raises ToolError."""
        answer = await self.run(*words, host=host)
        if answer.code:
            raise failure(words, answer, repo=repo)
        return answer.output.decode("utf-8", "replace")

    async def json(self, kind: type[T], *words: str, host: str = "", repo: bool = False) -> T:
        """Its output, decoded. Raises ToolError."""
        text = await self.text(*words, host=host, repo=repo)
        if not text.strip():
            raise ToolError(f"GitHub CLI returned no output: gh {_shown(words)}")
        try:
            if len(text) > LARGE_CHARS:
                return await asyncio.to_thread(_decode, text, kind)
            return _decode(text, kind)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise ToolError(f"GitHub CLI returned unexpected JSON: gh {_shown(words)}: {error}") from None

    async def view(
        self,
        kind: type[T],
        words: Sequence[str],
        fields: Sequence[str],
        *,
        host: str = "",
        repo: bool = False,
    ) -> T:
        """Like `json` with `--json`, without the fields that this version of gh does not know."""
        while True:
            known = [field for field in fields if field not in self._unknown_fields()]
            try:
                return await self.json(kind, *words, "--json", ",".join(known), host=host, repo=repo)
            except ToolError as error:
                found = _UNKNOWN_FIELD.search(str(error))
                if found is None or found[1] not in known:
                    raise
                self._forget_field(found[1])

    async def _once(self, words: Sequence[str], host: str) -> GhAnswer:
        program = find_program("gh")
        if program is None:
            raise ToolError(NOT_INSTALLED)
        if host not in ("", DEFAULT_HOST, os.environ.get("GH_HOST")) and host not in _hosts_of_logins():
            raise ToolError(
                f"GitHub CLI has no login for {host}; the user can run gh auth login --hostname {host}."
            )
        tokens = {name: os.environ[name] for name in TOKENS if name in os.environ}
        environment = {**_ENVIRONMENT, **tokens, **({"GH_HOST": host} if host else {})}
        with tempfile.TemporaryFile(prefix="tau-gh-") as errors:
            try:
                process = await self.runner.start(
                    (program, *words),
                    cwd=self.cwd,
                    env=environment,
                    sandbox=OUTSIDE,
                    limits=Limits(timeout=LIMIT_S),
                    stderr=errors.fileno(),
                )
            except OSError as error:
                raise ToolError(f"GitHub CLI cannot be started: {error.strerror}.") from error
            async with process:
                done = await capture(process, max_bytes=MAX_OUTPUT_BYTES)
            errors.seek(0)
            said = errors.read(16 * 1024).decode("utf-8", "replace")
        if done.exit.timed_out:
            raise ToolError(f"GitHub CLI did not finish within {LIMIT_S:.0f} s: gh {_shown(words)}")
        if done.dropped_bytes:
            raise ToolError(f"GitHub CLI printed more than {MAX_OUTPUT_BYTES // MIB} MiB: gh {_shown(words)}")
        code = done.exit.code if done.exit.code is not None else -1
        return GhAnswer(code, done.output, strip_controls(said).strip())

    async def _wait_for_limit(self, said: str, host: str) -> None:
        """Wait if it takes at most a minute. Raises ToolError with the time otherwise."""
        reset = self._now() + MAX_WAIT_S
        if not _SECONDARY.search(said):
            answer = await self._once(("api", "rate_limit"), host)
            try:
                limits = [*msgspec.json.decode(answer.output, type=_Limits).resources.values()]
            except msgspec.DecodeError:
                limits = []
            reset = max((one.reset for one in limits if one.remaining == 0), default=reset)
        if (seconds := reset - self._now()) > MAX_WAIT_S:
            at = f"{datetime.fromtimestamp(reset, UTC):%Y-%m-%d %H:%M:%S} UTC"
            raise ToolError(f"GitHub's rate limit is used up until {at} (in {seconds / 60:.0f} min).")
        await self._sleep(max(seconds, 0.0) + 1.0)

    def _version(self) -> str:
        """What identifies the installed gh, without a call."""
        program = find_program("gh")
        if program is None:
            return ""
        info = Path(program).stat()
        return f"{os.path.realpath(program)}:{info.st_size}:{info.st_mtime_ns}"

    def _unknown_fields(self) -> set[str]:
        if self._unknown is None:
            self._unknown = {}
            try:
                if self._fields_file is not None:
                    stored = self._fields_file.read_bytes()
                    self._unknown = msgspec.json.decode(stored, type=dict[str, set[str]])
            except (OSError, msgspec.DecodeError):
                pass
        return self._unknown.setdefault(self._version(), set())

    def _forget_field(self, field: str) -> None:
        self._unknown_fields().add(field)
        if self._fields_file is None:
            return
        current = {self._version(): self._unknown_fields()}
        try:
            write_atomic(self._fields_file, msgspec.json.encode(current))
        except OSError as error:
            log.warning(f"{self._fields_file} cannot be written: {error}")


def _decode(text: str, kind: type[T]) -> T:
    """Without nulls: gh prints one where a list is empty, and for a person who left."""
    return msgspec.convert(_without_nulls(msgspec.json.decode(text)), kind)


def _without_nulls(value: object) -> object:
    if isinstance(value, dict):
        return {name: _without_nulls(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [_without_nulls(each) for each in value if each is not None]
    return value


def failure(words: Sequence[str], answer: GhAnswer, *, repo: bool = False) -> ToolError:
    """Why a call failed, as a sentence for the model."""
    said = answer.error or answer.output.decode("utf-8", "replace").strip()
    lowered = said.lower()
    if "gh auth login" in lowered or "authentication token" in lowered or "http 401" in lowered:
        return ToolError(NO_LOGIN)
    lost = ("no git remotes found", "not a git repository", "none of the git remotes configured")
    if not repo and any(text in lowered for text in lost):
        return ToolError(NO_REPOSITORY)
    return ToolError(shortened(said, MAX_ERROR_CHARS) or f"GitHub CLI command failed: gh {_shown(words)}")


def _shown(words: Sequence[str]) -> str:
    return shortened(" ".join(words), 300)


def _hosts_of_logins() -> list[str]:
    """The servers that the user chose: gh sends tokens of the environment to any server it is asked about."""
    return re.findall(r"^[\"']?([^\s\"'#][^\s\"']*?)[\"']?:", _hosts_file(os.environ), re.MULTILINE)


def credentials(environ: Mapping[str, str] = os.environ) -> list[Any]:
    """What decides whose login gh uses: tokens of the environment, and the text of its hosts file."""
    return [*(environ.get(name, "") for name in TOKENS), _hosts_file(environ)]


def _hosts_file(environ: Mapping[str, str]) -> str:
    base = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    folder = environ.get("GH_CONFIG_DIR") or f"{base}/gh"
    try:
        return (Path(folder) / "hosts.yml").read_bytes().decode("utf-8", "replace")
    except OSError:
        return ""
