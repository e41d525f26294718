"""What a hook answered: by its exit code, or as JSON on its standard output."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from msgspec import DecodeError, Struct, json

from tau.base.text import clean_line, shortened
from tau.ext.hooks.hook_files import GUARDS

Decision = Literal["", "allow", "ask", "deny"]
MAX_TEXT_CHARS = 10_000  # of what goes to the model or to people
BLOCKED = 2
_CANNOT_START = {126: "it cannot be executed", 127: "the command was not found"}
# Interpreters that exit with 2, which means "block", when their script is missing or unreadable.
_NO_SCRIPT = re.compile(
    r"can't open file .*\[Errno \d+\]|sh: (?:\d+: )?(?:cannot open|can't open) |^Can't open perl script"
    r"|sh: (?:-c: )?line \d+: syntax error|sh: \d+: Syntax error|^error: Failed to spawn",
    re.IGNORECASE | re.MULTILINE,
)
_LOOKS_DECISIVE = re.compile(r'"(?:permissionDecision|decision|continue|behavior)"\s*:')
_PERMISSIONS: Mapping[str, Decision] = {"allow": "allow", "deny": "deny", "ask": "ask", "defer": "ask"}
_DECISIONS: Mapping[str, Decision] = {"approve": "allow", "allow": "allow", "block": "deny", "deny": "deny"}


class HookAnswer(Struct, frozen=True, kw_only=True):
    """`context` is for the model, `message` for the user, `stop` ends the run. A `failure` says, as a clause,
    why there is no valid answer.
    """

    decision: Decision = ""
    reason: str = ""
    updated_input: dict[str, Any] | None = None
    context: str = ""
    message: str = ""
    stop: str = ""
    failure: str = ""


def read_exit(event: str, code: int | None, signal: int | None, stdout: bytes, stderr: str) -> HookAnswer:
    """The answer of a process that was not stopped."""
    if code is None:
        return HookAnswer(failure=f"it was ended by signal {signal}")
    if code == BLOCKED and not _NO_SCRIPT.search(stderr):
        reason = _cut(stderr.strip()) or "The hook gave no reason."
        return HookAnswer(decision="deny", reason=reason)
    if code:
        why = _CANNOT_START.get(code, f"it exited with code {code}")
        why = "its script cannot be run" if code == BLOCKED else why
        return HookAnswer(failure=f"{why}{_last_line(stderr)}")
    return read_output(event, stdout)


def read_output(event: str, output: bytes) -> HookAnswer:
    """The answer on standard output, or in the body of a response."""
    text = output.decode(errors="replace").strip()
    if not text.startswith("{"):
        if event in GUARDS and _LOOKS_DECISIVE.search(text):
            return HookAnswer(failure="it printed other text around its JSON")
        is_context = event in ("SessionStart", "UserPromptSubmit", "SubagentStart")
        return HookAnswer(context=_cut(text) if is_context else "")
    try:
        content = json.decode(output)
        return _read(event, content)
    except (DecodeError, UnicodeDecodeError, RecursionError):
        return HookAnswer(failure="it printed JSON that is not valid")
    except _Invalid as error:
        return HookAnswer(failure=str(error))


class _Invalid(Exception):
    """A field whose value means nothing."""


def _read(event: str, content: dict[str, Any]) -> HookAnswer:
    own = _field(content, "hookSpecificOutput", dict, {})
    named = own.get("hookEventName", event)
    if named != event:
        raise _Invalid(f"its hookEventName is {clean_line(str(named))}, not {event}")
    decision, reason = _decision(event, content, own)
    stop = ""
    if not _field(content, "continue", bool, True):
        stop = _field(content, "stopReason", str, "") or "A hook stopped the run."
    updated = _field(own, "updatedInput", dict, None)
    if event == "PermissionRequest":
        updated = None
    return HookAnswer(
        decision=decision,
        reason=_cut(reason),
        updated_input=updated,
        context=_cut(
            _field(own, "additionalContext", str, "") or _field(content, "additionalContext", str, "")
        ),
        message=_cut(_field(content, "systemMessage", str, "")),
        stop=_cut(stop),
    )


def _decision(event: str, content: dict[str, Any], own: dict[str, Any]) -> tuple[Decision, str]:
    if event == "PermissionRequest" and "decision" in own:
        behavior = _field(own, "decision", dict, {})
        return _choice(_DECISIONS, behavior.get("behavior")), _field(behavior, "message", str, "")
    if own.get("permissionDecision") is not None:
        reason = _field(own, "permissionDecisionReason", str, "")
        return _choice(_PERMISSIONS, own["permissionDecision"]), reason
    if content.get("decision") is not None:
        return _choice(_DECISIONS, content["decision"]), _field(content, "reason", str, "")
    if event in GUARDS and {"permissionDecision", "decision"} & (content.keys() - {"decision"}):
        raise _Invalid("its permissionDecision is not in hookSpecificOutput")
    return "", ""


def _choice(known: Mapping[str, Decision], value: Any) -> Decision:
    if isinstance(value, str) and value in known:
        return known[value]
    raise _Invalid(f"its decision is {shortened(clean_line(str(value)), 40)}, not {', '.join(known)}")


def _field(content: dict[str, Any], name: str, kind: type, default: Any) -> Any:
    value = content.get(name)
    if value is None:
        return default
    if not isinstance(value, kind):
        raise _Invalid(f"its {name} has the wrong type")
    return value


def _cut(text: str) -> str:
    if len(text) <= MAX_TEXT_CHARS:
        return text
    return f"{text[:MAX_TEXT_CHARS]}\n[{len(text) - MAX_TEXT_CHARS:,} more characters are not shown.]"


def _last_line(stderr: str) -> str:
    lines: Sequence[str] = [line for line in stderr.splitlines() if line.strip()]
    return f": {shortened(clean_line(lines[-1].strip()), 160)}" if lines else ""
