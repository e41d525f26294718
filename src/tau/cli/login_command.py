"""`tau login`, `tau logout` and `tau auth list`."""

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from tau.ai.auth import LoginTokens
from tau.ai.catalog import Provider
from tau.base.clock import now_ms
from tau.base.errors import TauError, UsageError
from tau.base.late import late
from tau.base.tasks import spawn
from tau.base.text import sentence
from tau.cli.json_output import write_json
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.config.auth_file import StoredCredential
from tau.config.logins import Logins, describe_credential
from tau.config.pasted_key import clean_pasted_key, key_problem, key_warning
from tau.config.paths import user_paths
from tau.modes.columns import align_rows
from tau.modes.line_input import LineReader
from tau.modes.output_stream import OutputStream, tell

getpass = late("getpass")

STDIN, STDERR = 0, 2
MAX_KEY_BYTES = 16 * 1024
AUTH_ACTIONS = ("list",)


def run_login(words: Sequence[str]) -> int:
    """Raises TauError."""
    args = parse_subcommand("login", words)
    if len(args.words) > 1 or (args.has("key") and args.has("device")):
        raise UsageError(usage_line("login"))
    logins = Logins(user_paths(), os.environ)
    row = logins.find(args.words[0]) if args.words else _choose(logins)
    if row.local:
        raise TauError(f"{row.name} runs on this machine and needs no key.")
    wants_key = args.has("key") or row.login is None
    if not wants_key and not os.isatty(STDIN) and not args.has("device"):
        wants_key = row.login is not None and row.login.kind == "openrouter"
    if wants_key and (args.has("client-id") or args.has("device")):
        logins.login_of(row, args.value("client-id") or "")  # says why not
    asyncio.run(_store_key(logins, row, args) if wants_key else _log_in(logins, row, args))
    return 0


def run_logout(words: Sequence[str]) -> int:
    """Raises TauError."""
    words = parse_subcommand("logout", words).words
    if len(words) > 1:
        raise UsageError(usage_line("logout"))
    logins = Logins(user_paths(), os.environ)
    stored = logins.auth.providers()
    if not words:
        if len(stored) != 1:
            shown = f"Name one: {', '.join(stored)}." if stored else "Nothing is stored."
            raise UsageError(f"tau logout removes what is stored for a provider. {shown}")
        words = stored
    row = logins.catalog.provider(words[0])
    provider = row.id if row is not None else words[0]
    if not logins.auth.remove(provider):
        kept = f" Stored: {', '.join(stored)}." if stored else ""
        raise UsageError(f'Nothing is stored for "{words[0]}".{kept}')
    variable = logins.variable(row) if row is not None else ""
    tell(
        f"Removed what was stored for {row.name if row else provider}."
        + (f" The key in {variable} is still used." if variable else "")
    )
    return 0


def run_auth(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("auth", words)
    if parsed.words not in ([], [*AUTH_ACTIONS]):
        raise UsageError(usage_line("auth"))
    logins = Logins(user_paths(), os.environ)
    rows = _stored(logins)
    if parsed.has("json"):
        return write_json(rows)
    if not rows:
        OutputStream().text("No keys or logins. Add one with tau login PROVIDER.\n")
        return 0
    table = [(row["provider"], row["kind"], row["name"], row["state"]) for row in rows]
    OutputStream().text("\n".join([*align_rows(table), ""]))
    return 0


def _stored(logins: Logins) -> list[dict[str, Any]]:
    """Where the key of each provider comes from; never the key."""
    rows: list[dict[str, Any]] = []
    known = {**dict.fromkeys(logins.auth.providers()), **logins.catalog.providers}
    for id in known:
        for one in logins.auth.credentials(id):
            kind = "login" if one.tokens else "key"
            rows.append(
                {"provider": id, "kind": kind, "name": describe_credential(one), "state": _state(one)}
                | ({"expires": one.tokens.expires} if one.tokens and one.tokens.expires else {})
            )
        row = logins.catalog.providers.get(id)
        if row is not None and (variable := logins.variable(row)):
            rows.append({"provider": id, "kind": "variable", "name": variable, "state": "in the environment"})
    return rows


def _state(one: StoredCredential) -> str:
    if one.tokens is None or not one.tokens.expires:
        return "in auth.json"
    minutes = (one.tokens.expires - now_ms()) // 60_000
    if minutes < 0:
        return "renewed when used" if one.tokens.refresh else "expired"
    left = f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"
    return f"renewed in {left}" if one.tokens.refresh else f"expires in {left}"


def _choose(logins: Logins) -> Provider:
    if not os.isatty(STDIN):
        raise UsageError("Name the provider: tau login PROVIDER.")
    OutputStream(STDERR).text("Provider (such as anthropic, openai, openrouter): ")
    return logins.find(sys.stdin.readline().strip())


async def _store_key(logins: Logins, row: Provider, args: ParsedArgs) -> None:
    key = clean_pasted_key(await asyncio.to_thread(_read_key, row))
    if problem := key_problem(key, os.environ):
        raise TauError(problem)
    if doubt := key_warning(key, row.key_prefix):
        tell(doubt)
    checked = ""
    if not args.has("no-check"):
        check = await logins.check_key(row, key)
        if check.state == "rejected":
            raise TauError(f"{check.problem} Nothing was stored; --no-check stores it anyway.")
        checked = (
            " It works." if check.state == "valid" else f" It was not checked: {sentence(check.problem)}"
        )
    await logins.store_key(row, key, add=args.has("add"))
    tell(f"Saved the {row.name} key to {logins.auth.path}, which only you can read.{checked}{_next(row)}")


def _read_key(row: Provider) -> str:
    """Typed without echo, or the first line of a pipe."""
    if not os.isatty(STDIN):
        data = b""
        while b"\n" not in data and (piece := os.read(STDIN, MAX_KEY_BYTES)) and len(data) < MAX_KEY_BYTES:
            data += piece
        return data.partition(b"\n")[0].decode("utf-8", "replace")
    if row.key_page:
        OutputStream(STDERR).text(f"Create a key at {row.key_page}\n")
    try:
        return getpass.getpass(f"{row.name} key (hidden): ")
    except EOFError:
        raise KeyboardInterrupt from None


async def _log_in(logins: Logins, row: Provider, args: ParsedArgs) -> None:
    out, client_id = OutputStream(STDERR), args.value("client-id") or ""
    if args.has("device"):
        async with logins.device(row, client_id) as device:
            code = device.code
            out.text(f"Open {code.url} on any device and enter the code {code.code}\n")
            tokens = await device.finish()
    else:
        async with logins.browser(row, client_id) as flow:
            out.text(
                f"Open this page to log in to {row.name}:\n\n{flow.url}\n\n"
                "If the browser runs on another machine, paste the address it ends up at here.\n"
            )
            tokens = await _first(flow.finish, lambda: _read_pasted(flow.paste))
    await logins.store_login(row, tokens, client_id, add=args.has("add"))
    account = f" as {tokens.account}" if tokens.account else ""
    tell(
        f"Logged in to {row.name}{account}. Saved to {logins.auth.path}, which only you can read.{_next(row)}"
    )


async def _first(finish: Callable[[], Awaitable[LoginTokens]], read: Callable[[], Any]) -> LoginTokens:
    """Wait for the browser, and read what is pasted meanwhile."""
    async with asyncio.TaskGroup() as group:
        reading = spawn(group, read())
        try:
            return await finish()
        finally:
            reading.cancel()


async def _read_pasted(paste: Callable[[str], str | None]) -> None:
    lines = LineReader(STDIN, MAX_KEY_BYTES)
    try:
        while (line := await lines.next()) is not None:
            if line.strip() and (problem := paste(line)):
                tell(problem)
    except OSError:
        pass  # no input to read from
    finally:
        lines.close()


def _next(row: Provider) -> str:
    return f" Try it: tau --model {row.id}/{row.default_model}." if row.default_model else ""
