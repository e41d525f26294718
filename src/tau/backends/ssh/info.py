"""Detects a host's system and shell, once, and caches them in a file."""

import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeAlias

from msgspec import DecodeError, Struct, json

from tau.backends.ssh.hosts import SshHost
from tau.base.files import make_private, write_atomic
from tau.config.paths import Paths

VERSION = 2
MAX_CACHE_BYTES = 4096
Os = Literal["linux", "macos", "unix", "windows", "unknown"]
_Kind = Literal["posix", "cmd", "powershell", "unknown"]

# Every shell understands at least one of these. Login files may print around the answers.
ASK_UNIX = "uname -s; echo $SHELL"
ASK_WINDOWS = 'echo "os=%OS%,$env:OS."'
ASK_COMPAT = '{shell} -c "echo tau-compat"'
_UNAMES: tuple[tuple[str, Os], ...] = (
    (r"Linux", "linux"),
    (r"Darwin", "macos"),
    (r"(?:MINGW|MSYS|CYGWIN)\S*", "windows"),
    (r"\w*BSD|DragonFly|SunOS|AIX|HP-UX|GNU\S*|Haiku|Minix", "unix"),
)

_Ask: TypeAlias = Callable[[str], Awaitable[str]]  # runs a remote command and returns its output


class HostInfo(Struct, frozen=True, rename="camel", kw_only=True):
    """`shell` is the login shell; `compat_shell` is the bash or sh of a Windows host."""

    version: int = VERSION
    target: str
    os: Os = "unknown"
    shell: str = ""
    compat_shell: Literal["bash", "sh"] | None = None

    @property
    def kind(self) -> _Kind:
        if self.shell in ("cmd", "powershell"):
            return "cmd" if self.shell == "cmd" else "powershell"
        return "unknown" if self.os == "unknown" else "posix"

    def compat(self, host: SshHost) -> str | None:
        """The Unix shell to use on a Windows host, if any."""
        return None if host.compat is False or self.kind == "posix" else self.compat_shell

    def __str__(self) -> str:
        known = [part for part in (self.os, self.shell) if part and part != "unknown"]
        if self.compat_shell is not None:
            known.append(f"has {self.compat_shell}")
        return ", ".join(known) or "unknown system"


async def probe(host: SshHost, ask: _Ask) -> HostInfo:
    """Probe the machine. Raises what `ask` raises; an unrecognized answer means "unknown"."""
    system, shell = _unix(await ask(ASK_UNIX))
    if system not in ("unknown", "windows") or shell:
        return HostInfo(target=host.target, os=system, shell=shell)
    native = _windows(await ask(ASK_WINDOWS))
    if not native:
        return HostInfo(target=host.target, os=system)
    compat_shell: Literal["bash", "sh"] | None = None
    for candidate in ("bash", "sh"):
        if "tau-compat" in (await ask(ASK_COMPAT.format(shell=candidate))).split():
            compat_shell = "bash" if candidate == "bash" else "sh"
            break
    return HostInfo(target=host.target, os="windows", shell=native, compat_shell=compat_shell)


def _unix(answer: str) -> tuple[Os, str]:
    system: Os = "unknown"
    shell = ""
    for line in answer.splitlines():
        line = line.strip()
        if system == "unknown":
            system = next((name for form, name in _UNAMES if re.fullmatch(form, line)), system)
        elif re.fullmatch(r"/[\w./+-]+", line):
            shell = line.rpartition("/")[2]
    return system, shell


def _windows(answer: str) -> str:
    match = re.search(r"os=([^,\n]*),([^.\n]*)\.", answer)
    if match is None:
        return ""
    return "cmd" if match[1] == "Windows_NT" else "powershell" if match[2] == "Windows_NT" else ""


def info_folder(paths: Paths) -> Path:
    return paths.home / "remote-hosts"


class InfoCache:
    """One small file per host. Files of another version or machine are ignored."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[str, HostInfo] = {}

    def get(self, host: SshHost) -> HostInfo | None:
        info = self._known.get(host.name) or self._read(host)
        if info is None or info.target != host.target:
            return None
        self._known[host.name] = info
        return info

    def put(self, host: SshHost, info: HostInfo) -> None:
        self._known[host.name] = info
        if info.kind == "unknown":  # it may answer next time
            return
        with suppress(OSError):  # the next run asks again
            make_private(self._folder)
            write_atomic(self._path(host), json.encode(info) + b"\n", mode=0o600, sync=False)

    def forget(self, host: SshHost) -> None:
        self._known.pop(host.name, None)
        with suppress(OSError):
            self._path(host).unlink()

    def _read(self, host: SshHost) -> HostInfo | None:
        try:
            with self._path(host).open("rb") as file:
                info = json.decode(file.read(MAX_CACHE_BYTES), type=HostInfo)
        except (OSError, DecodeError, UnicodeDecodeError):
            return None
        return info if info.version == VERSION else None

    def _path(self, host: SshHost) -> Path:
        return self._folder / f"{host.name}.json"
