"""The lines of a session file: a header, then entries that form a tree by `id` and `parentId`."""

from functools import cache
from typing import Any, TypeAlias

import msgspec
from msgspec import UNSET, Struct, UnsetType

from tau.ai.normalization import cleaned
from tau.ai.wire import AppMessage, AssistantContent, Usage, UserContent

VERSION = 3


class SessionHeader(Struct, frozen=True, rename="camel", tag_field="type", tag="session", kw_only=True):
    version: int = VERSION
    id: str
    timestamp: str
    cwd: str
    parent_session: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class SessionEntryBase(Struct, frozen=True, rename="camel", tag_field="type"):
    """The place of any entry in the tree. The log fills in these fields when it appends one."""

    id: str = ""
    parent_id: str | None = None
    timestamp: str = ""


class MessageEntry(SessionEntryBase, frozen=True, kw_only=True, tag="message"):
    message: AppMessage


class ModelChange(SessionEntryBase, frozen=True, kw_only=True, tag="model_change"):
    """`model` is omp's form: `provider/id`. `base_url` is an address given for this session only.

    `upstream` is the only one that a router may ask.
    """

    provider: str = ""
    model_id: str = ""
    model: str | UnsetType = UNSET
    role: str | UnsetType = UNSET
    base_url: str | UnsetType = UNSET
    upstream: str | UnsetType = UNSET


class ThinkingLevelChange(SessionEntryBase, frozen=True, kw_only=True, tag="thinking_level_change"):
    thinking_level: str | None = None


class TierChange(SessionEntryBase, frozen=True, kw_only=True, tag="service_tier_change"):
    service_tier: str | None = None


class UsageEntry(SessionEntryBase, frozen=True, kw_only=True, tag="usage"):
    """The cost of a side request: for a title, for instance."""

    kind: str
    provider: str
    model: str
    usage: Usage
    note: str | UnsetType = UNSET


class CompactionEntry(SessionEntryBase, frozen=True, kw_only=True, tag="compaction"):
    """`summary` replaces everything before `first_kept_entry_id` on this branch."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int = 0
    short_summary: str | UnsetType = UNSET
    details: Any = UNSET
    usage: Usage | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


class BranchSummaryEntry(SessionEntryBase, frozen=True, kw_only=True, tag="branch_summary"):
    """`from_id` is the leaf that was left."""

    from_id: str
    summary: str
    details: Any = UNSET
    usage: Usage | UnsetType = UNSET
    from_hook: bool | UnsetType = UNSET


class ContextEdit(SessionEntryBase, frozen=True, kw_only=True, tag="context_edit"):
    """From here on, the model sees this replacement (None: nothing) of an earlier entry's content."""

    target_id: str
    replacement: "ContentReplacement | None" = None


class ContentReplacement(Struct, frozen=True, rename="camel"):
    content: str | list[UserContent | AssistantContent]


class CustomEntry(SessionEntryBase, frozen=True, kw_only=True, tag="custom"):
    """State stored by tau or an extension. No model sees it."""

    custom_type: str
    data: Any = UNSET


class CustomMessageEntry(SessionEntryBase, frozen=True, kw_only=True, tag="custom_message"):
    """A message to the model that is not from the user."""

    custom_type: str
    content: str | list[UserContent]
    display: bool = True
    details: Any = UNSET


class LabelEntry(SessionEntryBase, frozen=True, kw_only=True, tag="label"):
    """Without a label, the target's label is removed."""

    target_id: str
    label: str | UnsetType | None = UNSET


class SessionInfo(SessionEntryBase, frozen=True, kw_only=True, tag="session_info"):
    name: str | UnsetType | None = UNSET


class ModeChange(SessionEntryBase, frozen=True, kw_only=True, tag="mode_change"):
    """The mode `none` ends the one before."""

    mode: str
    data: Any = UNSET


class RuleInjection(SessionEntryBase, frozen=True, kw_only=True, tag="ttsr_injection"):
    injected_rules: list[str]


class McpToolSelection(SessionEntryBase, frozen=True, kw_only=True, tag="mcp_tool_selection"):
    selected_tool_names: list[str]


class SessionInit(SessionEntryBase, frozen=True, kw_only=True, tag="session_init"):
    """What a subagent session was started with."""

    system_prompt: str
    task: str
    tools: list[str]
    output_schema: Any = UNSET


KnownEntry: TypeAlias = (
    MessageEntry
    | ModelChange
    | ThinkingLevelChange
    | TierChange
    | UsageEntry
    | CompactionEntry
    | BranchSummaryEntry
    | ContextEdit
    | CustomEntry
    | CustomMessageEntry
    | LabelEntry
    | SessionInfo
    | ModeChange
    | RuleInjection
    | McpToolSelection
    | SessionInit
)


@cache
def _known_decoder() -> "msgspec.json.Decoder[KnownEntry]":  # not at import: a new session needs none
    return msgspec.json.Decoder(KnownEntry)


def decode_header(line: bytes) -> SessionHeader:
    return msgspec.json.decode(line, type=SessionHeader)


def decode_known(line: bytes) -> KnownEntry | None:
    """The whole entry, or None if its kind or its message is unknown."""
    try:
        return _known_decoder().decode(line)
    except ValueError:  # unknown, or not even UTF-8
        return None


def encode(entry: SessionHeader | KnownEntry) -> bytes:
    """One line. Tools may put anything into `details`; values unknown to JSON are written as text."""
    try:
        return msgspec.json.encode(entry, enc_hook=str)
    except UnicodeEncodeError:  # half of a surrogate pair, from a model or from a file's name
        return msgspec.json.encode(cleaned(msgspec.to_builtins(entry, enc_hook=str, str_keys=True)))
