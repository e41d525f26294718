"""The verbs of `tau mcp` and `/mcp`: list, add, test, call and the others, on open or configured servers."""

import asyncio
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import DecodeError, Struct, json, to_builtins
from msgspec.json import schema_components

from tau.base import secrets
from tau.base.errors import TauError, UsageError
from tau.base.json_rpc import JsonRpcError
from tau.base.tasks import spawn
from tau.base.text import clean_line, quantity, reveal_line, shortened, strip_controls
from tau.coding.ports import ServerStatus
from tau.config.paths import PROJECT_FOLDER, repo_root
from tau.ext.mcp import report
from tau.ext.mcp.config import NAME, McpServer, ServerEntry, read_server
from tau.ext.mcp.config_edit import change_member
from tau.ext.mcp.config_files import own_file, read_file
from tau.ext.mcp.connection import ServerConnection
from tau.ext.mcp.messages import McpError, ToolDefinition, dict_at, list_at, text_at
from tau.ext.mcp.servers import McpServers, log_file
from tau.ext.mcp.tool_definitions import Pins

LOG_CHARS = 8_000
SETTLE_S = 15.0


class VerbArgs(Struct, frozen=True):
    """The words after the verb, its options, and the words after `--`."""

    words: Sequence[str] = ()
    options: Mapping[str, Sequence[str]] = {}
    command: Sequence[str] = ()

    def option(self, name: str, default: str = "") -> str:
        return self.options[name][-1] if self.options.get(name) else default


class VerbReport(Struct, frozen=True):
    """What a verb found: for people, and for programs."""

    text: str
    data: Any = None
    ok: bool = True


async def list_servers(servers: McpServers, args: VerbArgs) -> VerbReport:
    await wait_settled(servers)
    rows = report.statuses(servers)
    lines = [_status_line(row) for row in rows]
    lines += [f"{place}: {problem}" for place, problem in servers.listing.errors]
    none = "No MCP servers; add one with tau mcp add NAME -- COMMAND, or NAME URL."
    return VerbReport("\n".join(lines) or none, [to_builtins(row) for row in rows])


async def wait_settled(servers: McpServers) -> None:
    try:
        async with asyncio.timeout(SETTLE_S):
            for connection in servers.connections.values():
                await connection.settled()
    except TimeoutError:
        pass


def _status_line(row: ServerStatus) -> str:
    what = (
        f"{quantity(row.tools, 'tool')}, about {row.tokens:,} tokens" if row.state == "connected" else row.why
    )
    return f"{row.name}  {row.state}  {what}  (mcp:{row.name} via {row.provider})".replace("    ", "  ")


async def get_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    entry = _entry(servers, args.words[0])
    status = report.entry_status(servers, entry)
    fields = {
        key: value for key, value in to_builtins(entry.server).items() if value not in ("", [], {}, None)
    }
    for name in ("env", "headers"):
        fields[name] = {key: _shown(value) for key, value in fields.get(name, {}).items()}
    fields.pop("oauth", None)
    data = {**to_builtins(status), "server": fields, "line": entry.line}
    is_started = entry.name in servers.connections or entry.state != "active"
    named = ("name", "state", "why", "provider", "path") if is_started else ("name", "provider", "path")
    shown = {name: data[name] for name in named} | fields
    rows = [
        f"{key}: {reveal_line(value if isinstance(value, str) else json.encode(value).decode())}"
        for key, value in shown.items()
        if value not in ("", {}, [])
    ]
    return VerbReport("\n".join(rows), data)


def _shown(value: str) -> str:
    """References are shown, literal values are not: most are keys."""
    return value if value.startswith("!") or "${" in value else "***"


async def add_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    name, *rest = args.words
    fields: dict[str, Any] = {}
    kind = args.option("--type") or args.option("--transport")
    if args.command or not rest or not re.match(r"https?://", rest[0]):
        command = [*rest, *args.command]
        if not command:
            raise UsageError("Say what to start or where it is: tau mcp add NAME -- COMMAND, or NAME URL.")
        fields = {"command": command[0], "args": command[1:]}
    else:
        fields = {"type": kind or "http", "url": rest[0]}
    for option, field, sign in (("--env", "env", "="), ("--header", "headers", ":")):
        pairs = [text.partition(sign) for text in args.options.get(option, ())]
        if any(not key or not mark for key, mark, _ in pairs):
            raise UsageError(f"Write {option} NAME{sign}VALUE.")
        if pairs:
            fields[field] = {key.strip(): value.strip() for key, _, value in pairs}
    if args.option("--cwd"):
        fields["cwd"] = args.option("--cwd")
    if args.option("--timeout"):
        fields["timeout"] = args.option("--timeout")
        fields["timeout"] = int(fields["timeout"]) if fields["timeout"].isdigit() else fields["timeout"]
    return _store(servers, name, fields, args)


async def add_json(servers: McpServers, args: VerbArgs) -> VerbReport:
    name, text = args.words
    try:
        fields = json.decode(text)
    except (DecodeError, RecursionError) as error:
        raise UsageError(f"This is not JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise UsageError('The definition is an object such as {"command": "..."}.')
    return _store(servers, name, fields, args)


def _store(servers: McpServers, name: str, fields: dict[str, object], args: VerbArgs) -> VerbReport:
    if not re.fullmatch(NAME, name):
        raise UsageError("The name may have letters, digits, periods, - and _, at most 100 of them.")
    try:
        server = read_server(fields)
    except (ValueError, TypeError) as error:
        raise UsageError(str(error)) from None
    path = _scope_file(servers, args)
    change_member(path, ("mcpServers", name), fields)
    entry = ServerEntry(name=name, server=server, provider="native", path=path)
    note = ""
    if path == own_file(servers.parts.paths):
        if servers.parts.is_live and name not in servers.connections:
            servers.begin(entry)
    else:
        note = " It starts once you trust this repository: tau trust add."
    return VerbReport(f"Added {name} to {path}.{note}", {"name": name, "path": str(path)})


def _scope_file(servers: McpServers, args: VerbArgs) -> Path:
    scope = args.option("--scope", "user")
    if scope == "user":
        return own_file(servers.parts.paths)
    if scope != "project":
        raise UsageError(f'--scope takes user or project, not "{scope}".')
    cwd = servers.parts.cwd
    return (repo_root(cwd) or cwd) / PROJECT_FOLDER / "mcp.json"


async def remove_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    (name,) = args.words
    scopes = [args.option("--scope")] if args.option("--scope") else ["user", "project"]
    for scope in scopes:
        path = _scope_file(servers, VerbArgs(options={"--scope": [scope]}))
        if change_member(path, ("mcpServers", name), None):
            await servers.drop(name)
            return VerbReport(f"Removed {name} from {path}.", {"name": name, "path": str(path)})
    entry = servers.listing.get(name)
    if entry is not None:
        raise UsageError(
            f'"{name}" is defined in {entry.path}; remove it there, or run tau mcp disable {name}.'
        )
    raise UsageError(_unknown(servers, name))


async def enable_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    return await _switch(servers, args.words[0], on=True)


async def disable_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    return await _switch(servers, args.words[0], on=False)


async def _switch(servers: McpServers, name: str, *, on: bool) -> VerbReport:
    """Our own file says which servers are off, whoever defines them."""
    entry = _entry(servers, name)
    path = own_file(servers.parts.paths)
    try:
        _, content = read_file(path)
    except FileNotFoundError:
        content = {}
    keys = ("disabledServers", "enabledServers")
    before = {key: names if isinstance(names := content.get(key), list) else [] for key in keys}
    lists = {key: [one for one in before[key] if one != name] for key in keys}
    if not on:
        lists["disabledServers"].append(name)
    elif not entry.server.enabled:
        lists["enabledServers"].append(name)
    for key, names in lists.items():
        if names or key in content:
            change_member(path, (key,), names or None)
    if on:
        usable = entry.state in ("active", "disabled")
        if servers.parts.is_live and name not in servers.connections and usable:
            servers.begin(entry)
    else:
        await servers.drop(name)
    done = "on" if on else "off"
    return VerbReport(f"{name} is {done}.", {"name": name, "enabled": on})


async def test_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    connection = _connection(servers, args.words[0])
    began = asyncio.get_running_loop().time()
    client = await connection.connected()
    if not client.info.is_modern:
        await client.request("ping")
    took_ms = round((asyncio.get_running_loop().time() - began) * 1000)
    row = report.entry_status(servers, connection.entry)
    about = (
        f"{row.version or 'no name'}, protocol {row.protocol}, {quantity(row.tools, 'tool')}, {took_ms} ms"
    )
    text = f"{row.name} works: {about}."
    return VerbReport(text, {**to_builtins(row), "ms": took_ms})


async def list_tools(servers: McpServers, args: VerbArgs) -> VerbReport:
    if not args.words:
        await wait_settled(servers)
    else:
        await _connection(servers, args.words[0]).connected()
    names = args.words or list(servers.connections)
    tools = [tool for name in names for tool in servers.catalog.of(name)]
    data = [
        {"name": tool.name, **to_builtins(tool.definition), "tokens": report.tool_tokens(tool)}
        for tool in tools
    ]
    lines = [f"{tool.name}  {shortened(clean_line(tool.description), 100)}" for tool in tools]
    return VerbReport("\n".join(lines) or "No tools.", data)


async def call_tool(servers: McpServers, args: VerbArgs) -> VerbReport:
    """`call SERVER TOOL [JSON | NAME=VALUE ...]`: you call it yourself, so nothing asks."""
    server, tool, *rest = args.words
    connection = _connection(servers, server)
    client = await connection.connected()
    known = next((one for one in connection.tools if one.name == tool), None)
    if known is None:
        names = ", ".join(one.name for one in connection.tools[:30])
        raise UsageError(f'{server} has no tool "{tool}"; it has {names}.')
    params = {"name": tool, "arguments": _arguments(rest, known)}
    try:
        result = await client.request("tools/call", params)
    except JsonRpcError as error:
        raise TauError(f"{server} refused the call: {error}") from None
    texts = [_part_text(part) for part in list_at(result, "content")]
    if not texts and "structuredContent" in result:
        texts = [json.format(json.encode(result["structuredContent"]), indent=2).decode()]
    return VerbReport("\n".join(texts) or "(no output)", result, result.get("isError") is not True)


def _part_text(part: Mapping[str, Any]) -> str:
    if part.get("type") == "text":
        return strip_controls(text_at(part, "text", 10**7))
    resource = dict_at(part, "resource")
    if isinstance(resource.get("text"), str):
        return strip_controls(resource["text"])
    about = str(part.get("mimeType") or part.get("uri") or "")
    return f"[{clean_line(str(part.get('type')))} {clean_line(about)}]"


def _arguments(words: Sequence[str], tool: ToolDefinition) -> dict[str, object]:
    """A JSON object, or `name=value` where the schema says which values are text."""
    if len(words) == 1 and words[0].lstrip().startswith("{"):
        try:
            return dict(json.decode(words[0], type=dict[str, Any]))
        except (DecodeError, RecursionError) as error:
            raise UsageError(f"The arguments are not a JSON object: {error}.") from None
    found: dict[str, object] = {}
    properties = dict_at(tool.input_schema, "properties")
    for word in words:
        name, sign, value = word.partition("=")
        if not sign:
            raise UsageError(f'Write arguments as one JSON object, or as NAME=VALUE, not "{word}".')
        found[name] = value
        if dict_at(properties, name).get("type") != "string":
            with suppress(DecodeError):
                found[name] = json.decode(value)
    return found


async def list_resources(servers: McpServers, args: VerbArgs) -> VerbReport:
    client = await _connection(servers, args.words[0]).connected()
    if len(args.words) > 1:
        result = await client.request("resources/read", {"uri": args.words[1]})
        texts = [
            text_at(one, "text", 10**7) or f"[{text_at(one, 'mimeType')}]"
            for one in list_at(result, "contents")
        ]
        return VerbReport(strip_controls("\n".join(texts)), result)
    found = await client.list_all("resources") if client.info.offers("resources") else []
    found += await client.list_all("resources/templates") if client.info.offers("resources") else []
    rows = [
        clean_line(f"{text_at(one, 'uri') or text_at(one, 'uriTemplate')}  {text_at(one, 'name')}")
        for one in found
    ]
    return VerbReport("\n".join(rows) or "No resources.", found)


async def list_prompts(servers: McpServers, args: VerbArgs) -> VerbReport:
    client = await _connection(servers, args.words[0]).connected()
    if len(args.words) > 1:
        given = dict(word.split("=", 1) for word in args.words[2:] if "=" in word)
        result = await client.request("prompts/get", {"name": args.words[1], "arguments": given})
        texts = [_part_text(dict_at(one, "content")) for one in list_at(result, "messages")]
        return VerbReport("\n".join(texts), result)
    found = await client.list_all("prompts") if client.info.offers("prompts") else []
    rows = [
        clean_line(f"/{args.words[0]}:{text_at(one, 'name')}  {text_at(one, 'description')}") for one in found
    ]
    return VerbReport("\n".join(rows) or "No prompts.", found)


async def log_in(servers: McpServers, args: VerbArgs) -> VerbReport:
    """Show the page to open, and wait for the browser or a pasted address."""
    connection = _connection(servers, args.words[0])
    server = await servers.resolve_plain(connection.entry)
    login = servers.login_of(connection.name, server)
    if login is None or not server.url:
        raise UsageError(f"{connection.name} needs no login: its definition says how to reach it.")
    try:
        await connection.connected()  # its refusal says where to log in
    except McpError as error:
        if not error.needs_login:
            raise
    paste: list[Callable[[str], str | None]] = []
    failure: list[TauError] = []
    async with asyncio.TaskGroup() as group:
        asking: list[asyncio.Task[None]] = []

        async def show(url: str) -> None:
            asking.append(spawn(group, servers.parts.show_page(url, paste[0])))

        try:
            await login.log_in(show, paste.append)
        except TauError as error:
            failure.append(error)
        for task in asking:
            task.cancel()
    if failure:
        raise failure[0]
    connection.reconnect()
    client = await connection.connected()
    return VerbReport(f"Logged in to {connection.name} ({client.info.name or server.url}).")


async def log_out(servers: McpServers, args: VerbArgs) -> VerbReport:
    entry = _entry(servers, args.words[0])
    if entry.state in ("waiting", "invalid"):  # its values may be commands
        raise UsageError(f"{entry.name} is not in use. {entry.why}")
    server = await servers.resolve_plain(entry)
    login = servers.login_of(entry.name, server)
    if login is None or not await login.log_out():
        return VerbReport(f"There is no login for {entry.name}.")
    if (connection := servers.connections.get(entry.name)) is not None:
        connection.reconnect()
    return VerbReport(f"Logged out of {entry.name}.")


async def show_schema(servers: McpServers, args: VerbArgs) -> VerbReport:
    """For editors: what mcp.json may hold."""
    (server,), parts = schema_components([McpServer], ref_template="#/$defs/{name}")
    names = {"type": "array", "items": {"type": "string"}}
    tables = {"mcpServers": {"type": "object", "additionalProperties": server}}
    lists = dict.fromkeys(("disabledServers", "enabledServers"), names)
    schema = {"type": "object", "properties": {**tables, **lists}, "$defs": parts}
    return VerbReport(json.format(json.encode(schema), indent=2).decode(), schema)


async def reconnect_server(servers: McpServers, args: VerbArgs) -> VerbReport:
    connection = _connection(servers, args.words[0])
    connection.reconnect()
    return VerbReport(f"Connecting to {connection.name} again.")


async def show_logs(servers: McpServers, args: VerbArgs) -> VerbReport:
    path = log_file(servers.parts.paths, _entry(servers, args.words[0]).name)
    try:
        text = path.read_bytes()[-LOG_CHARS:].decode("utf-8", "replace")
    except OSError:
        return VerbReport(f"{args.words[0]} has printed nothing.", "")
    return VerbReport(strip_controls(secrets.mask(text)).rstrip(), text)


async def show_pins(servers: McpServers, args: VerbArgs) -> VerbReport:
    """`pins [SERVER]` lists pinned definitions; `pins SERVER forget` pins what the server says next."""
    pins = Pins(servers.parts.paths)
    if args.words[1:] == ["forget"]:
        return VerbReport(f"Forgot {pins.forget(args.words[0])} pins of {args.words[0]}.")
    known = pins.load()
    shown = {server: known.get(server, {}) for server in args.words[:1] or known}
    rows = [f"{server}.{tool}  {pin.digest[:12]}" for server in shown for tool, pin in shown[server].items()]
    return VerbReport("\n".join(rows) or "No pins.", to_builtins(known))


def _entry(servers: McpServers, name: str) -> ServerEntry:
    connection = servers.connections.get(name)
    entry = connection.entry if connection is not None else servers.listing.get(name)
    if entry is None:
        raise UsageError(_unknown(servers, name))
    return entry


def _connection(servers: McpServers, name: str) -> ServerConnection:
    entry = _entry(servers, name)
    connection = servers.connections.get(name)
    if connection is None:
        raise UsageError(f'The MCP server "{name}" is {entry.state}. {entry.why}')
    return connection


def _unknown(servers: McpServers, name: str) -> str:
    known = dict.fromkeys((*servers.connections, *(entry.name for entry in servers.listing.entries)))
    others = f"there are {', '.join(known)}" if known else "none are defined"
    return f'There is no MCP server "{name}"; {others}.'


Verb = Callable[[McpServers, VerbArgs], Awaitable[VerbReport]]
OPTIONS = ("--scope", "--env", "--header", "--type", "--transport", "--cwd", "--timeout")
# The function, what follows it, the number of words at least and at most, whether servers have to start.
VERBS: dict[str, tuple[Verb, str, int, int, bool]] = {
    "list": (list_servers, "", 0, 0, True),
    "get": (get_server, "NAME", 1, 1, False),
    "add": (add_server, "NAME URL | NAME [--env NAME=VALUE] -- COMMAND [ARGUMENT ...]", 1, 50, False),
    "add-json": (add_json, "NAME JSON", 2, 2, False),
    "remove": (remove_server, "NAME", 1, 1, False),
    "enable": (enable_server, "NAME", 1, 1, False),
    "disable": (disable_server, "NAME", 1, 1, False),
    "test": (test_server, "NAME", 1, 1, True),
    "tools": (list_tools, "[NAME]", 0, 1, True),
    "call": (call_tool, "NAME TOOL [JSON | ARGUMENT=VALUE ...]", 2, 100, True),
    "resources": (list_resources, "NAME [URI]", 1, 2, True),
    "prompts": (list_prompts, "NAME [PROMPT [ARGUMENT=VALUE ...]]", 1, 50, True),
    "login": (log_in, "NAME", 1, 1, True),
    "logout": (log_out, "NAME", 1, 1, False),
    "reconnect": (reconnect_server, "NAME", 1, 1, False),
    "logs": (show_logs, "NAME", 1, 1, False),
    "schema": (show_schema, "", 0, 0, False),
    "pins": (show_pins, "[NAME [forget]]", 0, 2, False),
}


def parse(words: Sequence[str]) -> tuple[str, VerbArgs]:
    """The verb and its arguments. Raises UsageError."""
    before, command = list(words), []
    if "--" in before:
        at = before.index("--")
        before, command = before[:at], before[at + 1 :]
    given: list[str] = []
    options: dict[str, list[str]] = {}
    while before:
        word = before.pop(0)
        name, sign, value = word.partition("=")
        if word == "--json":
            options["--json"] = [""]
        elif name in OPTIONS and (sign or before):
            options.setdefault(name, []).append(value if sign else before.pop(0))
        elif word.startswith("--"):
            raise UsageError(f'Unknown flag "{word}". See tau mcp --help.')
        else:
            given.append(word)
    verb, *rest = given or ["list"]
    if verb not in VERBS:
        raise UsageError(f'Unknown action "{verb}"; use one of {", ".join(VERBS)}, serve.')
    _, form, least, most, _ = VERBS[verb]
    if not least <= len(rest) <= most:
        raise UsageError(f"Usage: tau mcp {verb} {form}".rstrip() + ".")
    return verb, VerbArgs(rest, options, command)


def split(line: str) -> list[str]:
    """The words of a typed line. Raises UsageError."""
    try:
        return shlex.split(line)
    except ValueError:
        raise UsageError("A quote is not closed.") from None
