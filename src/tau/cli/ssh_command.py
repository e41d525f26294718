"""`tau ssh add|list|remove|test`: the hosts of the ssh tool."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import Struct, json

from tau.backends.ssh.hosts import (
    HostScope,
    HostTable,
    SshHost,
    add_host,
    load_hosts,
    managed_file,
    remove_host,
)
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.run import LocalRunner
from tau.config.paths import Paths, current_folder, user_paths
from tau.modes.output_stream import OutputStream, tell

asyncio = late("asyncio")
connecting = late("tau.backends.ssh.connections")
infos = late("tau.backends.ssh.info")

VALUES = ("--host", "--user", "--port", "--key", "--desc", "--scope")
SWITCHES = ("--compat", "--no-compat", "--json")
SCOPES: tuple[HostScope, ...] = ("user", "project")


class _SshArgs(Struct, frozen=True):
    """The words after the action, and the options with their values."""

    words: Sequence[str]
    options: dict[str, str]

    @property
    def as_json(self) -> bool:
        return "--json" in self.options


def run(words: Sequence[str]) -> int:
    """Run `tau ssh`. Raises UsageError, ConfigError; ToolError if the connection fails."""
    given, options = _split(words)
    action, arguments = (given[0], given[1:]) if given else ("list", [])
    if action not in ACTIONS:
        raise UsageError(f'Unknown action "{action}"; use one of {", ".join(ACTIONS)}.')
    do, most, allowed = ACTIONS[action]
    surplus = sorted(set(options) - set(allowed))
    if surplus:
        raise UsageError(f"tau ssh {action} has no option {surplus[0]}.")
    if len(arguments) > most or (most and not arguments):
        raise UsageError(f"Usage: tau ssh {action}{FORMS[action]}.")
    return do(user_paths(os.environ), _SshArgs(arguments, options))


def _split(words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    given: list[str] = []
    options: dict[str, str] = {}
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if not word.startswith("-"):
            given.append(word)
            continue
        name, sign, value = word.partition("=")
        if name in SWITCHES and not sign:
            options[name] = ""
        elif name not in VALUES:
            raise UsageError(f'Unknown option "{name}"; see tau ssh --help.')
        elif sign or rest:
            options[name] = value if sign else rest.pop(0)
        else:
            raise UsageError(f"{name} needs a value.")
    return given, options


def _list(paths: Paths, args: _SshArgs) -> int:
    found = _load(paths)
    cache = infos.InfoCache(infos.info_folder(paths))
    if args.as_json:
        _write_json([_row(host, cache.get(host)) for host in found.hosts.values()])
        return 0
    if not found.hosts:
        OutputStream().text("No hosts; add one with tau ssh add NAME [USER@]HOST.\n")
        return 0
    rows = [("host", "target", "system", "from", "description")]
    for host in found.hosts.values():
        info = cache.get(host)
        rows.append(
            (host.name, host.target, "-" if info is None else str(info), str(host.source), host.description)
        )
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = (
        "  ".join([*(f"{cell:{width}}" for cell, width in zip(row, widths, strict=False)), row[-1]])
        for row in rows
    )
    OutputStream().text("".join(f"{line.rstrip()}\n" for line in lines))
    return 0


def _add(paths: Paths, args: _SshArgs) -> int:
    name = args.words[0]
    target = args.words[1] if len(args.words) == 2 else args.options.get("--host", "")
    user, _, address = target.rpartition("@")
    user = args.options.get("--user", user)
    if not address or (len(args.words) == 2 and "--host" in args.options):
        raise UsageError(f"Usage: tau ssh add{FORMS['add']}.")
    if "--compat" in args.options and "--no-compat" in args.options:
        raise UsageError("--compat and --no-compat cannot be used together.")
    port = args.options.get("--port")
    fields: dict[str, Any] = {
        "host": address,
        "username": user or None,
        "port": int(port) if port and port.isascii() and port.isdigit() else port,
        "keyPath": args.options.get("--key"),
        "description": args.options.get("--desc"),
        "compat": "--compat" in args.options if {"--compat", "--no-compat"} & set(args.options) else None,
    }
    path = managed_file(_scope(args) or "user", paths, current_folder())
    add_host(path, name, {field: value for field, value in fields.items() if value is not None})
    OutputStream().text(f"Added host {name} to {path}.\n")
    host = _load(paths).hosts.get(name)
    if host is None or host.source != path:
        tell(f"In this folder, another file overrides {name}." if host else f"{name} cannot be used yet.")
    return 0


def _remove(paths: Paths, args: _SshArgs) -> int:
    (name,) = args.words
    scope = _scope(args)
    files = [managed_file(one, paths, current_folder()) for one in (SCOPES if scope is None else (scope,))]
    for path in files:
        if remove_host(path, name):
            OutputStream().text(f"Removed host {name} from {path}.\n")
            return 0
    elsewhere = _load(paths).hosts.get(name)
    if elsewhere is not None:
        raise UsageError(f'Host "{name}" is defined in {elsewhere.source}; remove it there.')
    raise UsageError(f'No host "{name}" in {" or ".join(map(str, files))}.')


def _test(paths: Paths, args: _SshArgs) -> int:
    """Raises ToolError with the message of ssh if the host is unreachable."""
    (name,) = args.words
    hosts = _load(paths).hosts
    if name not in hosts:
        there = f"use one of {', '.join(hosts)}" if hosts else "none are defined"
        raise UsageError(f'Unknown host "{name}"; {there}.')
    host = hosts[name]
    began = time.monotonic()
    info = asyncio.run(_probe(paths, host))
    took_ms = round((time.monotonic() - began) * 1000)
    if args.as_json:
        _write_json({**_row(host, info), "ms": took_ms})
    else:
        OutputStream().text(f"{name} ({host.target}) answers: {info}.\n")
    return 0


async def _probe(paths: Paths, host: SshHost) -> Any:
    runner = LocalRunner()
    try:
        async with connecting.Connections(runner, cache=infos.info_folder(paths)) as connections:
            return await connections.info(host, again=True)
    finally:
        runner.close()


_Action = Callable[[Paths, _SshArgs], int]

FORMS = {"list": " [--json]", "add": " NAME [USER@]HOST", "remove": " NAME", "test": " NAME"}
# The function, the maximum number of words, and the options.
ACTIONS: dict[str, tuple[_Action, int, Sequence[str]]] = {
    "list": (_list, 0, ("--json",)),
    "add": (_add, 2, (*VALUES, "--compat", "--no-compat")),
    "remove": (_remove, 1, ("--scope",)),
    "test": (_test, 1, ("--json",)),
}


def _scope(args: _SshArgs) -> HostScope | None:
    value = args.options.get("--scope")
    if value is not None and value not in SCOPES:
        raise UsageError(f'--scope takes user or project, not "{value}".')
    return next((scope for scope in SCOPES if scope == value), None)


def _load(paths: Paths) -> HostTable:
    found = load_hosts(paths, current_folder(), os.environ)
    for warning in found.warnings:
        tell(warning)
    return found


def _row(host: SshHost, info: Any) -> dict[str, Any]:
    return {
        "name": host.name,
        "host": host.address,
        "username": host.user,
        "port": host.port,
        "keyPath": None if host.key is None else str(host.key),
        "description": host.description,
        "compat": host.compat,
        "path": str(host.source),
        "own": host.own,
        "os": None if info is None else info.os,
        "shell": None if info is None else info.shell,
        "compatShell": None if info is None else info.compat_shell,
    }


def _write_json(value: Any) -> None:
    OutputStream().write(json.format(json.encode(value), indent=2) + b"\n")
