"""Checks of this installation: what contains commands, who can read what, what is missing."""

import stat
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from tau.ai.catalog import load_catalog
from tau.ai.http import HttpTransport
from tau.ai.local.discovery import discover
from tau.backends.sandbox import engines
from tau.backends.sandbox.explanation import explain, explain_path
from tau.backends.sandbox.session import SessionSandbox
from tau.base import secrets
from tau.base.errors import TauError
from tau.base.files import typed_path
from tau.base.programs import find_program
from tau.base.run import Limits, LocalRunner, capture
from tau.base.text import clean_line, shortened
from tau.base.version import VERSION
from tau.coding.approval.allow_rules import AllowRules
from tau.coding.confirmed_servers import ConfirmedServers, is_strangers
from tau.coding.sandbox import sandbox_options
from tau.config.json_file import read_json
from tau.config.layers import load_settings
from tau.config.models_file import load_models_file
from tau.config.paths import Paths
from tau.config.secret_mask import load_known_secrets
from tau.config.settings import Settings

Status = Literal["ok", "warn", "fail"]
VERSION_TIMEOUT_S = 5.0
MAX_VERSION_CHARS = 60
# Without them, tau works less well.
PROGRAMS = {
    "git": "undo cannot watch commands; install git",
    "rg": "search uses a slower engine; install ripgrep",
    "bash": "commands run in another shell; install bash",
    "node": "JavaScript cells do not run; install Node.js",
    "ssh": "the ssh tool does not work; install OpenSSH",
}
# Where other programs keep credentials, below the home folder.
CREDENTIALS = (
    *(".ssh", ".aws/credentials", ".gnupg", ".netrc", ".pypirc", ".docker/config.json"),
    *(".kube/config", ".config/gh/hosts.yml", ".config/gcloud", ".git-credentials", ".azure"),
)


class DoctorCheck(Struct, frozen=True, kw_only=True):
    """One line of the report; `advice` says what to do about a problem."""

    name: str
    status: Status
    text: str
    advice: str = ""


class DoctorInput(Struct, frozen=True, kw_only=True):
    paths: Paths
    cwd: Path
    environ: Mapping[str, str]
    runner: LocalRunner


CheckSource = Callable[[DoctorInput], AsyncIterator[DoctorCheck]]


async def run_checks(given: DoctorInput, more: Sequence[CheckSource] = ()) -> list[DoctorCheck]:
    """Run all checks, and `more`. One that fails unexpectedly is itself a finding."""
    found: list[DoctorCheck] = []
    for source in (*SOURCES, *more):
        try:
            found += [check async for check in source(given)]
        except (TauError, OSError) as error:
            name = source.__name__.removeprefix("check_").replace("_", " ")
            found.append(DoctorCheck(name=name, status="fail", text=f"cannot be checked: {error}"))
    return found


async def check_versions(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    python = ".".join(map(str, sys.version_info[:3]))
    yield DoctorCheck(name="tau", status="ok", text=f"{VERSION} on Python {python} ({sys.platform})")
    for name, without in PROGRAMS.items():
        path = find_program(name, environ=given.environ)
        if path is None:
            yield DoctorCheck(name=name, status="warn", text="not found", advice=without)
            continue
        version = await _version(given, path, "-V" if name == "ssh" else "--version")
        yield DoctorCheck(name=name, status="ok", text=f"{version} ({path})")


async def _version(given: DoctorInput, path: str, flag: str) -> str:
    try:
        async with await given.runner.start(
            [path, flag], cwd=Path("/"), limits=Limits(timeout=VERSION_TIMEOUT_S)
        ) as process:
            output = (await capture(process, max_bytes=4096)).output.decode("utf-8", "replace")
    except OSError as error:
        return f"cannot be run: {error.strerror}"
    return shortened(clean_line(output.partition("\n")[0]), MAX_VERSION_CHARS) or "unknown version"


async def check_sandbox(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    """Start each engine once, and report what it was shown to contain."""
    settings = load_settings(given.paths, given.cwd).settings
    options = sandbox_options((given.cwd,), settings.sandbox, given.paths)
    works = []
    for engine in engines.ENGINES:
        wanted = replace(options, engine=engine.name)
        async with SessionSandbox(wanted, given.runner, warn=lambda _: None) as sandbox:
            is_usable = await sandbox.prepare()
            results, problem = dict(sandbox.results), sandbox.problem.removeprefix(f"{engine.name}: ")
        kept = [name for name in engines.PROMISES if results.get(name) == ""]
        broken = [f"{name} ({results[name]})" for name in engines.PROMISES if results.get(name)]
        works += [engine.name] if is_usable else []
        yield DoctorCheck(
            name=f"sandbox {engine.name}",
            status="ok" if is_usable and not broken else "warn",
            text=f"contains {', '.join(kept)}" if is_usable else problem or "does not work",
            advice=f"not contained: {'; '.join(broken)}" if broken else "",
        )
    yield _sandbox_summary(settings, works)


def _sandbox_summary(settings: Settings, works: list[str]) -> DoctorCheck:
    mode = settings.sandbox.mode
    if mode == "off":
        text, advice = "off: commands run with all your permissions", "set sandbox.mode to auto"
        return DoctorCheck(name="sandbox", status="warn", text=text, advice=advice)
    if works:
        return DoctorCheck(name="sandbox", status="ok", text=f"{mode}: commands run in {works[0]}")
    status: Status = "fail" if mode == "required" else "warn"
    text = "no engine works, so commands ask" if mode != "required" else "required, but no engine works"
    return DoctorCheck(name="sandbox", status=status, text=text, advice="install bubblewrap")


async def check_permissions(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    paths = given.paths
    private = (paths.auth, paths.secrets, paths.serve_token, paths.servers, paths.settings, paths.models)
    folders = (paths.home, paths.sessions, paths.blobs, paths.drafts, paths.logs, paths.trash)
    checked = 0
    for path in (*private, *folders):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue
        checked += 1
        is_secret = path in private[:3] or path in folders
        if mode & 0o077 and (is_secret or mode & 0o022):
            wanted = "700" if path in folders else "600"
            who = "changed" if mode & 0o022 else "read"
            yield DoctorCheck(
                name="permissions",
                status="fail" if path in private[:3] or mode & 0o022 else "warn",
                text=f"{path} can be {who} by other users (mode {mode:04o})",
                advice=f"run chmod {wanted} {path}",
            )
    text = f"checked tau's files and folders: {checked}" if checked else f"{paths.home} does not exist yet"
    yield DoctorCheck(name="permissions", status="ok", text=text)


async def check_credentials(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    stored = sorted(read_json(given.paths.auth).content)
    if stored:
        yield DoctorCheck(name="credentials", status="ok", text=f"auth.json has keys for {', '.join(stored)}")
    variables = [name for row in load_catalog().providers.values() for name in row.key_variables]
    used = sorted(name for name in variables if given.environ.get(name))
    if used:
        yield DoctorCheck(name="credentials", status="ok", text=f"the environment has {', '.join(used)}")
    withheld = [
        name
        for name, value in given.environ.items()
        if name not in used and secrets.is_secret_variable(name, value)
    ]
    if withheld:
        text = f"commands do not get {', '.join(sorted(withheld))}"
        yield DoctorCheck(name="credentials", status="ok", text=f"{text}; tools.passEnv allows variables")
    for check in _other_credentials(given):
        yield check
    for problem in load_known_secrets(given.environ, given.paths).problems:
        yield DoctorCheck(name="credentials", status="fail", text=problem, advice="fix the file")


def _other_credentials(given: DoctorInput) -> Iterator[DoctorCheck]:
    """Where other programs keep credentials, and which of these a sandboxed command can read."""
    home = typed_path("~")
    places = [home / name for name in CREDENTIALS if (home / name).exists()]
    settings = load_settings(given.paths, given.cwd).settings
    explanation = explain(sandbox_options((given.cwd,), settings.sandbox, given.paths))
    readable = [path for path in places if explain_path(path, explanation).access != "hidden"]
    hidden = [path for path in places if path not in readable]
    if hidden:
        text = f"a sandbox hides {', '.join(map(str, hidden))}"
        yield DoctorCheck(name="credentials", status="ok", text=text)
    if readable:
        text = f"commands can read {', '.join(map(str, readable))}"
        yield DoctorCheck(name="credentials", status="warn", text=text, advice="add them to sandbox.hide")


async def check_servers(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    http = HttpTransport(given.environ)
    try:
        servers = await discover(http, given.environ)
    finally:
        await http.close()
    known = ConfirmedServers(given.paths.servers)
    for server in servers:
        owner = "an unknown user" if server.owner is None else f"user {server.owner}"
        answer = {True: "confirmed", False: "declined", None: "not confirmed yet"}[known.answer(server)]
        stranger = is_strangers(server)
        yield DoctorCheck(
            name="servers",
            status="warn" if stranger or server.owner is None else "ok",
            text=f"{server.name} at {server.base_url}, {len(server.models)} models, of {owner}, {answer}",
            advice="tau does not use another user's server" if stranger else "",
        )
    if not servers:
        yield DoctorCheck(name="servers", status="ok", text="no model server runs on this machine")


async def check_settings(given: DoctorInput) -> AsyncIterator[DoctorCheck]:
    loaded = load_settings(given.paths, given.cwd)
    problems = [*loaded.warnings, *load_models_file(given.paths.models).warnings]
    problems += AllowRules.of(tuple(loaded.settings.tools.allow)).problems
    for problem in problems:
        yield DoctorCheck(name="settings", status="warn", text=problem, advice="edit the file it names")
    for host in loaded.settings.keys.plain_http_hosts:
        text = f"keys may be sent unencrypted to {host}"
        yield DoctorCheck(name="settings", status="warn", text=text, advice="use https:// there")
    if loaded.settings.tools.approval_mode == "yolo":
        text = "tools.approvalMode is yolo: nothing asks"
        yield DoctorCheck(name="settings", status="warn", text=text, advice="set it to workspace")
    if not problems:
        yield DoctorCheck(name="settings", status="ok", text=f"{given.paths.settings} is valid")


SOURCES: tuple[CheckSource, ...] = (
    check_versions,
    check_sandbox,
    check_permissions,
    check_credentials,
    check_servers,
    check_settings,
)


def lines_of(checks: list[DoctorCheck]) -> Iterator[str]:
    """One line per check, problems with advice."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        advice = f" -> {check.advice}" if check.advice else ""
        yield f"{check.status:4}  {check.name:{width}}  {clean_line(secrets.mask(check.text + advice))}"


def is_healthy(checks: list[DoctorCheck]) -> bool:
    return all(check.status != "fail" for check in checks)
