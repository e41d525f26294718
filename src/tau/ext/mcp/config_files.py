"""Finds the MCP servers of all files: tau's own, other agents', a flag's, a program's."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from tau.base.errors import ConfigError
from tau.base.late import late
from tau.base.text import clean_line
from tau.config.discovery.capabilities import Item
from tau.config.discovery.providers import PROVIDERS, Kind
from tau.config.discovery.registry import CapabilityRegistry
from tau.config.json_file import MAX_BYTES, read_limited
from tau.config.paths import Paths
from tau.ext.mcp.config import NAME, McpServer, ServerEntry, read_server, unknown_fields
from tau.ext.mcp.messages import dict_at

pyjson5 = late("pyjson5")
tomllib = late("tomllib")

KINDS: tuple[Kind, ...] = ("mcps", "settings", "extensions")
"""The kinds of files that may define servers."""
TABLES = ("mcpServers", "servers", "mcp_servers", "mcp")
_OFF = ("disabledServers", "disabledMcpServers", "disabledMcpjsonServers")
OWN = ("native", "flag")
"""The providers of files that nobody but tau reads."""
_TOKEN = r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/|[{}\[\],:]|[^\s{}\[\],:"/]+|/'
MAX_SERVERS = 200


class ServerList(Struct, frozen=True):
    """All servers, the used one of a name first, and what is wrong with files: place and sentence."""

    entries: tuple[ServerEntry, ...] = ()
    errors: tuple[tuple[str, str], ...] = ()

    @property
    def active(self) -> list[ServerEntry]:
        return [entry for entry in self.entries if entry.state == "active"]

    def get(self, name: str) -> ServerEntry | None:
        return next((entry for entry in self.entries if entry.name == name), None)


def own_file(paths: Paths) -> Path:
    return paths.home / "mcp.json"


def find_servers(
    discovery: CapabilityRegistry | None,
    cwd: Path,
    *,
    files: Sequence[Path] = (),
    given: Iterable[tuple[str, Mapping[str, Any], str]] = (),
) -> ServerList:
    """What files define, `files` of a flag and the `given` servers (name, fields, who) before them."""
    scan = _Scan(cwd)
    for name, fields, provider in given:
        scan.add(name, fields, _blank(provider, Path(), "session"))
    for path in files:
        scan.read(path, "flag", "flag", required=True)
    priority = {provider.id: provider.priority for provider in PROVIDERS}

    def place(item: Item) -> tuple[bool, int, int]:
        """A repository cannot put its own server in place of one that the user's rules are about."""
        return item.level == "project", -priority.get(_provider(item), 0), item.rank

    for item in sorted((item for kind in KINDS for item in _all(discovery, kind)), key=place):
        if item.state in ("active", "waiting"):
            level = "project" if item.level == "project" else "user"
            waiting = item.why if item.state == "waiting" else ""
            plugin = None if item.source is None else item.source.plugin
            scan.read(item.path, _provider(item), level, waiting=waiting, plugin=plugin)
    return scan.settled()


def _blank(provider: str, path: Path, level: Any) -> ServerEntry:
    return ServerEntry(
        name="", server=McpServer(), provider=provider, path=path, level=level, base=path.parent
    )


def _all(discovery: CapabilityRegistry | None, kind: Kind) -> list[Item]:
    return [] if discovery is None else discovery.all(kind)


def _provider(item: Item) -> str:
    return "" if item.source is None else item.source.provider


class _Scan:
    def __init__(self, cwd: Path) -> None:
        self._folders = [str(cwd), *map(str, cwd.parents)]
        self._found: list[ServerEntry] = []
        self._errors: list[tuple[str, str]] = []
        self._off: set[str] = set()
        self._on: set[str] = set()

    def read(
        self,
        path: Path,
        provider: str,
        level: Any,
        *,
        waiting: str = "",
        required: bool = False,
        plugin: Path | None = None,
    ) -> None:
        try:
            text, content = read_file(path)
        except FileNotFoundError:
            if required:
                raise ConfigError("There is no such file.", path=path) from None
            return
        except ConfigError as error:
            if required:
                raise
            self._errors.append(("mcp", str(error)))
            return
        for key in (*_OFF, "enabledServers"):
            if not isinstance(content.get(key, []), list):
                line = find_line(text, key)
                self._errors.append(("mcp", str(ConfigError(f"{key} must be a list.", path=path, line=line))))
        base = _blank(provider, path, level)
        if plugin is not None:
            base = replace(base, base=plugin)
        if waiting:
            base = replace(base, state="waiting", why=waiting)
        for keys, table in self._tables(content, path):
            for name, fields in list(table.items())[:MAX_SERVERS]:
                self.add(name, fields, replace(base, line=find_line(text, *keys, name)))
                unread = unknown_fields(fields, own=provider in OWN) if isinstance(fields, dict) else {}
                for field, problem in unread.items():
                    line = find_line(text, *keys, name, *field.split(".")) or self._found[-1].line
                    self._errors.append((replace(self._found[-1], line=line).place, problem))
        if waiting:
            return
        names = {name for key in _OFF for name in _names(content.get(key))}
        self._off |= names
        if level != "project":
            self._on |= set(_names(content.get("enabledServers")))

    def _tables(
        self, content: dict[str, Any], path: Path
    ) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
        for key in TABLES:
            table = dict_at(content, key)
            if key == "mcp" and isinstance(table.get("servers"), dict):
                yield (key, "servers"), table["servers"]
            else:
                yield (key,), table
        projects = dict_at(content, "projects") if path.name == ".claude.json" else {}
        for folder in self._folders if projects else ():
            own = dict_at(projects, folder)
            self._off |= {name for key in _OFF for name in _names(own.get(key))}
            yield ("projects", folder, "mcpServers"), dict_at(own, "mcpServers")

    def add(self, name: str, fields: Any, base: ServerEntry) -> None:
        entry = replace(base, name=clean_line(name)[:100])
        problem = ""
        if not re.fullmatch(NAME, name):
            problem = "The name may have letters, digits, periods, - and _, at most 100 of them."
        elif not isinstance(fields, Mapping):
            problem = "It is not an object."
        else:
            try:
                entry = replace(entry, server=read_server(fields))
            except (ValueError, TypeError) as error:
                problem = str(error)
        if problem:
            self._errors.append((entry.place, problem))
            entry = replace(entry, state="invalid", why=problem)
        if not entry.is_own and not entry.server.sandbox:
            entry = replace(entry, server=replace(entry.server, sandbox=True))
        self._found.append(entry)

    def settled(self) -> ServerList:
        """The first of a name is used, even to turn those of the others off; equal connections start once."""
        used: dict[str, ServerEntry] = {}
        own = [entry.name for entry in self._found if entry.is_own]
        connections: dict[str, str] = {}
        settled = []
        for entry in sorted(self._found, key=lambda entry: entry.state == "waiting"):
            if (
                entry.state in ("active", "waiting")
                and (first := used.setdefault(entry.name, entry)) is not entry
            ):
                entry = replace(entry, state="shadowed", why=f"{first.path} has the same name.")
            if entry.state == "active":
                entry = self._judged(entry)
            if not entry.is_own and (rival := next((name for name in own if _mix_up(name, entry.name)), "")):
                entry = replace(entry, state="shadowed", why=f"Its name could be taken for tools of {rival}.")
            if entry.state == "active":
                twin = connections.setdefault(entry.digest, entry.name)
                if twin != entry.name:
                    entry = replace(entry, state="shadowed", why=f"It is the same server as {twin}.")
            settled.append(entry)
        return ServerList(tuple(settled), tuple(self._errors))

    def _judged(self, entry: ServerEntry) -> ServerEntry:
        if entry.name in self._off and entry.level not in ("flag", "session"):
            return replace(entry, state="disabled", why="It is in disabledServers.")
        if not entry.server.enabled and entry.name not in self._on:
            return replace(entry, state="disabled", why="Its field enabled is false.")
        return entry


def _mix_up(one: str, other: str) -> bool:
    """Whether rules for the tools of a server could mean those of another one: `a.b.c` is `b.c` of `a`."""
    return one != other and (one.startswith(f"{other}.") or other.startswith(f"{one}."))


def read_file(path: Path) -> tuple[str, dict[str, Any]]:
    """The text and content of a JSON file, perhaps with comments, or a TOML file. Raises ConfigError."""
    text = read_limited(path, MAX_BYTES).decode("utf-8-sig", "replace")
    if not text.strip():
        return text, {}
    try:
        if path.suffix == ".toml":
            return text, tomllib.loads(text)
        try:
            content = json.decode(text)
        except DecodeError:
            content = pyjson5.decode(text)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"The file cannot be read: {clean_line(str(error))}.", path=path) from None
    except pyjson5.Json5Exception as error:
        what, _, offset = str(error.args[0]).partition("near ")  # the other arguments are the content
        what = re.sub(r"b'(\w+)'", r"\1", what).removesuffix(" starting ").rstrip()
        what = re.sub(r"U\+([0-9a-f]+)", lambda hit: repr(chr(int(hit[1], 16))), what)
        found = re.match(r"\d+", offset)
        line = None if found is None else text.count("\n", 0, int(found[0])) + 1
        raise ConfigError(f"Invalid JSON: {what}.", path=path, line=line) from None
    if not isinstance(content, dict):
        raise ConfigError("The file must contain one object.", path=path)
    return text, content


def _names(value: Any) -> list[str]:
    return [name for name in value if isinstance(name, str)] if isinstance(value, list) else []


class MemberSpan(Struct, frozen=True):
    """Where a member of a JSON text is: its key, and its value."""

    key: int
    start: int
    end: int


def find_members(text: str) -> dict[tuple[str, ...], MemberSpan]:
    """The members of all objects of a JSON text, which may have comments and trailing commas."""
    found: dict[tuple[str, ...], MemberSpan] = {}
    stack: list[tuple[str, tuple[str, ...], int]] = []  # bracket, its own path, its start
    path: tuple[str, ...] = ()
    pending: tuple[str, int] | None = None  # a key and its offset
    is_value = True
    for match in re.finditer(_TOKEN, text, re.DOTALL):
        token = match.group()
        if token[:2] in ("//", "/*"):
            continue
        if token in "{[":
            inner = (*path, pending[0]) if pending else path
            stack.append((token, inner, match.start()) if not pending else (token, inner, pending[1]))
            if pending:
                found[inner] = MemberSpan(pending[1], match.start(), match.end())
            elif not stack[:-1]:
                found[()] = MemberSpan(match.start(), match.start(), match.end())
            path, pending, is_value = inner, None, token == "["
        elif token in "}]":
            if stack:
                _, own, _ = stack.pop()
                if (span := found.get(own)) is not None and (not stack or stack[-1][0] == "{"):
                    found[own] = MemberSpan(span.key, span.start, match.end())
                path = stack[-1][1] if stack else ()
            pending, is_value = None, False
        elif token == ",":
            pending, is_value = None, bool(stack) and stack[-1][0] == "["
        elif token == ":":
            is_value = True
        elif not is_value and pending is None and stack and stack[-1][0] == "{" and token[0] == '"':
            pending = (_unquoted(token), match.start())
        elif pending is not None and is_value:
            found[(*path, pending[0])] = MemberSpan(pending[1], match.start(), match.end())
    return found


def _unquoted(token: str) -> str:
    try:
        return str(json.decode(token))
    except DecodeError:
        return token[1:-1]


def find_line(text: str, *keys: str) -> int | None:
    """The line of a member, in JSON; of a table, in TOML."""
    span = find_members(text).get(keys) if text.lstrip()[:1] in "{/" else None
    if span is not None:
        return text.count("\n", 0, span.key) + 1
    found = re.search(rf"^\s*\[{re.escape('.'.join(keys))}\]", text, re.MULTILINE)
    return text.count("\n", 0, found.start()) + 1 if found else None
