"""Settings of the tools, and of agents and commands that work in the background."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct

from tau.base.sizes import MIB

EditMode = Literal["hashline", "replace", "apply_patch", "patch"]
EDIT_MODES: tuple[EditMode, ...] = get_args(EditMode)
# fmt: off
IsolationMode = Literal[
    "none", "auto", "overlay", "fuse-overlay", "reflink", "worktree", "copy",
    "apfs", "btrfs", "zfs", "overlayfs", "projfs", "fuse-projfs", "block-clone", "rcopy",
]
# fmt: on


class AutoBackgroundSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = False
    threshold_ms: Annotated[int, Meta(ge=1)] = 60_000


class BashSettings(Struct, frozen=True, rename="camel"):
    interceptor: bool = False
    strip_trailing_head_tail: bool = True
    auto_background: AutoBackgroundSettings = AutoBackgroundSettings()
    timeout_seconds: Annotated[int, Meta(ge=1, le=3_600)] = 300


class GithubCacheSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    soft_ttl_sec: Annotated[int, Meta(ge=0)] = 300
    hard_ttl_sec: Annotated[int, Meta(ge=0)] = 604_800


class GithubSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = False
    cache: GithubCacheSettings = GithubCacheSettings()


class SummarizeSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    prose: bool = False
    min_body_lines: Annotated[int, Meta(ge=1)] = 4
    min_comment_lines: Annotated[int, Meta(ge=1)] = 6
    min_total_lines: Annotated[int, Meta(ge=1)] = 100
    unfold_until: Annotated[int, Meta(ge=0)] = 50
    unfold_limit: Annotated[int, Meta(ge=0)] = 100


class AsyncSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    max_jobs: Annotated[int, Meta(ge=1, le=100)] = 100
    poll_wait_duration: Literal["5s", "10s", "30s", "1m", "5m"] = "30s"
    continue_when_done: bool = True
    exit_wait_seconds: Annotated[int, Meta(ge=0, le=86_400)] = 60


class EvalSettings(Struct, frozen=True, rename="camel"):
    py: bool = True
    js: bool = True


class PythonSettings(Struct, frozen=True, rename="camel"):
    interpreter: Annotated[str | None, Meta(extra={"scope": "user"})] = None
    kernel_mode: Literal["session", "per-call"] = "session"


class IsolationSettings(Struct, frozen=True, rename="camel"):
    mode: IsolationMode = "none"
    merge: Literal["patch", "branch"] = "patch"
    commits: Literal["generic", "ai"] = "generic"
    apply: bool = True
    max_bytes: Annotated[int, Meta(ge=0)] = 256 * MIB
    carry: list[str] = []


class TaskSettings(Struct, frozen=True, rename="camel"):
    max_concurrency: Annotated[int, Meta(ge=0, le=1000)] = 32
    batch: bool = True
    eager: bool = False
    max_recursion_depth: Annotated[int, Meta(ge=0, le=10)] = 2
    enable_lsp: bool = False
    max_agents: Annotated[int, Meta(ge=0)] = 64
    max_runtime_ms: Annotated[int, Meta(ge=0)] = 0
    soft_request_budget: Annotated[int, Meta(ge=0)] = 90
    max_tokens: Annotated[int, Meta(ge=0)] = 0
    max_cost: Annotated[float, Meta(ge=0)] = 0.0
    max_total_cost: Annotated[float, Meta(ge=0)] = 0.0
    agent_idle_ttl_ms: int = 420_000
    disabled_agents: list[str] = []
    agent_model_overrides: dict[str, str] = {}
    isolation: IsolationSettings = IsolationSettings()


class IrcSettings(Struct, frozen=True, rename="camel"):
    timeout_ms: Annotated[int, Meta(ge=0)] = 120_000


class TodoRemindersSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    max: Annotated[int, Meta(ge=0, le=100)] = 3


class TodoSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    reminders: TodoRemindersSettings = TodoRemindersSettings()


class TasksSettings(Struct, frozen=True, rename="camel"):
    todo_clear_delay: Annotated[int, Meta(le=86_400)] = 60


class CheckpointSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = False


class SshSettings(Struct, frozen=True, rename="camel"):
    mount: Annotated[bool, Meta(extra={"scope": "user"})] = False


class ReadSettings(Struct, frozen=True, rename="camel"):
    default_limit: Annotated[int, Meta(ge=1, le=3_000)] = 300
    summarize: SummarizeSettings = SummarizeSettings()
    hash_lines: bool = True


class EditSettings(Struct, frozen=True, rename="camel"):
    mode: EditMode = "hashline"
    model_modes: dict[str, EditMode] = {}
    fuzzy_match: bool = True
    block_auto_generated: bool = True


class SearchSettings(Struct, frozen=True, rename="camel"):
    context_before: Annotated[int, Meta(ge=0, le=50)] = 1
    context_after: Annotated[int, Meta(ge=0, le=50)] = 3


class ImagesSettings(Struct, frozen=True, rename="camel"):
    auto_resize: bool = True
    block_images: bool = False


class InspectImageSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = False
