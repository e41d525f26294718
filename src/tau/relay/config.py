"""Reads relay.json: JSON5, all problems at once, each with its path and the allowed values."""

import os
import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any
from zoneinfo import ZoneInfo

import pyjson5
from msgspec import Struct, ValidationError, convert
from msgspec.json import schema
from msgspec.structs import FieldInfo, fields

from tau.base.errors import ConfigError
from tau.base.files import make_private, typed_path
from tau.config.descriptions import describe_type, show_value
from tau.config.json_file import MAX_BYTES, read_limited
from tau.relay.settings import InboundSettings, RelayConfig

VARIABLE = re.compile(r"{{\s*(\w+)\s*}}")
CHAT_TEXT = {"Body", "BodyStripped", "Transcript"}
CONFIG_NAME = "relay.json"
EMPTY: Mapping[str, object] = MappingProxyType({})


class RelayHome:
    """Where the relay keeps its config and state: `TAU_RELAY_HOME`, else `~/.tau`."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self.folder = typed_path(environ.get("TAU_RELAY_HOME", "").strip() or "~/.tau").absolute()
        self.config = self.folder / CONFIG_NAME
        self.state = self.folder / "relay"
        self.journal = self.state / "journal.db"
        self.socket = self.state / "relay.sock"
        self.lock = self.state / "relay.lock"
        self.workspace = self.state / "workspace"
        self.whatsapp = self.state / "whatsapp.db"
        self.media = self.state / "media"
        self.inbound = self.state / "inbound"
        self.allowed = self.state / "allowed.json"

    def create(self) -> None:
        for folder in (self.state, self.workspace, self.media, self.inbound):
            make_private(folder)


class InvalidRelayConfig(ConfigError):
    """All problems of one file; `problems` has one sentence each."""

    def __init__(self, path: Path, problems: list[str]) -> None:
        lines = "".join(f"\n- {problem}" for problem in problems)
        super().__init__(f"Invalid relay config:{lines}", path=path)
        self.problems = problems


def load_config(path: Path, changes: Mapping[str, object] = EMPTY) -> RelayConfig:
    """The config with `changes` of flags, by key. Raises ConfigError: for a missing or broken file, or with
    all problems of its values."""
    try:
        data = read_limited(path, MAX_BYTES)
    except FileNotFoundError:
        raise ConfigError("There is no relay config; create one with tau relay init.", path=path) from None
    return parse_config(data, path, changes)


def parse_config(data: bytes, path: Path, changes: Mapping[str, Any] = EMPTY) -> RelayConfig:
    try:
        content = pyjson5.decode(data.decode("utf-8-sig")) if data.strip() else {}
    except UnicodeDecodeError as error:
        where = f"line {data.count(10, 0, error.start) + 1}"
        raise InvalidRelayConfig(path, [f"The file is not valid UTF-8, see {where}."]) from None
    except pyjson5.Json5Exception as error:
        raise InvalidRelayConfig(path, [_explain(str(error.message), data)]) from None
    if not isinstance(content, dict):
        raise InvalidRelayConfig(path, ["The file must contain one object: { ... }."])
    for key, value in changes.items():
        _set(content, key.split("."), value)
    problems = [*_check(RelayConfig, content, "")]
    if problems:  # what is left shows the other ones
        _set(content, ["inbound", "reply", "agent", "kind"], "tau")
    config = convert(content, RelayConfig)
    reported = {problem.partition(":")[0] for problem in problems}
    problems += [one for one in _check_together(config) if one.partition(":")[0] not in reported]
    if problems:
        raise InvalidRelayConfig(path, problems)
    return config


def _explain(message: str, data: bytes) -> str:
    """What the parser says, with a line, and characters instead of their numbers."""
    offset = re.sub(r"\D.*", "", message.partition(" near ")[2])
    reason = re.sub(r" near \d+", "", message).replace("b'", "'")
    reason = re.sub(r"U\+([0-9a-f]{4,6})", lambda found: f'"{chr(int(found[1], 16))}"', reason)
    text = data.decode("utf-8-sig")
    line = text.count("\n", 0, int(offset or 0)) + 1
    return f"The file is not valid JSON5, see line {line}: {reason[:1].lower()}{reason[1:]}."


def _set(content: dict[str, object], keys: list[str], value: object) -> None:
    for key in keys[:-1]:
        inner = content.setdefault(key, {})
        if not isinstance(inner, dict):
            return  # reported by the check
        content = inner
    content[keys[-1]] = value


def _check(struct: type[Struct], content: dict[str, Any], prefix: str) -> Iterator[str]:
    """Yield the problems of single values, and remove those from `content`."""
    known = {one.encode_name: one for one in fields(struct)}
    given = dict(content)
    for name, value in given.items():
        key = f"{prefix}{name}"
        if name in known and _is_group(known[name]) and isinstance(value, dict):
            yield from _check(known[name].type, value, f"{key}.")
        elif name == "projects" and isinstance(value, dict):
            for inner in [*value]:
                yield from _remove_bad(value, inner, [*_check_value(str, value[inner], f"{key}.{inner}")])
        else:
            yield from _remove_bad(content, name, [*_check_key(known, name, value, prefix)])
    for name, one in known.items():
        if one.required and name not in given:
            if _is_group(one):
                yield from _check(one.type, {}, f"{prefix}{name}.")
            else:
                yield f"{prefix}{name}: required; must be {describe_type(one.type)}."


def _remove_bad(content: dict[str, Any], name: str, problems: list[str]) -> list[str]:
    if problems:
        del content[name]
    return problems


def _check_key(known: Mapping[str, FieldInfo], name: str, value: Any, prefix: str) -> Iterator[str]:
    key = f"{prefix}{name}"
    if name == "claudeOutputFormat":
        yield f"{key}: was replaced; use inbound.reply.agent.format."
    elif name not in known:
        near = get_close_matches(name, known, 1)
        hint = f" Did you mean {prefix}{near[0]}?" if near else f" Known here: {', '.join(known)}."
        yield f"{key}: unknown key.{hint}"
    elif _is_group(known[name]):
        yield f"{key}: must be an object, not {show_value(value)}."
    else:
        yield from _check_value(known[name].type, value, key)


def _check_value(annotation: object, value: object, key: str) -> Iterator[str]:
    try:
        convert(value, annotation)
    except ValidationError:
        yield f"{key}: must be {describe_type(annotation)}, not {show_value(value)}."


def _is_group(one: FieldInfo) -> bool:
    return isinstance(one.type, type) and issubclass(one.type, Struct)


def _check_together(config: RelayConfig) -> Iterator[str]:
    """Problems that no single value shows."""
    inbound, reply = config.inbound, config.inbound.reply
    if reply.mode == "text" and not reply.text:
        yield "inbound.reply.text: required for mode text."
    yield from _check_commands(inbound)
    for index, pattern in enumerate(inbound.group_chat.mention_patterns):
        try:
            re.compile(pattern)
        except re.error as error:
            yield f"inbound.groupChat.mentionPatterns[{index}]: not a regular expression: {error}."
    if isinstance(zone := inbound.timestamp_prefix, str):
        try:
            ZoneInfo(zone)
        except (KeyError, ValueError, OSError):
            yield f"inbound.timestampPrefix: unknown time zone {show_value(zone)}."
    if config.web.reconnect.max_ms < config.web.reconnect.initial_ms:
        yield "web.reconnect.maxMs: must be at least web.reconnect.initialMs."
    for name, folder in config.projects.items():
        if not typed_path(folder).is_absolute():
            yield f"projects.{name}: must be an absolute path or start with ~/, not {show_value(folder)}."
    for key, cwd in (
        ("inbound.reply.cwd", reply.cwd),
        *(("mediaRoots", root) for root in config.media_roots),
    ):
        if cwd and not typed_path(cwd).is_absolute():
            yield f"{key}: must be an absolute path or start with ~/, not {show_value(cwd)}."


def _check_commands(inbound: InboundSettings) -> Iterator[str]:
    """Chat text must not become an option of a program, so it may only be the last element of command."""
    reply, transcribe = inbound.reply, inbound.transcribe_audio
    words = {
        "inbound.reply.command": reply.command[:-1],
        "inbound.reply.session.sessionArgNew": reply.session.session_arg_new,
        "inbound.reply.session.sessionArgResume": reply.session.session_arg_resume,
        "inbound.transcribeAudio.command": transcribe.command,
    }
    for key, texts in words.items():
        for text in texts or ():
            if chat := CHAT_TEXT & set(VARIABLE.findall(text)):
                yield f"{key}: {{{{{sorted(chat)[0]}}}}} is only allowed in the last element of command."
    if reply.command and not reply.command[0].strip():
        yield "inbound.reply.command: must name a program."


def config_schema() -> dict[str, object]:
    whole = schema(RelayConfig)
    definitions = whole.pop("$defs")
    top = definitions.pop("RelayConfig")
    for one in (top, *definitions.values()):
        if one.get("type") == "object" and "properties" in one:
            one["additionalProperties"] = False
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": definitions}


TEMPLATE = Path(__file__).parent / "data" / "new_config.json5"


def new_config() -> str:
    return TEMPLATE.read_text(encoding="utf-8")


def migrate(content: dict[str, Any]) -> dict[str, object]:
    """Turn the content of a warelay.json into that of a relay.json; the result may still have problems."""
    reply = content.get("inbound", {}).get("reply") if isinstance(content.get("inbound"), dict) else None
    if isinstance(reply, dict):
        old = reply.pop("claudeOutputFormat", None)
        agent = reply.setdefault("agent", {"kind": "claude"})
        if isinstance(agent, dict) and old in ("text", "json"):
            agent.setdefault("format", old)
        reply.pop("heartbeatCommand", None)
    if isinstance(content.get("inbound"), dict):
        content["inbound"].pop("samePhoneMarker", None)
        if not content["inbound"].get("allowFrom"):
            content["inbound"]["allowFrom"] = ["*"]  # there, an empty list admitted everyone
    return content
