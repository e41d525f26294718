"""Reads, validates and writes hosts in `ssh.json` files; a project's file is restricted.

A project's file is untrusted input until the project is trusted. It says where to connect and never what to
run: there is no field for ssh options. It cannot shadow a host from the user's own file, can only read
variables that identify the user, and may name a key only inside the project or ~/.ssh.
"""

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from msgspec import Raw, Struct, json

from tau.base.errors import ConfigError, UsageError
from tau.base.files import typed_path
from tau.base.text import clean_line, shortened
from tau.config.descriptions import show_value
from tau.config.json_file import JsonFile, change_json, read_json
from tau.config.paths import PROJECT_FOLDER, Paths, project_dir, repo_root

MAX_HOSTS = 100
MAX_WARNINGS = 20
DESCRIPTION_CHARS = 120
FIELDS = ("host", "username", "user", "port", "key", "keyPath", "description", "desc", "compat")
ROOT_FILES = ("ssh.json", ".ssh.json")
PROJECT_VARIABLES = ("USER", "LOGNAME", "HOME")
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
# Neither can be parsed as an option, nor as shell syntax by commands in the user's ssh_config.
ADDRESS = r"[A-Za-z0-9_:\[][A-Za-z0-9_.:%\[\]-]{0,252}"
USER = r"[A-Za-z0-9_][A-Za-z0-9_.@+\\-]{0,63}"
_VARIABLE = r"\$(?:\{(\w+)\}|(\w+))"

HostScope = Literal["user", "project"]


class SshHost(Struct, frozen=True, kw_only=True):
    """Where to connect. None leaves the choice to ssh and the user's ssh_config.

    `own`: from the user's own file. `compat`: use a Windows host through its bash or sh.
    """

    name: str
    address: str
    user: str | None = None
    port: int | None = None
    key: Path | None = None
    description: str = ""
    compat: bool | None = None
    source: Path = Path()
    own: bool = True

    @property
    def target(self) -> str:
        """`user@address:port`, as far as known."""
        address = f"[{self.address}]" if self.port is not None and ":" in self.address else self.address
        who = address if self.user is None else f"{self.user}@{address}"
        return who if self.port is None else f"{who}:{self.port}"


class HostTable(Struct, frozen=True):
    """Hosts by name, and problems found in the files."""

    hosts: dict[str, SshHost]
    warnings: list[str]


class _Source(Struct, frozen=True):
    path: Path
    own: bool
    root: Path = Path()  # of the project
    refusal: str = "is skipped"


def load_hosts(
    paths: Paths, cwd: Path, environ: Mapping[str, str] = os.environ, *, trusted: bool = False
) -> HostTable:
    """Load the hosts for a session in `cwd`. Never fails: invalid hosts are reported and skipped.

    The first file that defines a name wins: `.tau/ssh.json`, the user's own, then `ssh.json` and `.ssh.json`
    of the repository. Unless the project is `trusted`, the user's own file comes first.
    """
    hosts: dict[str, SshHost] = {}
    warnings: list[str] = []
    for source in _sources(paths, cwd, trusted):
        try:
            file = read_json(source.path)
        except ConfigError as error:
            warnings.append(str(error))
            continue
        for host in _hosts_of(file, source, environ):
            if isinstance(host, ConfigError):
                warnings.append(str(host))
            elif host.name in hosts:
                if not host.own and hosts[host.name].own:
                    first = hosts[host.name].source
                    text = f'Host "{host.name}" is skipped: {first} already defines it.'
                    warnings.append(str(file.error(text, "hosts", host.name)))
            elif len(hosts) == MAX_HOSTS:
                warnings.append(
                    str(file.error(f'Host "{host.name}" is skipped: the limit is {MAX_HOSTS} hosts.'))
                )
            else:
                hosts[host.name] = host
    if len(warnings) > MAX_WARNINGS:
        more = len(warnings) - MAX_WARNINGS
        warnings[MAX_WARNINGS:] = [f"The ssh.json files have {more} more errors."]
    return HostTable(hosts, warnings)


def managed_file(scope: HostScope, paths: Paths, cwd: Path) -> Path:
    """Return the file that `add_host` and `remove_host` write."""
    if scope == "user":
        return paths.home / "ssh.json"
    folder = project_dir(cwd, paths) or (repo_root(cwd) or cwd) / PROJECT_FOLDER
    return folder / "ssh.json"


def add_host(path: Path, name: str, fields: Mapping[str, object]) -> None:
    """Add a new host to a file. Raises UsageError if it exists or is invalid."""
    file = JsonFile(path, b"", {})
    try:
        _host(file, _Source(path, True, refusal="cannot be added"), name, dict(fields), os.environ)
    except ConfigError as error:
        raise UsageError(str(error).removeprefix(f"{path}: ")) from None

    def change(members: dict[str, Raw]) -> None:
        hosts = _members(path, members)
        if name in hosts:
            raise UsageError(f'Host "{name}" already exists in {path}; remove it with tau ssh remove {name}.')
        hosts[name] = Raw(json.encode(fields))
        members["hosts"] = Raw(json.encode(hosts))

    change_json(path, change)


def remove_host(path: Path, name: str) -> bool:
    """Remove a host from a file; returns whether it existed."""
    if not path.exists():
        return False
    existed = False

    def change(members: dict[str, Raw]) -> None:
        nonlocal existed
        hosts = _members(path, members)
        existed = hosts.pop(name, None) is not None
        if existed:
            members["hosts"] = Raw(json.encode(hosts))

    change_json(path, change)
    return existed


def _members(path: Path, members: dict[str, Raw]) -> dict[str, Raw]:
    raw = bytes(members.get("hosts", b"{}"))
    if not raw.startswith(b"{"):
        raise ConfigError('"hosts" must be an object: { "NAME": { "host": ... } }.', path=path)
    return json.decode(raw, type=dict[str, Raw])


def _sources(paths: Paths, cwd: Path, trusted: bool) -> Iterator[_Source]:
    root = repo_root(cwd) or cwd.absolute()
    own = _Source(managed_file("user", paths, cwd), True, root)
    folder = project_dir(cwd, paths)
    project = [] if folder is None else [_Source(folder / "ssh.json", trusted, folder.parent)]
    yield from (*project, own) if trusted else (own, *project)
    for name in ROOT_FILES:
        yield _Source(root / name, trusted, root)


def _hosts_of(file: JsonFile, source: _Source, environ: Mapping[str, str]) -> Iterator[SshHost | ConfigError]:
    """Yield every host of a file, or its error; a host with ignorable errors yields both."""
    for key in file.content:
        if key not in ("hosts", "$schema"):
            yield file.error(f'"{clean_line(key)}" is ignored; hosts belong under "hosts".', key)
    entries = file.content.get("hosts", {})
    if not isinstance(entries, dict):
        yield file.error('"hosts" must be an object: { "NAME": { "host": ... } }.', "hosts")
        return
    for name, entry in entries.items():
        if isinstance(entry, dict):
            unknown = ", ".join(clean_line(field) for field in entry if field not in FIELDS)
            if unknown:
                text = (
                    f'Host "{clean_line(name)}": {unknown} is ignored; known fields are {", ".join(FIELDS)}.'
                )
                yield file.error(text, "hosts", name)
        try:
            yield _host(file, source, name, entry, environ)
        except ConfigError as error:
            yield error


def _host(file: JsonFile, source: _Source, name: str, entry: Any, environ: Mapping[str, str]) -> SshHost:
    def wrong(problem: str) -> ConfigError:
        keys = ("hosts", name) if file.data else ()
        return file.error(f'Host "{shortened(clean_line(name), 80)}" {source.refusal}: {problem}', *keys)

    def text(*fields: str) -> str | None:
        """Return the first of these fields that is set, with variables expanded."""
        for field in fields:
            value = entry.get(field)
            if value is None or value == "":
                continue
            if not isinstance(value, str):
                raise wrong(f"{field} must be text, not {show_value(value)}.")
            return _expand(value, environ, source.own, field, wrong)
        return None

    if not re.fullmatch(NAME, name):
        raise wrong("names may have at most 64 letters, digits, dots, dashes and underscores.")
    if not isinstance(entry, dict):
        raise wrong(f'it must be an object: {{ "host": ... }}, not {show_value(entry)}.')
    address, user = text("host"), text("username", "user")
    if address is None:
        raise wrong("host, the name or address of the machine, is missing.")
    if not re.fullmatch(ADDRESS, address):
        raise wrong(f"host is not a valid name or address: {show_value(address)}.")
    if user is not None and not re.fullmatch(USER, user):
        raise wrong(f"username is not valid: {show_value(user)}.")
    key = text("keyPath", "key")
    try:
        return SshHost(
            name=name,
            address=address,
            user=user,
            port=_port(entry.get("port"), text),
            key=None if key is None else _key(key, source),
            description=shortened(clean_line(text("description", "desc") or ""), DESCRIPTION_CHARS),
            compat=_compat(entry.get("compat")),
            source=file.path,
            own=source.own,
        )
    except ValueError as error:
        raise wrong(str(error)) from None


def _expand(
    value: str, environ: Mapping[str, str], own: bool, field: str, wrong: Callable[[str], ConfigError]
) -> str:
    def variable(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not own and name not in PROJECT_VARIABLES:
            # A variable may hold a secret, and a DNS lookup would leak it.
            raise wrong(f"{field} uses ${name}, but a project may only use {', '.join(PROJECT_VARIABLES)}.")
        if name not in environ:
            raise wrong(f"{field} uses ${name}, which is not set.")
        return environ[name]

    return re.sub(_VARIABLE, variable, value)


def _port(value: Any, text: Callable[[str], str | None]) -> int | None:
    if isinstance(value, str):
        value = text("port")
        value = int(value) if value is not None and value.isascii() and value.isdigit() else value
    if value is None:
        return None
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 65535:
        return value
    raise ValueError(f"port must be a whole number from 1 to 65535, not {show_value(value)}.")


def _compat(value: object) -> bool | None:
    if value is None or isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise ValueError(f"compat must be true or false, not {show_value(value)}.")


def _key(value: str, source: _Source) -> Path:
    """Return the path of a key, relative to its file's folder. Raises ValueError if not allowed."""
    if "$" in value or not value.isprintable():
        raise ValueError(f"key has characters that are not allowed: {show_value(value)}.")
    path = source.path.parent / typed_path(value)
    if not source.own:
        real = path.resolve()
        places = (source.root.resolve(), (typed_path("~") / ".ssh").resolve())
        if not any(real.is_relative_to(place) for place in places):
            raise ValueError("its key is outside the project and ~/.ssh; set it in your own file.")
    return path
