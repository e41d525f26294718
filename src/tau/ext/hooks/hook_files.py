"""Reads command hooks from the files of tau, Claude Code, Codex and plugins; faults name file and line."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from tau.base.errors import ConfigError
from tau.base.late import late
from tau.base.run import Runner
from tau.base.sizes import KIB
from tau.base.text import clean_line, reveal_line, shortened
from tau.config.discovery.capabilities import Item
from tau.config.discovery.file_cache import read_text
from tau.config.discovery.providers import HOOK_SETTINGS, Level
from tau.config.discovery.registry import CapabilityRegistry
from tau.config.discovery_settings import HooksSettings
from tau.config.json_file import read_json
from tau.ext.hooks.tool_names import matcher_fault

difflib = late("difflib")
hashlib = late("hashlib")
tomllib = late("tomllib")

EVENTS = (
    *("SessionStart", "SessionEnd", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("PermissionRequest", "PreCompact", "PostCompact", "Notification", "Stop", "SubagentStart"),
    "SubagentStop",
)
UNSUPPORTED = (
    *("PostToolBatch", "UserPromptExpansion", "StopFailure", "PermissionDenied", "Setup", "TeammateIdle"),
    *("TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "ConfigChange", "WorktreeCreate"),
    *("WorktreeRemove", "InstructionsLoaded", "CwdChanged", "FileChanged", "MessageDisplay"),
)
GUARDS = ("PreToolUse", "PermissionRequest", "UserPromptSubmit")
"""Hooks of these events decide whether something happens, so one that fails must not let it happen."""
OF_THE_USERS = ("SessionStart", "SessionEnd", "UserPromptSubmit", "Stop")
"""Events of the conversation with the user; agents have their own, in the session that starts them."""
TIMEOUT_S = 60.0
MAX_TIMEOUT_S = 3600.0
MAX_HOOKS = 500  # of a file
NESTED = "TAU_HOOK"
"""Set in the environment of hooks, with the event."""
MAX_NUMBERED_BYTES = 256 * KIB  # in a longer file, lines are not named
Usage = Literal["active", "waiting", "off", "unsupported"]


class CommandHook(Struct, frozen=True, kw_only=True):
    """One hook: a command or an URL, for the calls or sources that `matcher` names.

    `fault` is why it cannot work; a guard with a fault fails each time. `condition` narrows it further, as in
    `Bash(git *)`. `at` are the keys that lead to it in its file.
    """

    event: str
    path: Path
    level: Level
    at: tuple[str | int, ...] = ()
    matcher: str = ""
    command: str = ""
    args: tuple[str, ...] | None = None
    url: str = ""
    headers: tuple[tuple[str, str], ...] = ()
    timeout_s: float = TIMEOUT_S
    background: bool = False
    once: bool = False
    condition: str = ""
    plugin_root: Path | None = None
    usage: Usage = "active"
    fault: str = ""

    @property
    def is_guard(self) -> bool:
        return self.event in GUARDS and not self.background

    @property
    def gist(self) -> str:
        """What it runs, on one line."""
        return shortened(reveal_line(" ".join((self.url or self.command, *(self.args or ())))), 120)

    @property
    def place(self) -> str:
        """Its file and line; the line is only looked for when something is wrong or listed."""
        with suppress(ConfigError):
            file = read_json(self.path) if self.at and self.path.suffix != ".toml" else None
            if file is not None and len(file.data) <= MAX_NUMBERED_BYTES:
                line = file.line_of("hooks", *self.at) or file.line_of(*self.at)
                return f"{self.path}:{line}" if line else str(self.path)
        return str(self.path)

    @property
    def id(self) -> str:
        """Stays the same while the hook does, whatever its line."""
        parts = (str(self.path), self.matcher, self.url, self.command, *(self.args or ()))
        digest: str = hashlib.sha1("\0".join(parts).encode(), usedforsecurity=False).hexdigest()
        return f"{self.event}-{digest[:6]}"


class HookScope(Struct, frozen=True, kw_only=True):
    """Where hooks run. `runner` is for what a repository supplies, in the sandbox; `outside` for programs of
    the user. In a folder that is not `trusted`, hooks of the user that name files of it run in the sandbox.
    """

    cwd: Path
    project: Path
    runner: Runner
    outside: Runner
    environ: Mapping[str, str]
    trusted: bool = False


class HookTable(Struct, frozen=True):
    """All hooks of a session; `problems` are sentences about what is lost."""

    hooks: Sequence[CommandHook] = ()
    problems: Sequence[str] = ()

    @property
    def active(self) -> list[CommandHook]:
        return [hook for hook in self.hooks if hook.usage == "active"]


def load_hooks(discovery: CapabilityRegistry, settings: HooksSettings) -> HookTable:
    """Read all hook files; takes a while, call it in a thread."""
    files = [item for item in discovery.all("hooks") if item.path.suffix == ".json"]
    files += [
        item
        for item in discovery.all("settings")
        if item.source is not None and item.source.provider in HOOK_SETTINGS
    ]
    hooks: list[CommandHook] = []
    problems: list[str] = []
    stopped: set[Level] = set()  # the levels where Claude Code's hooks are off
    for item in files:
        if item.state in ("shadowed", "disabled"):
            continue
        reader = _Reader(item, problems)
        found = list(reader.read())
        if reader.all_off:
            stopped.add(item.level)
        hooks += found
    settled = []
    for hook in hooks:
        is_off = bool(settings.disabled) and hook.id in settings.disabled
        is_off |= hook.level in stopped and ".claude" in hook.path.parts and hook.plugin_root is None
        if is_off:
            hook = replace(hook, usage="off")
        elif hook.usage == "active" and hook.url and not hook.fault:
            hook = replace(hook, fault=_url_fault(hook.url, settings.allowed_hosts))
        settled.append(hook)
    problems += [f"{hook.place}: {hook.fault}" for hook in settled if hook.fault and hook.usage == "active"]
    return HookTable(settled, problems)


class _Reader:
    """Reads the hooks of one file."""

    def __init__(self, item: Item, problems: list[str]) -> None:
        self._item = item
        self._problems = problems
        self.all_off = False

    def read(self) -> Iterator[CommandHook]:
        path = self._item.path
        try:
            if self._item.state == "invalid":
                raise ConfigError(self._item.why, path=path)
            content = self._content(path)
        except ConfigError as error:
            if self._may_guard(path):
                yield self._hook("PreToolUse", fault=f"The file of hooks cannot be read: {error}")
            else:
                self._problems.append(f"{error} Its hooks do not run.")
            return
        self.all_off = content.get("disableAllHooks") is True
        is_settings = self._item.kind == "settings"
        events = content.get("hooks", {} if is_settings else content)
        if not isinstance(events, dict):
            yield self._hook("PreToolUse", fault='"hooks" must be an object: { "PreToolUse": [ ... ] }.')
            return
        count = 0
        for event, groups in events.items():
            for hook in self._event(event, groups):
                count += 1
                if count > MAX_HOOKS:
                    self._problems.append(
                        f"{path}: There are more than {MAX_HOOKS} hooks; the rest is ignored."
                    )
                    return
                yield hook

    def _content(self, path: Path) -> dict[str, Any]:
        if path.suffix != ".toml":
            return read_json(path).content
        try:
            content: dict[str, Any] = tomllib.loads(read_text(path))
        except ValueError as error:
            raise ConfigError(f"It is not valid TOML: {error}.", path=path) from error
        return content

    def _may_guard(self, path: Path) -> bool:
        """Whether a file that cannot be read looks as if it had a guard."""
        try:
            return self._item.kind == "hooks" or "PreToolUse" in read_text(path)
        except ConfigError:
            return self._item.kind == "hooks"

    def _event(self, event: str, groups: Any) -> Iterator[CommandHook]:
        if event in ("description", "$schema", "version") and not isinstance(groups, list):
            return
        if event not in EVENTS:
            yield self._unknown(event)
            return
        if not isinstance(groups, list):
            yield self._hook(event, (event,), fault=f"{event} must be a list.")
            return
        for index, group in enumerate(groups):
            at = (event, index)
            own = group if isinstance(group, dict) else {}
            listed, matcher = own.get("hooks"), own.get("matcher") or ""
            entries: list[Any] = listed if isinstance(listed, list) else []
            if not entries:
                fault = f'An entry of {event} needs a list "hooks".'
            elif not isinstance(matcher, str):
                fault = "The matcher must be a text."
            else:
                fault = matcher_fault(matcher)
            if fault:
                yield self._hook(event, at, fault=fault)
                continue
            for number, entry in enumerate(entries):
                yield self._entry(event, (*at, "hooks", number), matcher, entry)

    def _unknown(self, event: str) -> CommandHook:
        if event in UNSUPPORTED:
            fault = f"tau has no event {event}, so these hooks do not run."
        else:
            near = difflib.get_close_matches(event, EVENTS, 1) or [
                name for name in EVENTS if name.lower() == event.lower()
            ]
            meant = f" Did you mean {near[0]}?" if near else ""
            fault = f'"{clean_line(event)}" is not an event.{meant}'
        self._problems.append(f"{self._hook(event, (event,)).place}: {fault}")
        return replace(self._hook(event, (event,), fault=fault), usage="unsupported")

    def _entry(self, event: str, at: tuple[str | int, ...], matcher: str, entry: Any) -> CommandHook:
        if not isinstance(entry, dict):
            return self._hook(event, at, matcher, fault="A hook must be an object.")
        kind = entry.get("type", "http" if "url" in entry else "command")
        if kind not in ("command", "http"):
            fault = f'tau runs no hooks of type "{clean_line(str(kind))}", only command and http.'
            if event in GUARDS:
                return self._hook(event, at, matcher, fault=fault)
            self._problems.append(f"{self._hook(event, at).place}: {fault}")
            return replace(self._hook(event, at, matcher, fault=fault), usage="unsupported")
        fault = _entry_fault(entry, kind)
        if fault:
            return self._hook(event, at, matcher, fault=fault)
        args = entry.get("args")
        return replace(
            self._hook(event, at, matcher),
            command=entry["command"] if kind == "command" else "",
            args=None if args is None else tuple(args),
            url=entry["url"] if kind == "http" else "",
            headers=tuple((entry.get("headers") or {}).items()),
            timeout_s=min(float(entry.get("timeout", TIMEOUT_S)), MAX_TIMEOUT_S),
            background=entry.get("async", False),
            once=entry.get("once", False),
            condition=entry.get("if", ""),
        )

    def _hook(
        self, event: str, at: Sequence[str | int] = (), matcher: str = "", fault: str = ""
    ) -> CommandHook:
        item = self._item
        return CommandHook(
            event=event,
            path=item.path,
            level=item.level,
            at=tuple(at),
            matcher=matcher,
            plugin_root=None if item.source is None else item.source.plugin,
            usage="waiting" if item.state == "waiting" else "active",
            fault=fault,
        )


_TYPES: dict[str, tuple[type | tuple[type, ...], str]] = {
    "timeout": ((int, float), "a number of seconds"),
    "async": (bool, "true or false"),
    "once": (bool, "true or false"),
    "if": (str, "a text"),
    "headers": (dict, "an object"),
    "args": (list, "a list of texts"),
}


def _entry_fault(entry: dict[str, Any], kind: str) -> str:
    """Why a hook cannot work, "" if it can."""
    field = "url" if kind == "http" else "command"
    value = entry.get(field)
    if not isinstance(value, str) or not value.strip():
        others = ", ".join(map(clean_line, entry.keys() - {"type", *_TYPES}))
        return f'The hook has no "{field}".' + (f" It has: {others}." if others else "")
    if "\0" in value:
        return f'The "{field}" has a NUL character.'
    for name, (wanted, words) in _TYPES.items():
        given = entry.get(name)
        if given is not None and (not isinstance(given, wanted) or (wanted is not bool and given is True)):
            return f'"{name}" must be {words}.'
    if entry.get("timeout") is not None and not 0 < entry["timeout"] < float("inf"):
        return '"timeout" must be more than 0 seconds.'
    values = [*(entry.get("args") or ()), *(entry.get("headers") or {}).values()]
    if not all(isinstance(one, str) and "\0" not in one for one in values):
        return '"args" and "headers" must hold texts.'
    return ""


def _url_fault(url: str, allowed: Sequence[str]) -> str:
    scheme, _, rest = url.partition("://")
    host = rest.partition("/")[0].rpartition("@")[2].lower()
    name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
    if scheme not in ("http", "https") or not name or any(sign in url for sign in " \r\n\\"):
        return "The url is not valid; it starts with http:// or https://."
    if name in ("localhost", "127.0.0.1", "::1") or name in allowed:
        return ""
    return f"The host {name} is not this machine and not in hooks.allowedHosts, so the hook may not call it."
