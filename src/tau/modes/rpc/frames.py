"""The lines of the protocol that are neither commands nor events of a session."""

from typing import Any, Literal

from msgspec import UNSET, Raw, Struct, UnsetType

from tau.modes.session_commands.command import CallId

UiMethod = Literal[
    "select",
    "confirm",
    "input",
    "editor",
    "cancel",
    "notify",
    "setStatus",
    "setWidget",
    "setTitle",
    "set_editor_text",
]


class Envelope(Struct, frozen=True):
    """What every line from the program has; `id` is its own name for the call."""

    type: str
    id: CallId | None = None


class AnyCall(Struct, frozen=True):
    """A line whose type is wrong."""

    id: CallId | None = None


class Ready(Struct, frozen=True, tag_field="type", tag="ready"):
    """The session is open; commands sent before are answered too."""


class CommandResponse(Struct, frozen=True, tag_field="type", tag="response", kw_only=True):
    command: str
    success: bool
    id: CallId | UnsetType = UNSET
    data: Any = UNSET
    error: str | UnsetType = UNSET
    code: str | UnsetType = UNSET


class ErrorEvent(Struct, frozen=True, tag_field="type", tag="error"):
    """Sent with every failed response, for clients of the first generation."""

    error: str


class UiRequest(
    Struct, frozen=True, rename="camel", tag_field="type", tag="extension_ui_request", kw_only=True
):
    """A dialog, which the program answers by `id`, or something to show, which it does not answer."""

    id: str
    method: UiMethod
    title: str | UnsetType = UNSET
    message: str | UnsetType = UNSET
    options: list[str] | UnsetType = UNSET
    placeholder: str | UnsetType = UNSET
    prefill: str | UnsetType = UNSET
    timeout: int | UnsetType = UNSET  # milliseconds
    target_id: str | UnsetType = UNSET
    notify_type: str | UnsetType = UNSET
    status_key: str | UnsetType = UNSET
    status_text: str | UnsetType | None = UNSET
    widget_key: str | UnsetType = UNSET
    widget_lines: list[str] | UnsetType | None = UNSET
    text: str | UnsetType = UNSET
    approval: Any = UNSET  # the call to approve, for clients with their own dialog for it


class UiResponse(Struct, frozen=True, rename="camel"):
    id: str
    value: str | None = None
    confirmed: bool | None = None
    cancelled: bool = False
    reason: str = ""  # why a call is declined, for the model


class HostToolCall(Struct, frozen=True, rename="camel", tag_field="type", tag="host_tool_call"):
    id: str
    tool_call_id: str
    tool_name: str
    arguments: dict[str, Any]


class HostToolCancel(Struct, frozen=True, rename="camel", tag_field="type", tag="host_tool_cancel"):
    id: str
    target_id: str


class HostToolReply(Struct, frozen=True, rename="camel"):
    """`host_tool_result` or, with `partial_result`, `host_tool_update`."""

    id: str
    result: Raw | UnsetType = UNSET
    partial_result: Raw | UnsetType = UNSET
    is_error: bool = False


UriOperation = Literal["read", "write"]


class HostUriRequest(
    Struct, frozen=True, rename="camel", tag_field="type", tag="host_uri_request", kw_only=True
):
    id: str
    operation: UriOperation
    url: str
    content: str | UnsetType = UNSET


class HostUriCancel(Struct, frozen=True, rename="camel", tag_field="type", tag="host_uri_cancel"):
    id: str
    target_id: str


class HostUriReply(Struct, frozen=True, rename="camel"):
    id: str
    content: str | None = None
    content_type: str | None = None
    notes: list[str] = []
    immutable: bool | None = None
    is_error: bool = False
    error: str | None = None
