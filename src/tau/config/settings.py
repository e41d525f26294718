"""The settings: one declared struct, from which the table, the schema and the checks are all made."""

from functools import cache
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field, to_builtins
from msgspec.json import schema
from msgspec.structs import fields

from tau.ai.model import ThinkingLevel
from tau.config.descriptions import describe_type
from tau.config.interface_settings import (
    DisplaySettings,
    InteractionSettings,
    StatusLineSettings,
    ThemesSettings,
)

ApprovalMode = Literal["ask", "workspace", "yolo"]
QueueMode = Literal["one-at-a-time", "all"]
Scope = Literal["any", "user"]

# What loosens or runs anything: a project's file cannot set it.
USER = {"scope": "user"}


class RetrySettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Try again when a request fails and may succeed later")] = True
    max_retries: Annotated[int, Meta(description="Tries after the first one", ge=0, le=100)] = 10
    base_delay_ms: Annotated[
        int, Meta(description="Wait before the first retry; doubled each time", ge=0, le=60_000)
    ] = 500
    max_delay_ms: Annotated[
        int,
        Meta(
            description="Longest wait that is accepted; a server that asks for more fails",
            ge=0,
            le=86_400_000,
        ),
    ] = 300_000
    model_fallback: Annotated[
        bool, Meta(description="When a model keeps failing, go on with the next one of its chain")
    ] = True
    fallback_chains: Annotated[
        dict[str, list[str]],
        Meta(description="Models to fall back to, in order, by the role or the model that failed"),
    ] = {}
    fallback_revert_policy: Annotated[
        Literal["cooldown-expiry", "never"],
        Meta(description="When the first model is used again: once its server's wait is over, or never"),
    ] = "cooldown-expiry"


class CompactionSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Summarise the older part of a conversation before it outgrows the model")
    ] = True
    strategy: Annotated[
        Literal["context-full", "handoff", "shake", "off"],
        Meta(
            description="context-full: a summary takes the place of the older part; handoff: a document for a"
            " new session; shake: long tool output is dropped; off: nothing until a request is too large"
        ),
    ] = "context-full"
    threshold_percent: Annotated[
        int,
        Meta(description="Compact above this share of the window; -1 leaves the reserve free", ge=-1, le=99),
    ] = -1
    threshold_tokens: Annotated[
        int, Meta(description="Compact above this many tokens; -1: no such limit", ge=-1)
    ] = -1
    reserve_tokens: Annotated[int, Meta(description="Tokens to keep free for the answer", ge=0)] = 16_384
    keep_recent_tokens: Annotated[
        int, Meta(description="Tokens of the latest conversation that stay as they are", ge=0)
    ] = 20_000
    supersede_reads: Annotated[
        bool, Meta(description="Drop what a file held when a later read shows it again")
    ] = True
    idle_enabled: Annotated[bool, Meta(description="Compact a long conversation while nobody types")] = False
    idle_threshold_tokens: Annotated[
        int, Meta(description="How long a conversation must be for that", ge=1)
    ] = 200_000
    idle_timeout_seconds: Annotated[
        int, Meta(description="How long nobody must have typed for that", ge=1, le=86_400)
    ] = 300
    handoff_save_to_disk: Annotated[
        bool, Meta(description="Keep the document of a handoff as a file beside the session")
    ] = False


class BranchSummarySettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer to summarise a branch when it is left")] = False
    reserve_tokens: Annotated[
        int, Meta(description="Tokens of the window to keep free of the branch's text", ge=0)
    ] = 16_384


class TitlesSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Let the model of the role smol name a session in the interactive mode")
    ] = True


class StreamSettings(Struct, frozen=True, rename="camel"):
    connect_timeout_ms: Annotated[
        int, Meta(description="Time to reach a model's server", ge=1, le=3_600_000)
    ] = 15_000
    first_event_timeout_ms: Annotated[
        int, Meta(description="Time from the request to the first event of the answer", ge=1, le=3_600_000)
    ] = 300_000
    idle_timeout_ms: Annotated[
        int, Meta(description="Longest silence inside an answer; pings do not count", ge=1, le=3_600_000)
    ] = 120_000


class ToolsSettings(Struct, frozen=True, rename="camel"):
    approval_mode: Annotated[
        ApprovalMode,
        Meta(
            description="ask: writes and commands ask first; workspace: writes inside the workspace and"
            " commands run; yolo: everything runs",
            extra=USER,
        ),
    ] = "workspace"
    allow: Annotated[
        list[str],
        Meta(
            description="What is not asked about: patterns such as run: git status *, write: ~/notes/**,"
            " connect: example.com",
            extra=USER,
        ),
    ] = []
    artifact_spill_threshold: Annotated[
        int,
        Meta(
            description="KB shown of a command's output; a longer one is kept whole as an artifact",
            ge=1,
            le=10_240,
        ),
    ] = 50
    output_max_columns: Annotated[
        int, Meta(description="Longer lines of output are cut here", ge=1, le=1_000_000)
    ] = 768


class AutoBackgroundSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Let a command that takes long go on as a job")] = False
    threshold_ms: Annotated[int, Meta(description="How long one waits for it before", ge=1)] = 60_000


class BashSettings(Struct, frozen=True, rename="camel"):
    interceptor: Annotated[bool, Meta(description="Refuse commands that a tool does better")] = False
    strip_trailing_head_tail: Annotated[
        bool, Meta(description="Leave out a final head or tail where output is limited anyway")
    ] = True
    auto_background: AutoBackgroundSettings = AutoBackgroundSettings()
    timeout_seconds: Annotated[
        int, Meta(description="Time limit of a command that asks for none", ge=1, le=3_600)
    ] = 300


class SummarizeSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Show long files of code in brief: declarations without their bodies")
    ] = True
    prose: Annotated[bool, Meta(description="Show long Markdown files in brief too")] = False
    min_body_lines: Annotated[int, Meta(description="Shortest body that is left out", ge=1)] = 4
    min_comment_lines: Annotated[int, Meta(description="Shortest comment that is left out", ge=1)] = 6
    min_total_lines: Annotated[int, Meta(description="Shortest file that is shown in brief", ge=1)] = 100
    unfold_until: Annotated[
        int, Meta(description="Bodies are shown again until this many lines are shown", ge=0)
    ] = 50
    unfold_limit: Annotated[
        int, Meta(description="No body is shown that would lead beyond this many lines", ge=0)
    ] = 100


class AsyncSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Let commands run in the background")] = True
    max_jobs: Annotated[
        int, Meta(description="Background jobs that may run at the same time", ge=1, le=100)
    ] = 100
    poll_wait_duration: Annotated[
        Literal["5s", "10s", "30s", "1m", "5m"], Meta(description="How long the tool job waits for a job")
    ] = "30s"


class EvalSettings(Struct, frozen=True, rename="camel"):
    py: Annotated[bool, Meta(description="Let the tool eval run Python")] = True
    js: Annotated[bool, Meta(description="Let the tool eval run JavaScript, where node is installed")] = True


class PythonSettings(Struct, frozen=True, rename="camel"):
    interpreter: Annotated[
        str | None,
        Meta(description="Python that runs cells; else the project's own environment", extra=USER),
    ] = None
    kernel_mode: Annotated[
        Literal["session", "per-call"],
        Meta(description="session: variables last; per-call: each cell begins anew"),
    ] = "session"


class TaskSettings(Struct, frozen=True, rename="camel"):
    max_concurrency: Annotated[
        int, Meta(description="How much of parallel work runs at once; 0: all of it", ge=0, le=1000)
    ] = 32


class TodoRemindersSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Remind a model that stops with open tasks of them")] = True
    max: Annotated[int, Meta(description="How often in a row", ge=0, le=100)] = 3


class TodoSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Let the agent keep a list of what it is doing")] = True
    reminders: TodoRemindersSettings = TodoRemindersSettings()


class TasksSettings(Struct, frozen=True, rename="camel"):
    todo_clear_delay: Annotated[
        int, Meta(description="Seconds after which closed tasks leave the list; negative: never", le=86_400)
    ] = 60


class CheckpointSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Let the agent mark a point and go back to it with a report")
    ] = False


class SshSettings(Struct, frozen=True, rename="camel"):
    mount: Annotated[
        bool,
        Meta(
            description="Show the files of ssh hosts in a folder while they are in use, where sshfs is there",
            extra=USER,
        ),
    ] = False


class PlanSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer plan mode")] = True


class ReadSettings(Struct, frozen=True, rename="camel"):
    default_limit: Annotated[
        int, Meta(description="Lines shown of a file when no range is asked for", ge=1, le=3_000)
    ] = 300
    summarize: SummarizeSettings = SummarizeSettings()
    hash_lines: Annotated[
        bool, Meta(description="Show files under a tag by which edit can name their lines")
    ] = True


class EditSettings(Struct, frozen=True, rename="camel"):
    mode: Annotated[
        Literal["hashline", "replace", "apply_patch", "patch"],
        Meta(description="How the model writes edits; TAU_EDIT_MODE sets it for one run"),
    ] = "hashline"
    model_modes: Annotated[
        dict[str, Literal["hashline", "replace", "apply_patch", "patch"]],
        Meta(description="Other modes for some models, by a glob over their ids, such as gpt-*"),
    ] = {}
    fuzzy_match: Annotated[
        bool, Meta(description="In the mode replace, accept text that is almost right, and say so")
    ] = True
    fuzzy_threshold: Annotated[
        float, Meta(description="How similar such text must be, from 0.5 to 1", ge=0.5, le=1)
    ] = 0.95
    block_auto_generated: Annotated[
        bool, Meta(description="Refuse to change files that are generated from others")
    ] = True


class SearchSettings(Struct, frozen=True, rename="camel"):
    context_before: Annotated[int, Meta(description="Lines shown before a match", ge=0, le=50)] = 1
    context_after: Annotated[int, Meta(description="Lines shown after a match", ge=0, le=50)] = 3


class ImagesSettings(Struct, frozen=True, rename="camel"):
    auto_resize: Annotated[bool, Meta(description="Make large pictures smaller before they are sent")] = True
    block_images: Annotated[bool, Meta(description="Send no pictures that tools read to any model")] = False


class InspectImageSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Offer a tool that asks the model of the role vision about a picture")
    ] = False


class LocalSettings(Struct, frozen=True, rename="camel"):
    discover: Annotated[bool, Meta(description="Look for model servers on this machine", extra=USER)] = True
    embedded: Annotated[
        bool, Meta(description="Start the demo model when nothing else is there", extra=USER)
    ] = True


class ContextFilesSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Give the AGENTS.md and CLAUDE.md files of user and project to the model")
    ] = True


class Settings(Struct, frozen=True, rename="camel", kw_only=True):
    """What a user may set, with its default. Keys are written in camelCase, groups nested or with dots."""

    default_provider: Annotated[str | None, Meta(description="Provider of the model to start with")] = None
    default_model: Annotated[str | None, Meta(description="Model to start with: an id or a pattern")] = None
    default_thinking_level: Annotated[ThinkingLevel, Meta(description="How much a model thinks")] = "high"
    enabled_models: Annotated[
        list[str],
        Meta(
            description="Patterns such as claude-*; what they match comes first in --list-models, and is"
            " used when no model is named"
        ),
    ] = []
    model_roles: Annotated[
        dict[str, str], Meta(description="Models for particular work by role, such as vision")
    ] = {}
    shell_path: Annotated[str | None, Meta(description="Shell that runs commands", extra=USER)] = None
    session_dir: Annotated[str | None, Meta(description="Folder for the sessions", extra=USER)] = None
    steering_mode: Annotated[
        QueueMode, Meta(description="How many steering messages are handed over at once")
    ] = "one-at-a-time"
    follow_up_mode: Annotated[
        QueueMode, Meta(description="How many follow-up messages are handed over at once")
    ] = "one-at-a-time"
    interrupt_mode: Annotated[
        Literal["immediate", "wait"],
        Meta(description="Whether a steering message skips the tool calls that have not started"),
    ] = "immediate"
    retry: RetrySettings = RetrySettings()
    compaction: CompactionSettings = CompactionSettings()
    branch_summary: BranchSummarySettings = BranchSummarySettings()
    titles: TitlesSettings = TitlesSettings()
    stream: StreamSettings = StreamSettings()
    tools: ToolsSettings = ToolsSettings()
    bash: BashSettings = BashSettings()
    async_: AsyncSettings = field(name="async", default=AsyncSettings())
    eval: EvalSettings = EvalSettings()
    python: PythonSettings = PythonSettings()
    task: TaskSettings = TaskSettings()
    todo: TodoSettings = TodoSettings()
    tasks: TasksSettings = TasksSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    plan: PlanSettings = PlanSettings()
    ssh: SshSettings = SshSettings()
    read: ReadSettings = ReadSettings()
    edit: EditSettings = EditSettings()
    search: SearchSettings = SearchSettings()
    images: ImagesSettings = ImagesSettings()
    inspect_image: InspectImageSettings = InspectImageSettings()
    local: LocalSettings = LocalSettings()
    context_files: ContextFilesSettings = ContextFilesSettings()
    theme: ThemesSettings = ThemesSettings()
    status_line: StatusLineSettings = StatusLineSettings()
    display: DisplaySettings = DisplaySettings()
    interaction: InteractionSettings = InteractionSettings()


class Setting(Struct, frozen=True):
    """One setting as people see it; `annotation` is what a value is checked against."""

    key: str
    type: str
    default: Any
    description: str
    scope: Scope
    annotation: Any


@cache
def settings_by_key() -> dict[str, Setting]:
    """Every setting under its dotted key, in the order of the struct."""
    return _walk(Settings, "")


@cache
def setting_groups() -> frozenset[str]:
    return frozenset(key.rpartition(".")[0] for key in settings_by_key()) - {""}


def describe_settings() -> list[Setting]:
    """The table of settings, for `tau config list` and the documentation."""
    return list(settings_by_key().values())


def setting_values(settings: Settings) -> dict[str, Any]:
    """The plain value of every setting under its dotted key."""
    values: dict[str, Any] = {}
    plain = to_builtins(settings)
    for key in settings_by_key():
        value = plain
        for part in key.split("."):
            value = value[part]
        values[key] = value
    return values


def settings_schema() -> dict[str, Any]:
    """JSON schema of a settings file."""
    whole = schema(Settings)
    definitions = whole.pop("$defs")
    top = definitions.pop("Settings")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": definitions}


def _walk(struct: type[Struct], prefix: str) -> dict[str, Setting]:
    found: dict[str, Setting] = {}
    for one in fields(struct):
        key = prefix + one.encode_name
        if isinstance(one.type, type) and issubclass(one.type, Struct):
            found |= _walk(one.type, key + ".")
            continue
        (meta,) = one.type.__metadata__
        default = one.default_factory() if callable(one.default_factory) else one.default
        scope: Scope = (meta.extra or {}).get("scope", "any")
        found[key] = Setting(key, describe_type(one.type), default, meta.description, scope, one.type)
    return found
