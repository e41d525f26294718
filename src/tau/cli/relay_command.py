"""`tau relay`: answers chat messages with an agent CLI."""

import asyncio
import sys
from collections.abc import Callable, Sequence
from typing import Any

from msgspec import json, to_builtins

from tau.base.errors import ConfigError, TauError, UsageError
from tau.base.files import typed_path, write_atomic
from tau.base.late import late
from tau.cli.flags import subcommands
from tau.cli.main import report_problem, write_stdout
from tau.cli.parse import ParsedArgs
from tau.cli.signals import Signals
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.relay import config as configs
from tau.relay.config import RelayHome

pyjson5 = late("pyjson5")
access = late("tau.relay.access")
journals = late("tau.relay.journal")
actions = late("tau.cli.relay_actions")
composition = late("tau.relay.composition")
direct = late("tau.relay.direct")

ACTIONS = next(command.choices for command in subcommands() if command.name == "relay")
# Flags that override keys of the config.
NUMBERS = {
    "interval": "twilio.pollSeconds",
    "port": "twilio.port",
    "web-heartbeat": "web.heartbeatSeconds",
    "web-retries": "web.reconnect.maxAttempts",
    "web-retry-initial": "web.reconnect.initialMs",
    "web-retry-max": "web.reconnect.maxMs",
}


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("relay", words, common=True)
    own = (_run, _init, _check, _show, _schema, _status, _allow, _webhook)
    name = parsed.words[0] if parsed.words else ""
    verbs: dict[str, Callable[[RelayHome, ParsedArgs], int]] = {one.__name__[1:]: one for one in own}
    verb = verbs.get(name)
    if verb is None and name in ACTIONS:
        verb = getattr(actions, name)
    if verb is None:
        raise UsageError(usage_line("relay"))
    try:
        return verb(RelayHome(), parsed)
    except ConfigError as error:
        return report_problem(str(error), 2)


def _run(home: RelayHome, parsed: ParsedArgs) -> int:
    return _serve(home, parsed, _changes(parsed))


def _webhook(home: RelayHome, parsed: ParsedArgs) -> int:
    """Run on Twilio's webhook, whatever the config says about polling."""
    changes = {**_changes(parsed), "twilio.mode": "webhook"}
    if (path := parsed.value("path")) is not None:
        changes["twilio.path"] = path
    if parsed.value("ingress") == "tailscale":
        changes["twilio.publicUrl"] = "tailscale"
    if (reply := parsed.value("reply")) is not None:
        changes |= {"inbound.reply.mode": "text", "inbound.reply.text": reply}
    if parsed.has("dry-run"):
        twilio = configs.load_config(home.config, changes).twilio
        public = twilio.public_url or "no public address; set twilio.publicUrl"
        return write_stdout(
            f"[dry-run] would listen on port {twilio.port} at {twilio.path}, reached by {public}\n"
        )
    parsed.values["channel"] = ["twilio"]
    return _serve(home, parsed, changes)


def _changes(parsed: ParsedArgs) -> dict[str, object]:
    changes: dict[str, object] = {}
    for flag, key in NUMBERS.items():
        if (text := parsed.value(flag)) is not None:
            changes[key] = int(text) if text.isdigit() else text
    if parsed.has("verbose"):
        changes["logging.level"] = "debug"
    return changes


def _serve(home: RelayHome, parsed: ParsedArgs, changes: dict[str, Any]) -> int:
    config = configs.load_config(home.config, changes)
    given = [*parsed.all("channel"), *(name for name in parsed.all("provider") if name != "auto")]
    names = [name for text in given for name in text.split(",")] or composition.configured(config)
    if unknown := [name for name in names if name not in composition.CHANNELS]:
        raise UsageError(f'There is no channel "{unknown[0]}"; there are {", ".join(composition.CHANNELS)}.')
    beat_first = parsed.has("heartbeat-now")

    async def serve() -> int:
        with Signals() as signals:
            try:
                await composition.serve(config, home, names, (sys.stdin, sys.stdout), beat_first=beat_first)
            except asyncio.CancelledError:
                if signals.code is None:
                    raise
            except BaseExceptionGroup as errors:
                known, rest = errors.split(TauError)
                if rest is not None or known is None:
                    raise
                raise direct.first_error(known) from None
            return signals.code or 0

    return asyncio.run(serve())


def _init(home: RelayHome, parsed: ParsedArgs) -> int:
    if home.config.exists():
        raise UsageError(f'"{home.config}" exists; edit it, or remove it first.')
    text = configs.new_config()
    if source := parsed.value("from"):
        path = typed_path(source)
        try:
            content = pyjson5.decode(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f'"{source}" cannot be read: {error}.') from None
        if not isinstance(content, dict):
            raise UsageError(f'"{source}" does not contain an object.')
        text = json.format(json.encode(configs.migrate(content)), indent=2).decode() + "\n"
    home.create()
    write_atomic(home.config, text.encode(), mode=0o600)
    try:
        configs.load_config(home.config)
    except ConfigError as error:
        return report_problem(f"Wrote the config, but it has problems. {error}", 2)
    return write_stdout(f'Wrote "{home.config}". Next: tau relay run --channel console.\n')


def _check(home: RelayHome, parsed: ParsedArgs) -> int:
    path = typed_path(parsed.words[1]) if len(parsed.words) > 1 else home.config
    try:
        configs.load_config(path)
    except configs.InvalidRelayConfig as error:
        if not parsed.has("json"):
            raise
        return write_stdout(actions.as_json({"ok": False, "problems": error.problems})) or 2
    return write_stdout(
        actions.as_json({"ok": True, "problems": []}) if parsed.has("json") else f'"{path}" is valid.\n'
    )


def _show(home: RelayHome, parsed: ParsedArgs) -> int:
    return write_stdout(actions.as_json(to_builtins(configs.load_config(home.config))))


def _schema(home: RelayHome, parsed: ParsedArgs) -> int:
    return write_stdout(actions.as_json(configs.config_schema()))


def _status(home: RelayHome, parsed: ParsedArgs) -> int:
    journal = journals.MessageJournal(home.journal)

    if not home.journal.exists():
        raise UsageError("The relay has not run yet.")

    async def collect() -> dict[str, Any]:
        parts = await journal.uncertain()
        return {"counts": await journal.counts(), "uncertain": to_builtins(parts)}

    try:
        found = asyncio.run(collect())
    finally:
        journal.close()
    if parsed.has("json"):
        return write_stdout(actions.as_json(found))
    lines = [f"{name}: {count}" for name, count in found["counts"].items()]
    lines += [f"uncertain, to {part['chat']}: {part['content'][:140]}" for part in found["uncertain"]]
    return write_stdout("\n".join(lines or ["No messages yet."]) + "\n")


def _allow(home: RelayHome, parsed: ParsedArgs) -> int:
    if len(parsed.words) != 2:
        raise UsageError("Usage: tau relay allow CODE, or CHANNEL:SENDER.")
    home.create()
    sender = access.AccessList((), home.allowed).allow(parsed.words[1])
    if not sender:
        raise UsageError("That code is unknown or has expired.")
    return write_stdout(f"{sender} may talk to the agent.\n")
