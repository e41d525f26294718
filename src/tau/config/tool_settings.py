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
    enabled: Annotated[bool, Meta(description="Move long commands to the background")] = False
    threshold_ms: Annotated[int, Meta(description="Time before a command moves to the background", ge=1)] = (
        60_000
    )


class BashSettings(Struct, frozen=True, rename="camel"):
    interceptor: Annotated[bool, Meta(description="Reject commands when a tool does it better")] = False
    strip_trailing_head_tail: Annotated[
        bool, Meta(description="Drop a trailing head or tail, since output is limited anyway")
    ] = True
    auto_background: AutoBackgroundSettings = AutoBackgroundSettings()
    timeout_seconds: Annotated[int, Meta(description="Default command timeout", ge=1, le=3_600)] = 300


class GithubCacheSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Keep what was read of issues and pull requests")] = True
    soft_ttl_sec: Annotated[
        int,
        Meta(description="Seconds until a kept issue or pull request is fetched again", ge=0),
    ] = 300
    hard_ttl_sec: Annotated[int, Meta(description="Seconds until it is not shown any more", ge=0)] = 604_800


class GithubSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Offer the github tool, and read issue:// and pr://; needs gh")
    ] = False
    cache: GithubCacheSettings = GithubCacheSettings()


class SummarizeSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Summarize long source files: show declarations without bodies")
    ] = True
    prose: Annotated[bool, Meta(description="Summarize long Markdown files too")] = False
    min_body_lines: Annotated[int, Meta(description="Shortest body to fold", ge=1)] = 4
    min_comment_lines: Annotated[int, Meta(description="Shortest comment to fold", ge=1)] = 6
    min_total_lines: Annotated[int, Meta(description="Shortest file to summarize", ge=1)] = 100
    unfold_until: Annotated[int, Meta(description="Unfold bodies until this many lines are shown", ge=0)] = 50
    unfold_limit: Annotated[
        int, Meta(description="Unfold no body that would exceed this many lines", ge=0)
    ] = 100


class AsyncSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Allow background commands")] = True
    max_jobs: Annotated[
        int, Meta(description="Maximum number of concurrent background jobs", ge=1, le=100)
    ] = 100
    poll_wait_duration: Annotated[
        Literal["5s", "10s", "30s", "1m", "5m"], Meta(description="How long the job tool waits for a job")
    ] = "30s"
    continue_when_done: Annotated[
        bool, Meta(description="Start a turn when a background job ends while the agent is idle")
    ] = True
    exit_wait_seconds: Annotated[
        int,
        Meta(description="How long tau -p waits for running jobs before it stops them", ge=0, le=86_400),
    ] = 60


class EvalSettings(Struct, frozen=True, rename="camel"):
    py: Annotated[bool, Meta(description="Allow Python in the eval tool")] = True
    js: Annotated[bool, Meta(description="Allow JavaScript in the eval tool; needs node")] = True


class PythonSettings(Struct, frozen=True, rename="camel"):
    interpreter: Annotated[
        str | None,
        Meta(
            description="Python interpreter for cells; default: the project's environment",
            extra={"scope": "user"},
        ),
    ] = None
    kernel_mode: Annotated[
        Literal["session", "per-call"],
        Meta(description="session: keep variables between cells; per-call: start fresh each time"),
    ] = "session"


class IsolationSettings(Struct, frozen=True, rename="camel"):
    mode: Annotated[
        IsolationMode,
        Meta(description="How an isolated agent gets its copy of the repository; auto: the first that works"),
    ] = "none"
    merge: Annotated[
        Literal["patch", "branch"],
        Meta(
            description="patch: apply an agent's changes to the files; branch: commit them to tau/task/ID and"
            " pick that commit",
        ),
    ] = "patch"
    commits: Annotated[
        Literal["generic", "ai"],
        Meta(description="Messages of commits that tau makes; ai: by the smol model"),
    ] = "generic"
    apply: Annotated[bool, Meta(description="Merge the changes of an isolated agent when it is done")] = True
    max_bytes: Annotated[
        int, Meta(description="Largest amount of changed and untracked files to start from", ge=0)
    ] = 256 * MIB
    carry: Annotated[
        list[str], Meta(description="Ignored folders to include, such as node_modules or .venv")
    ] = []


class TaskSettings(Struct, frozen=True, rename="camel"):
    max_concurrency: Annotated[
        int, Meta(description="Maximum number of parallel tasks; 0: no limit", ge=0, le=1000)
    ] = 32
    batch: Annotated[bool, Meta(description="One task call can start several agents")] = True
    eager: Annotated[bool, Meta(description="Encourage the model to delegate")] = False
    max_recursion_depth: Annotated[
        int, Meta(description="How deep agents can start agents; 0: no agents", ge=0, le=10)
    ] = 2
    max_agents: Annotated[
        int, Meta(description="Agents that one prompt can start, in total; 0: no limit", ge=0)
    ] = 64
    max_runtime_ms: Annotated[int, Meta(description="Time limit for an agent; 0: none", ge=0)] = 0
    soft_request_budget: Annotated[
        int, Meta(description="Requests after which an agent has to finish; 0: no limit", ge=0)
    ] = 90
    max_tokens: Annotated[int, Meta(description="Tokens an agent can use; 0: no limit", ge=0)] = 0
    max_cost: Annotated[float, Meta(description="US dollars an agent can spend; 0: no limit", ge=0)] = 0.0
    max_total_cost: Annotated[
        float, Meta(description="US dollars a session and its agents can spend; 0: no limit", ge=0)
    ] = 0.0
    agent_idle_ttl_ms: Annotated[
        int, Meta(description="Time after which an idle agent's session is closed; 0: never")
    ] = 420_000
    disabled_agents: Annotated[list[str], Meta(description="Agents that cannot be started")] = []
    agent_model_overrides: Annotated[dict[str, str], Meta(description="Models by agent")] = {}
    isolation: IsolationSettings = IsolationSettings()


class IrcSettings(Struct, frozen=True, rename="camel"):
    timeout_ms: Annotated[
        int, Meta(description="How long irc waits for a message; 0: without limit", ge=0)
    ] = 120_000


class TodoRemindersSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Remind a model that stops with open tasks")] = True
    max: Annotated[int, Meta(description="Maximum number of reminders in a row", ge=0, le=100)] = 3


class TodoSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Give the agent a todo list")] = True
    reminders: TodoRemindersSettings = TodoRemindersSettings()


class TasksSettings(Struct, frozen=True, rename="camel"):
    todo_clear_delay: Annotated[
        int, Meta(description="Seconds until closed tasks leave the list; negative: never", le=86_400)
    ] = 60


class CheckpointSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[
        bool, Meta(description="Let the agent set a checkpoint and rewind to it with a report")
    ] = False


class SshSettings(Struct, frozen=True, rename="camel"):
    mount: Annotated[
        bool,
        Meta(
            description="Mount SSH hosts while in use; needs sshfs",
            extra={"scope": "user"},
        ),
    ] = False


class ReadSettings(Struct, frozen=True, rename="camel"):
    default_limit: Annotated[
        int, Meta(description="Lines of a file to show when no range is given", ge=1, le=3_000)
    ] = 300
    summarize: SummarizeSettings = SummarizeSettings()
    hash_lines: Annotated[
        bool, Meta(description="Show files with a tag and line numbers that edit refers to")
    ] = True


class EditSettings(Struct, frozen=True, rename="camel"):
    mode: Annotated[
        EditMode,
        Meta(description="Edit format; TAU_EDIT_MODE overrides it for one run"),
    ] = "hashline"
    model_modes: Annotated[
        dict[str, EditMode],
        Meta(description="Edit formats by model id pattern, such as gpt-*"),
    ] = {}
    fuzzy_match: Annotated[
        bool, Meta(description="In replace mode, forgive white space and look-alike characters")
    ] = True
    block_auto_generated: Annotated[bool, Meta(description="Refuse to edit generated files")] = True


class SearchSettings(Struct, frozen=True, rename="camel"):
    context_before: Annotated[int, Meta(description="Context lines before a match", ge=0, le=50)] = 1
    context_after: Annotated[int, Meta(description="Context lines after a match", ge=0, le=50)] = 3


class ImagesSettings(Struct, frozen=True, rename="camel"):
    auto_resize: Annotated[bool, Meta(description="Resize large images before sending")] = True
    block_images: Annotated[bool, Meta(description="Never send images from tool results to a model")] = False


class InspectImageSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer a tool that asks the vision model about an image")] = (
        False
    )
