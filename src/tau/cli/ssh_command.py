"""`tau ssh add|list|remove|test`: the hosts of the ssh tool."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

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
from tau.cli.json_output import write_json
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.config.paths import Paths, current_folder, user_paths
from tau.modes.columns import align_rows
from tau.modes.output_stream import OutputStream, tell

asyncio = late("asyncio")
connecting = late("tau.backends.ssh.connections")
infos = late("tau.backends.ssh.info")

SCOPES: tuple[HostScope, ...] = ("user", "project")


def run(words: Sequence[str]) -> int:
    """Run `tau ssh`. Raises UsageError, ConfigError; ToolError if the connection fails."""
    args = parse_subcommand("ssh", words)
    action, *args.words = args.words or ["list"]
    if action not in ACTIONS:
        raise UsageError(f'Unknown action "{action}"; use one of {", ".join(ACTIONS)}.')
    do, most, allowed = ACTIONS[action]
    surplus = sorted(set(args.values) - set(allowed.split()))
    if surplus:
        raise UsageError(f"tau ssh {action} takes no --{surplus[0]}.")
    if len(args.words) > most or (most and not args.words):
        raise UsageError(f"Usage: tau ssh {action}{FORMS[action]}.")
    return do(user_paths(os.environ), args)


def _list(paths: Paths, args: ParsedArgs) -> int:
    found = _load(paths)
    cache = infos.InfoCache(infos.info_folder(paths))
    if args.has("json"):
        return write_json([_row(host, cache.get(host)) for host in found.hosts.values()])
    if not found.hosts:
        OutputStream().text("No hosts; add one with tau ssh add NAME [USER@]HOST.\n")
        return 0
    rows = [("host", "target", "system", "from", "description")]
    for host in found.hosts.values():
        info = cache.get(host)
        rows.append(
            (host.name, host.target, "-" if info is None else str(info), str(host.source), host.description)
        )
    OutputStream().text("\n".join([*align_rows(rows), ""]))
    return 0


def _add(paths: Paths, args: ParsedArgs) -> int:
    name = args.words[0]
    target = args.words[1] if len(args.words) == 2 else args.value("host") or ""
    user, _, address = target.rpartition("@")
    user = args.value("user") or user
    if not address or (len(args.words) == 2 and args.has("host")):
        raise UsageError(f"Usage: tau ssh add{FORMS['add']}.")
    if args.has("compat") and args.has("no-compat"):
        raise UsageError("--compat and --no-compat cannot be used together.")
    port = args.value("port")
    fields: dict[str, object] = {
        "host": address,
        "username": user or None,
        "port": int(port) if port and port.isascii() and port.isdigit() else port,
        "keyPath": args.value("key"),
        "description": args.value("desc"),
        "compat": True if args.has("compat") else False if args.has("no-compat") else None,
    }
    path = managed_file(_scope(args) or "user", paths, current_folder())
    add_host(path, name, {field: value for field, value in fields.items() if value is not None})
    OutputStream().text(f"Added host {name} to {path}.\n")
    host = _load(paths).hosts.get(name)
    if host is None or host.source != path:
        tell(f"In this folder, another file overrides {name}." if host else f"{name} cannot be used yet.")
    return 0


def _remove(paths: Paths, args: ParsedArgs) -> int:
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


def _test(paths: Paths, args: ParsedArgs) -> int:
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
    if args.has("json"):
        return write_json({**_row(host, info), "ms": took_ms})
    OutputStream().text(f"{name} ({host.target}) answers: {info}.\n")
    return 0


async def _probe(paths: Paths, host: SshHost) -> object:
    runner = LocalRunner()
    try:
        async with connecting.Connections(runner, cache=infos.info_folder(paths)) as connections:
            return await connections.info(host, again=True)
    finally:
        runner.close()


_Action = Callable[[Paths, ParsedArgs], int]

FORMS = {"list": " [--json]", "add": " NAME [USER@]HOST", "remove": " NAME", "test": " NAME"}
# The function, the maximum number of words, and the flags.
ACTIONS: dict[str, tuple[_Action, int, str]] = {
    "list": (_list, 0, "json"),
    "add": (_add, 2, "host user port key desc scope compat no-compat"),
    "remove": (_remove, 1, "scope"),
    "test": (_test, 1, "json"),
}


def _scope(args: ParsedArgs) -> HostScope | None:
    return next((scope for scope in SCOPES if scope == args.value("scope")), None)


def _load(paths: Paths) -> HostTable:
    found = load_hosts(paths, current_folder(), os.environ)
    for warning in found.warnings:
        tell(warning)
    return found


def _row(host: SshHost, info: Any) -> dict[str, object]:
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
