"""The actions of `tau relay` besides running it: send, heartbeat, sessions, login, logout, tmux, doctor."""

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

from msgspec import json, to_builtins

from tau.base.errors import TauError, UsageError
from tau.base.files import typed_path, write_atomic
from tau.base.late import late
from tau.base.run import LocalRunner, capture
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.relay import config as configs
from tau.relay.config import RelayHome

agent_runs = late("tau.relay.agent_run")
clock = late("tau.base.clock")
composition = late("tau.relay.composition")
control = late("tau.relay.control")
direct = late("tau.relay.direct")
doctors = late("tau.relay.doctor")
journal = late("tau.relay.journal")
media = late("tau.relay.media")
session_store = late("tau.relay.sessions")
whatsapp_login = late("tau.relay.channels.whatsapp_login")

SESSION = "tau-relay"


def as_json(value: object) -> str:
    return json.format(json.encode(value), indent=2).decode() + "\n"


def send(home: RelayHome, parsed: ParsedArgs) -> int:
    text, source = parsed.value("message") or parsed.value("body") or "", parsed.value("media")
    to = parsed.value("to")
    if not to or not (text or source):
        raise UsageError("Usage: tau relay send --to CHANNEL:CHAT --message TEXT, or --media PATH.")
    channel, chat = control.split_target(to)
    config = configs.load_config(home.config)
    shown = f"via {channel} -> {chat}: {text}{f' (media {source})' if source else ''}"
    if parsed.has("dry-run"):
        return write_stdout(f"[dry-run] would send {shown}\n")
    home.create()
    parts = [{"content": text}] if text else []
    if source:
        parts.append(_media_part(home, source))

    async def run() -> dict[str, object]:
        request = {"type": "send", "to": f"{channel}:{chat}", "parts": parts}
        reply = await control.ask_relay(home.socket, request, control.ANSWER_S + 5)
        if reply is not None:
            return {"via": "relay", "messageId": reply["messageId"]}
        outgoing = [
            journal.OutgoingPart("media" if one.get("file") else "text", chat, one["content"])
            for one in parts
        ]
        terminal = (sys.stdin, sys.stdout)
        id = await direct.use_channel(config, home, channel, chat, outgoing, terminal)
        return {"via": "direct", "messageId": id}

    sent = {"channel": channel, "to": chat, **asyncio.run(run()), "media": source}
    if parsed.has("json"):
        return write_stdout(as_json(sent))
    return write_stdout(f"Sent {shown}\n" if channel != "console" else "")


def _media_part(home: RelayHome, source: str) -> dict[str, str]:
    """The part for a file of the user's; an address is sent as text."""
    if source.startswith(("http://", "https://")):
        return {"content": source}
    path = typed_path(source)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f'"{source}" cannot be read: {error.strerror}.') from None
    type = media.media_type(data[:512], path.name)
    name = os.urandom(16).hex()
    write_atomic(home.media / name, data, mode=0o600)
    return {"content": f"{name}|{type}|{path.name.replace('|', '_')}", "file": "yes"}


def heartbeat(home: RelayHome, parsed: ParsedArgs) -> int:
    if parsed.value("message") or parsed.value("body"):
        return send(home, parsed)
    configs.load_config(home.config)
    request = {
        "type": "heartbeat",
        "to": parsed.value("to") or "",
        "all": parsed.has("all"),
        "dryRun": parsed.has("dry-run"),
    }
    reply = asyncio.run(control.ask_relay(home.socket, request, control.BEAT_S))
    if reply is None:
        raise UsageError("No relay is running; start it with tau relay run.")
    if parsed.has("json"):
        return write_stdout(as_json(reply))
    if parsed.has("dry-run"):
        return write_stdout("".join(f"[dry-run] would ask in {key}\n" for key in reply["would"]))
    said = set(reply["sent"])
    lines = [f"{key}: {'answered' if key in said else 'nothing to say'}\n" for key in reply["asked"]]
    return write_stdout("".join(lines))


def sessions(home: RelayHome, parsed: ParsedArgs) -> int:
    config = configs.load_config(home.config)
    store = config.inbound.reply.session.store
    path = typed_path(store) if store else home.state / "sessions.json"
    found = session_store.read_sessions(path)
    if parsed.has("json"):
        return write_stdout(as_json({key: to_builtins(one) for key, one in found.items()}))
    newest = sorted(found.items(), key=lambda item: -item[1].updated_at)
    lines = [f"{key}  {one.session_id}  {clock.iso(one.updated_at)}" for key, one in newest]
    return write_stdout("\n".join(lines or ["No conversations yet."]) + "\n")


def login(home: RelayHome, parsed: ParsedArgs) -> int:
    config, name = configs.load_config(home.config), _account(parsed)
    if name == "whatsapp":
        home.create()
        with composition.lock_relay(home):
            asyncio.run(_login_whatsapp(home, parsed.value("phone") or ""))
        return write_stdout("WhatsApp is linked.\n")
    asyncio.run(direct.use_channel(config, home, name, "", (), (sys.stdin, sys.stdout)))
    return write_stdout(f"The account of {name} works.\n")


def logout(home: RelayHome, parsed: ParsedArgs) -> int:
    name = _account(parsed)
    if name != "whatsapp":
        raise UsageError(f"The account of {name} is in the config; remove it there.")
    home.create()
    with composition.lock_relay(home):
        for path in (home.whatsapp, home.state / "sessions.json"):
            path.unlink(missing_ok=True)
    return write_stdout("The login and conversations are forgotten. Remove the device on the phone, too.\n")


async def _login_whatsapp(home: RelayHome, phone: str) -> None:
    try:
        log_in = whatsapp_login.log_in
    except ModuleNotFoundError as error:
        raise composition.missing_package("whatsapp", error) from None
    await log_in(home, phone, lambda text: write_stdout(f"{text}\n"))


def _account(parsed: ParsedArgs) -> str:
    name = parsed.value("channel") or parsed.value("provider") or ""
    if name not in composition.CHANNELS or name == "console":
        names = ", ".join(name for name in composition.CHANNELS if name != "console")
        raise UsageError(f"Name the channel with --channel: {names}.")
    return name


def tmux(home: RelayHome, parsed: ParsedArgs) -> int:
    what = parsed.words[1] if len(parsed.words) > 1 else ""
    if what not in ("", "heartbeat"):
        raise UsageError(f"Usage: tau relay tmux [heartbeat]. To attach: tmux attach -t {SESSION}.")
    configs.load_config(home.config)
    command = [sys.executable, "-m", "tau", "relay", "run", "--verbose"]
    command += ["--heartbeat-now"] if what == "heartbeat" else []

    async def start() -> str:
        runner = LocalRunner()
        try:
            argv = ["tmux", "new-session", "-d", "-s", SESSION, *command]
            process = await runner.start(argv, cwd=Path.cwd(), env=dict(os.environ))
            async with process:
                done = await capture(process, max_bytes=10_000)
        except OSError as error:
            raise UsageError(f"The program tmux cannot be started: {error.strerror}.") from None
        finally:
            runner.close()
        return "" if done.exit.code == 0 else done.output.decode("utf-8", "replace").strip()

    if problem := asyncio.run(start()):
        raise TauError(f"The program tmux failed: {problem}.")
    return write_stdout(
        f"The relay runs in the tmux session {SESSION}; see it with tmux attach -t {SESSION}.\n"
    )


def doctor(home: RelayHome, parsed: ParsedArgs) -> int:
    config = configs.load_config(home.config)

    async def run() -> list[Any]:
        running = composition.is_running(home)
        runner = agent_runs.agent_runner(composition.secret_variables(config))
        try:
            found: list[Any] = await doctors.examine(config, home, runner, running)
            return found
        finally:
            runner.close()

    found = asyncio.run(run())
    lines = [f"{'ok ' if one.ok else 'BAD'}  {one.what}: {one.detail}\n" for one in found]
    write_stdout(as_json(to_builtins(found)) if parsed.has("json") else "".join(lines))
    return 0 if all(one.ok for one in found) else 1


def systemd(home: RelayHome, parsed: ParsedArgs) -> int:
    unit = Path(configs.__file__).parent / "data" / "tau-relay.service"
    return write_stdout(unit.read_text(encoding="utf-8").format(command=f"{sys.executable} -m tau"))
