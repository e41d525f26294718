"""What tau and the process of an isolated extension send each other, as JSON lines."""

from inspect import getattr_static
from pathlib import Path
from typing import Any, get_origin

import msgspec
from msgspec import Struct

from tau.agent.effects import Effects
from tau.agent.tool import Tool
from tau.ai.wire import AppMessage
from tau.base.errors import TauError, ToolError
from tau.base.json_rpc import INTERNAL_ERROR, JsonRpcError, RpcFault
from tau.ext.extensions import events as x
from tau.ext.extensions.calls import RemoteError, describe
from tau.ext.extensions.context import StaleContext
from tau.ext.extensions.extension import ExtensionSource

EVENTS: dict[str, type] = {
    **{name: kind for kind, names in x.FACTS.items() for name in names},
    **x.OWN_FACTS,
    **{name: kind for name, (kind, _) in x.QUESTIONS.items()},
}
_CONTENTS: dict[str, object] = {"list": list[AppMessage], "dict": dict[str, str]}
_ERRORS: dict[int, type[TauError]] = {-32001: ToolError, -32002: StaleContext, -32003: TauError}


class LoadCall(Struct, frozen=True, kw_only=True):
    """The code to run; `search` is where modules are found."""

    source: ExtensionSource
    home: Path
    cwd: Path
    flags: dict[str, str]
    search: list[str]


class CodeCall(Struct, frozen=True):
    """A call of its code: `what` is `event:NAME:INDEX`, `command:NAME`, `tool:NAME` or `shortcut:KEY`."""

    what: str
    value: Any = None
    call_id: str = ""


class SessionCall(Struct, frozen=True):
    """A method of `tau`, `ctx`, `session` or `ui` that its code uses, perhaps during a call."""

    on: str
    name: str
    args: list[Any]
    named: dict[str, Any]
    call: int = 0


class RemoteTool(Struct, frozen=True, kw_only=True):
    name: str
    label: str
    description: str
    parameters: dict[str, Any]
    exclusive: bool
    effects: Effects | None = None


class Registrations(Struct, frozen=True, kw_only=True):
    """Everything that it has registered; `events` counts handlers, `refused` says what cannot work."""

    tools: list[RemoteTool]
    commands: dict[str, str]
    shortcuts: dict[str, str]
    events: dict[str, int]
    providers: dict[str, dict[str, Any]]
    refused: list[str]


class SeenTool(Tool[Any]):
    """The tool of a `tool_call` event, by name only."""

    def __init__(self, name: str, label: str) -> None:
        self.name, self.label = name, label


def encode(value: object) -> Any:
    """As builtin types. Raises TypeError for what JSON has not."""
    return msgspec.to_builtins(value, enc_hook=_encode)


def decode(value: object, kind: object) -> Any:
    return msgspec.convert(value, kind, dec_hook=_decode)


def _encode(value: object) -> Any:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Tool):
        return [value.name, value.label]
    if callable(value):
        return None
    raise TypeError(f"{type(value).__name__} cannot be sent to another process")


def _decode(kind: object, value: Any) -> object:
    if kind is Path:
        return Path(value)
    return SeenTool(*value) if (get_origin(kind) or kind) is Tool else value


def encode_reply(event: str, answer: object) -> object:
    """A handler's answer with its type. Raises RemoteError for one that the event does not take."""
    if answer is None or event not in x.QUESTIONS:
        return None
    for kind in x.QUESTIONS[event][1]:
        if isinstance(answer, kind):
            return [kind.__name__, encode(answer)]
    raise RemoteError(x.wrong_answer(event, answer))


def decode_reply(event: str, reply: Any) -> object:
    if reply is None:
        return None
    name, value = reply
    kind = next(kind for kind in x.QUESTIONS[event][1] if kind.__name__ == name)
    return decode(value, _CONTENTS.get(name, kind))


def fault_of(error: BaseException) -> RpcFault:
    """The exact class crosses for errors that say something to the model or the user."""
    code = next((code for code, kind in _ERRORS.items() if type(error) is kind), INTERNAL_ERROR)
    text = str(error) if code in _ERRORS else describe(error)
    return RpcFault(code, text, text)


def error_of(fault: JsonRpcError) -> TauError:
    return _ERRORS.get(fault.code, RemoteError)(str(fault.data or fault))


def is_allowed(target: object, name: str) -> bool:
    """Whether a method or property may be used from another process."""
    member = getattr_static(target, name, None)
    function = member.fget if isinstance(member, property) else member
    return not name.startswith("_") and hasattr(function, "runs_on_loop")
