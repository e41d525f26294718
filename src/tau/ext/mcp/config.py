"""The definition of one MCP server: its fields, the spellings of other tools, the values in it."""

import hashlib
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import parse_qsl, urlsplit

from msgspec import Meta, Struct, ValidationError, convert, json, structs
from msgspec.structs import replace

from tau.ai.auth import resolve_value
from tau.ai.proxy import is_loopback, parse_url
from tau.base import secrets
from tau.base.errors import ConfigError, TauError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.run import Runner
from tau.base.text import clean_line

difflib = late("difflib")

NAME = r"[a-zA-Z0-9_.-]{1,100}"
MAX_UNKNOWN = 10  # fields that are named
VARIABLE = r"\$\{([A-Za-z_][\w.:]*)(?::-([^}]*))?\}|\{env:([A-Za-z_]\w*)\}"
Kind = Literal["stdio", "http", "sse"]


class OAuthOptions(Struct, frozen=True, rename="camel", kw_only=True):
    """How to log in, where the server does not say it all."""

    client_id: Annotated[str, Meta(description="Of a client that you registered yourself")] = ""
    client_secret: Annotated[str, Meta(description="Its secret: a literal, ${VARIABLE} or !command")] = ""
    scope: Annotated[str, Meta(description="Scopes to ask for, instead of those that the server names")] = ""
    redirect_uri: Annotated[str, Meta(description="Where the browser returns to")] = ""
    callback_port: Annotated[int, Meta(description="Port of the callback; default: any", ge=0, le=65535)] = 0
    callback_path: str = "/callback"
    client_metadata_url: Annotated[str, Meta(description="URL of a client ID metadata document")] = ""
    prompt: Annotated[str, Meta(description="Passed to the login page, such as consent")] = ""
    grant: Literal["authorization_code", "client_credentials"] = "authorization_code"


class McpServer(Struct, frozen=True, rename="camel", kw_only=True):
    """A server as configured. `command` or `url` is set."""

    type: Annotated[Kind, Meta(description="Default: http with a url, stdio with a command")] = "stdio"
    command: Annotated[str, Meta(description="Program to start")] = ""
    args: Annotated[list[str], Meta(description="Its arguments")] = []
    env: Annotated[
        dict[str, str], Meta(description="Its variables, besides a few such as HOME and PATH")
    ] = {}
    cwd: Annotated[str, Meta(description="Folder to start it in; default: the session's")] = ""
    url: Annotated[str, Meta(description="Address of a remote server")] = ""
    headers: Annotated[dict[str, str], Meta(description="Sent with each request to it")] = {}
    timeout: Annotated[int, Meta(description="Of a call, in ms; progress extends it; 0: none", ge=0)] = 60_000
    startup_timeout: Annotated[int, Meta(description="For connecting, in ms", ge=1)] = 30_000
    enabled: bool = True
    required: Annotated[bool, Meta(description="Wait for it; without it, a run without a user fails")] = False
    enabled_tools: Annotated[list[str], Meta(description="Offer only these; * matches any text")] = []
    disabled_tools: Annotated[list[str], Meta(description="Never offer these; * matches any text")] = []
    always_load: Annotated[bool, Meta(description="Keep its tools in every request")] = False
    inherit_env: Annotated[
        bool | list[str], Meta(description="true: pass all variables that are not secret; or their names")
    ] = False
    sandbox: Annotated[bool, Meta(description="false: run your own server outside the sandbox")] = True
    auth: Annotated[Literal["auto", "none", "oauth"], Meta(description="none: never log in")] = "auto"
    oauth: OAuthOptions = OAuthOptions()


class ServerEntry(Struct, frozen=True, kw_only=True):
    """A server of one file. `state` and `why` say whether it is used."""

    name: str
    server: McpServer
    provider: str
    path: Path
    line: int | None = None
    level: Literal["user", "project", "flag", "session"] = "user"
    state: Literal["active", "disabled", "shadowed", "waiting", "invalid"] = "active"
    why: str = ""
    base: Path | None = None  # what relative and ${CLAUDE_PLUGIN_ROOT} paths are relative to

    @property
    def place(self) -> str:
        where = f"{self.path}" if self.line is None else f"{self.path}:{self.line}"
        return f"mcp:{self.name} ({where})"

    @property
    def is_own(self) -> bool:
        """Whether the user vouches for it, not a repository."""
        return self.level != "project"

    @property
    def digest(self) -> str:
        """Identifies the connection: two entries with the same one are one server."""
        server = self.server
        told = (server.type, server.command, server.args, server.env, server.cwd, server.url, server.headers)
        return hashlib.sha256(json.encode(told, order="sorted")).hexdigest()[:24]


SPELLINGS: dict[str, dict[str, Any]] = json.decode(Path(__file__).with_name("spellings.json").read_bytes())
"""Those of other tools: of types, of fields, and of fields whose values are in seconds."""


def read_server(fields: Mapping[str, Any]) -> McpServer:
    """A definition in any tool's spelling. Raises ValueError with a sentence."""
    given = {
        SPELLINGS["fields"].get(name, name): value for name, value in fields.items() if value is not None
    }
    for name, own in SPELLINGS["seconds"].items():
        value = given.pop(name, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            given[own or "startupTimeout"] = int(value * (1000 if own else 1))
    if isinstance(given.get("command"), list):
        given["command"], *given["args"] = given["command"] or [""]
    if given.pop("disabled", False) is True:
        given["enabled"] = False
    headers = dict(given.get("headers") or {}) if isinstance(given.get("headers", {}), dict) else {}
    if isinstance(name := given.pop("bearer_token_env_var", None), str):
        headers["Authorization"] = f"Bearer ${{{name}}}"
    for header, name in dict(given.pop("env_http_headers", None) or {}).items():
        headers[header] = f"${{{name}}}"
    if headers:
        given["headers"] = headers
    if isinstance(scopes := given.pop("scopes", None), list):
        given.setdefault("oauth", {"scope": " ".join(map(str, scopes))})
    if isinstance(given.get("auth"), dict):
        given["auth"] = "oauth" if given["auth"].get("type") == "oauth" else "auto"
    if given.get("oauth") in (False, True):
        given["auth"] = "oauth" if given.pop("oauth") else "none"
    named = given.get("type")
    if named is not None and named not in SPELLINGS["types"]:
        raise ValueError(f'The type "{clean_line(str(named))}" is unknown; use stdio, http or sse.')
    is_remote = bool(given.get("url")) and not given.get("command")
    given["type"] = SPELLINGS["types"][named] if named is not None else "http" if is_remote else "stdio"
    try:
        server = convert(given, McpServer)
    except ValidationError as error:
        what, _, where = str(error).replace("`", "").partition(" - at $.")
        raise ValueError(f"{where}: {what[:1].lower()}{what[1:]}." if where else f"{what}.") from None
    return _checked(server)


def unknown_fields(fields: Mapping[str, Any], *, own: bool) -> dict[str, str]:
    """A sentence for each field that nobody reads; in files of others, only for one that looks misspelled."""
    known = [*SPELLINGS["fields"], *SPELLINGS["seconds"], *SPELLINGS["others"], *field_names(McpServer)]
    problems = {}
    if fields.get("command") and fields.get("url") and fields.get("auth") != "oauth":
        problems["url"] = "It has a command and a url; the command is used."
    nested = fields.get("oauth")
    for table, names, inside in ((fields, known, ""), (nested, field_names(OAuthOptions), "oauth.")):
        for field in [] if not isinstance(table, Mapping) else table.keys() - set(names):
            close = difflib.get_close_matches(field, names, 1, 0.75)
            advice = f"; did you mean {close[0]}?" if close else "."
            if close or own:
                problems[inside + field] = f'The field "{clean_line(field)[:50]}" is unknown{advice}'
    return dict(list(problems.items())[:MAX_UNKNOWN])


def field_names(struct: type[Struct]) -> list[str]:
    return [field.encode_name for field in structs.fields(struct)]


def _checked(server: McpServer) -> McpServer:
    if server.type == "stdio":
        if not server.command.strip():
            raise ValueError("It has neither a command nor a url.")
        return server
    if not server.url:
        raise ValueError(f"A server of type {server.type} needs a url.")
    if "${" not in server.url and "{env:" not in server.url:
        try:
            place = parse_url(server.url)
        except TauError as error:
            raise ValueError(str(error)) from None
        is_open = place.scheme != "https" and not is_loopback(place)
        if is_open and any(name.lower() in ("authorization", "x-api-key") for name in server.headers):
            raise ValueError(
                f"{place.host} is not encrypted, so its key could be read on the way: use https://."
            )
    return server


async def resolve(entry: ServerEntry, environ: Mapping[str, str], cwd: Path, run: Runner) -> McpServer:
    """With variables and commands replaced by their values. Raises ConfigError."""
    server = entry.server
    folder = str(entry.base or entry.path.parent)
    known = {
        "workspaceFolder": str(cwd),
        "workspaceRoot": str(cwd),
        "userHome": str(typed_path("~")),
        "CLAUDE_PLUGIN_ROOT": folder,
        "extensionPath": folder,
        "CLAUDE_PROJECT_DIR": str(cwd),
    }

    def expand(text: str) -> str:
        return re.sub(VARIABLE, lambda found: _variable(found, environ, known, fail), text)

    def fail(problem: str) -> str:
        raise ConfigError(problem, path=entry.path, line=entry.line)

    async def value(text: str, *, secret: bool) -> str:
        if text.startswith("!"):
            return await resolve_value(text, environ, run, is_own=entry.is_own) or ""
        result = expand(text)
        if secret and len(result) >= 8:
            secrets.learn(result)
        return result

    env = {name: await value(text, secret=secrets.is_secret_name(name)) for name, text in server.env.items()}
    headers = {name: await value(text, secret=_is_key(name)) for name, text in server.headers.items()}
    started = typed_path(expand(server.cwd)) if server.cwd else cwd
    oauth = server.oauth
    if oauth.client_secret:
        oauth = replace(oauth, client_secret=await value(oauth.client_secret, secret=True))
    return replace(
        server,
        command=expand(server.command),
        args=[expand(text) for text in server.args],
        env=env,
        cwd=str(started if started.is_absolute() else cwd / started),
        url=expand(server.url),
        headers=headers,
        oauth=oauth,
    )


def exa_key(server: McpServer) -> str:
    """The key of a server of the search provider Exa; empty for others."""
    address = urlsplit(server.url)
    if not f".{address.hostname or ''}".endswith(".exa.ai"):
        return server.env.get("EXA_API_KEY", "")
    headers = {name.lower(): value for name, value in server.headers.items()}
    key = dict(parse_qsl(address.query)).get("exaApiKey", "") or headers.get("x-api-key", "")
    secrets.learn(key) if len(key) >= 8 else None
    return key


def _is_key(header: str) -> bool:
    return header.lower() not in ("accept", "user-agent", "content-type")


def _variable(
    found: "re.Match[str]", environ: Mapping[str, str], known: Mapping[str, str], fail: Callable[[str], str]
) -> str:
    name, default = found[1] or found[3], found[2]
    name = name.removeprefix("env:")
    if name.startswith("input:"):
        return fail(
            f'It asks for the input "{name[6:]}", which tau does not ask for; set it in your own mcp.json.'
        )
    value = environ.get(name) or known.get(name) or default
    return fail(f"The variable {name} is not set.") if value is None else value
