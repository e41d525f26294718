"""The settings: one struct that the table, the schema and the checks are derived from."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, field

from tau.ai.model import THINKING_BUDGETS, ThinkingLevel
from tau.config.discovery_settings import (
    BrowserSettings,
    ContextFilesSettings,
    ExaSettings,
    FetchSettings,
    HooksSettings,
    LspSettings,
    McpSettings,
    RulesSettings,
    SearxngSettings,
    SkillsSettings,
    StreamRuleSettings,
    TitlesSettings,
    WebProviderSettings,
    WebSearchSettings,
)
from tau.config.interface_settings import (
    DisplaySettings,
    InteractionSettings,
    StatusLineSettings,
    ThemesSettings,
)
from tau.config.tool_settings import (
    AsyncSettings,
    BashSettings,
    CheckpointSettings,
    EditSettings,
    EvalSettings,
    ImagesSettings,
    InspectImageSettings,
    IrcSettings,
    PythonSettings,
    ReadSettings,
    SearchSettings,
    SshSettings,
    TaskSettings,
    TasksSettings,
    TodoSettings,
)

ApprovalMode = Literal["ask", "workspace", "plan", "yolo"]
APPROVAL_MODES: tuple[ApprovalMode, ...] = get_args(ApprovalMode)
QueueMode = Literal["one-at-a-time", "all"]
Scope = Literal["any", "user", "tighten"]

# A project's file cannot set what weakens safety or runs programs; `setting_scopes` lists the other settings.
USER = {"scope": "user"}
# Lists to which every layer adds: a project can tighten what the user set, never replace it.
JOINED = {"joined": True}


class RetrySettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Retry requests that fail temporarily")] = True
    max_retries: Annotated[int, Meta(description="Maximum number of retries", ge=0, le=100)] = 10
    base_delay_ms: Annotated[
        int, Meta(description="Delay before the first retry; doubles each time", ge=0, le=60_000)
    ] = 500
    max_delay_ms: Annotated[
        int,
        Meta(
            description="Longest retry delay; longer waits fail",
            ge=0,
            le=86_400_000,
        ),
    ] = 300_000
    model_fallback: Annotated[bool, Meta(description="Switch models when one keeps failing")] = True
    fallback_chains: Annotated[
        dict[str, list[str]],
        Meta(description="Fallback models, in order, by failed model or its role"),
    ] = {}
    fallback_revert_policy: Annotated[
        Literal["cooldown-expiry", "never"],
        Meta(description="When to return to the first model: after its server's wait, or never"),
    ] = "cooldown-expiry"


class CompactionSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Summarize older messages before the context is full")] = True
    strategy: Annotated[
        Literal["context-full", "handoff", "shake", "off"],
        Meta(
            description="context-full: summarize older messages; handoff: continue in a new session with a"
            " summary; shake: drop large tool output; off: do nothing until a request is too large"
        ),
    ] = "context-full"
    threshold_percent: Annotated[
        int,
        Meta(description="Compact above this percentage of the window; -1 uses the reserve", ge=-1, le=99),
    ] = -1
    threshold_tokens: Annotated[
        int, Meta(description="Compact above this many tokens; -1: no limit", ge=-1)
    ] = -1
    reserve_tokens: Annotated[int, Meta(description="Tokens reserved for the answer", ge=0)] = 16_384
    keep_recent_tokens: Annotated[int, Meta(description="Recent tokens that compaction keeps", ge=0)] = 20_000
    supersede_reads: Annotated[
        bool, Meta(description="Drop a file's earlier content when it is read again")
    ] = True
    idle_enabled: Annotated[bool, Meta(description="Compact a long conversation while idle")] = False
    idle_threshold_tokens: Annotated[int, Meta(description="Minimum tokens for idle compaction", ge=1)] = (
        200_000
    )
    idle_timeout_seconds: Annotated[int, Meta(description="Idle time before compaction", ge=1, le=86_400)] = (
        300
    )
    handoff_save_to_disk: Annotated[
        bool, Meta(description="Save handoff summaries next to the session file")
    ] = False


class BranchSummarySettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer to summarize a branch when leaving it")] = False
    reserve_tokens: Annotated[int, Meta(description="Tokens reserved when summarizing a branch", ge=0)] = (
        16_384
    )


class StreamSettings(Struct, frozen=True, rename="camel"):
    connect_timeout_ms: Annotated[
        int, Meta(description="Time limit for connecting to a model server", ge=1, le=3_600_000)
    ] = 15_000
    first_event_timeout_ms: Annotated[
        int, Meta(description="Time limit for the first event of an answer", ge=1, le=3_600_000)
    ] = 300_000
    idle_timeout_ms: Annotated[
        int, Meta(description="Longest pause within an answer; pings do not count", ge=1, le=3_600_000)
    ] = 120_000


class ToolsSettings(Struct, frozen=True, rename="camel"):
    approval_mode: Annotated[
        ApprovalMode,
        Meta(
            description="ask: ask before writes, commands and connections; workspace: allow contained"
            " commands and writes inside the workspace; plan: only read; yolo: ask for nothing",
        ),
    ] = "workspace"
    allow: Annotated[
        list[str],
        Meta(
            description="Allow without asking: patterns such as run: git status *, write: ~/notes/**,"
            " connect: example.com, tool: ssh, mcp: github.get_*, read: ~/.netrc",
            extra=USER,
        ),
    ] = []
    pass_env: Annotated[
        list[str],
        Meta(
            description="Variables with keys or passwords that commands, kernels and servers inherit:"
            " names such as NPM_TOKEN",
            extra=USER,
        ),
    ] = []
    ask: Annotated[
        list[str],
        Meta(
            description="Ask in every mode, even if tools.allow matches; projects can add patterns",
            extra=JOINED,
        ),
    ] = []
    deny: Annotated[
        list[str],
        Meta(description="Refuse in every mode, without asking; projects can add patterns", extra=JOINED),
    ] = []
    artifact_spill_threshold: Annotated[
        int,
        Meta(
            description="KB of command output to show; longer output is saved as an artifact",
            ge=1,
            le=10_240,
        ),
    ] = 50
    output_max_columns: Annotated[
        int, Meta(description="Truncate output lines at this column", ge=1, le=1_000_000)
    ] = 768

    discovery_mode: Annotated[
        Literal["auto", "all", "mcp-only", "off"],
        Meta(
            description="Hide tools until the model searches for them; auto: those of MCP servers if there"
            " are more than 40 tools; mcp-only: always those; all: built-in tools that are not essential too"
        ),
    ] = "auto"
    essential_override: Annotated[
        list[str], Meta(description="Tools that are never hidden; default: read, bash, edit")
    ] = []


class KeysSettings(Struct, frozen=True, rename="camel"):
    plain_http_hosts: Annotated[
        list[str],
        Meta(description="Hosts that get keys over unencrypted HTTP, as in a home network", extra=USER),
    ] = []


class SecretsSettings(Struct, frozen=True, rename="camel"):
    obfuscate: Annotated[
        bool,
        Meta(description="Send placeholders for secrets to the model; calls get the real values", extra=USER),
    ] = False


class SandboxSettings(Struct, frozen=True, rename="camel"):
    mode: Annotated[
        Literal["auto", "required", "off"],
        Meta(
            description="auto: contain commands where that works, and ask where it does not; required: refuse"
            " commands that cannot be contained; off: never contain",
            extra=USER,
        ),
    ] = "auto"
    engine: Annotated[
        Literal["auto", "bubblewrap", "namespaces", "landlock"],
        Meta(description="What contains commands; auto: the first that works", extra=USER),
    ] = "auto"
    network: Annotated[
        Literal["off", "list", "on"],
        Meta(
            description="off: localhost only; list: hosts of sandbox.hosts; on: everything, unfiltered",
            extra=USER,
        ),
    ] = "list"
    hosts: Annotated[
        list[str] | None,
        Meta(description="Hosts that commands can reach; default: package registries", extra=USER),
    ] = None
    write: Annotated[list[str], Meta(description="Paths that commands can also write", extra=USER)] = []
    hide: Annotated[list[str], Meta(description="Paths that commands cannot read either", extra=USER)] = []
    sockets: Annotated[
        list[str], Meta(description="Socket files that commands can connect to", extra=USER)
    ] = []
    outside: Annotated[
        list[str],
        Meta(description="Commands that run outside the sandbox, after approval: docker *", extra=USER),
    ] = []


class RpcSettings(Struct, frozen=True, rename="camel"):
    dialog_timeout: Annotated[
        int,
        Meta(description="Seconds until a dialog that no program answers is canceled; 0: never", ge=0),
    ] = 600


class PlanSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer plan mode")] = True


class LocalSettings(Struct, frozen=True, rename="camel"):
    discover: Annotated[bool, Meta(description="Look for model servers on this machine", extra=USER)] = True
    embedded: Annotated[bool, Meta(description="Use the demo model if no other is available", extra=USER)] = (
        True
    )
    num_ctx: Annotated[
        int,
        Meta(
            description="Context size of Ollama's models, in tokens; 0: as the server has it",
            ge=0,
            extra=USER,
        ),
    ] = 0
    images: Annotated[
        list[str],
        Meta(
            description="Patterns of models on this machine that take images though their server does not"
            " say so, as vLLM does not",
            extra=USER,
        ),
    ] = []


class ThinkingBudgets(Struct, frozen=True, rename="camel"):
    """For models whose server wants a number of tokens instead of a level."""

    minimal: Annotated[int, Meta(description="Tokens at level minimal", ge=1024)] = THINKING_BUDGETS[
        "minimal"
    ]
    low: Annotated[int, Meta(description="Tokens at level low", ge=1024)] = THINKING_BUDGETS["low"]
    medium: Annotated[int, Meta(description="Tokens at level medium", ge=1024)] = THINKING_BUDGETS["medium"]
    high: Annotated[int, Meta(description="Tokens at level high", ge=1024)] = THINKING_BUDGETS["high"]
    xhigh: Annotated[int, Meta(description="Tokens at level xhigh", ge=1024)] = THINKING_BUDGETS["xhigh"]
    max: Annotated[int, Meta(description="Tokens at level max", ge=1024)] = THINKING_BUDGETS["max"]


class CommitSettings(Struct, frozen=True, rename="camel"):
    map_reduce_enabled: Annotated[
        bool, Meta(description="Summarize a long diff in parts before writing its message")
    ] = True
    map_reduce_min_files: Annotated[int, Meta(description="Fewer files are never summarized", ge=1)] = 4
    map_reduce_max_file_tokens: Annotated[int, Meta(description="Tokens of one file that count", ge=100)] = (
        50_000
    )
    map_reduce_timeout_ms: Annotated[int, Meta(description="Limit for one request", ge=1_000)] = 120_000
    map_reduce_max_concurrency: Annotated[int, Meta(description="Requests at once", ge=1, le=32)] = 5
    changelog_max_diff_chars: Annotated[
        int, Meta(description="Characters of a diff that changelog entries are made from", ge=1_000)
    ] = 120_000


class MemorySettings(Struct, frozen=True, rename="camel"):
    backend: Annotated[
        Literal["off", "local", "mnemopi"],
        Meta(description="Long-term memory: off, or local (a file on this machine; alias mnemopi)"),
    ] = "off"
    scoping: Annotated[
        Literal["global", "per-project", "per-project-tagged"],
        Meta(description="Share memories with all projects, with none, or read both"),
    ] = "per-project"
    db_path: Annotated[str | None, Meta(description="File of the memories")] = None
    recall_limit: Annotated[int, Meta(description="Memories that one search returns", ge=1, le=50)] = 8


class Settings(Struct, frozen=True, rename="camel", kw_only=True):
    """All settings with their defaults. Files spell keys in camelCase, with nested or dotted groups."""

    default_provider: Annotated[str | None, Meta(description="Default provider")] = None
    default_model: Annotated[str | None, Meta(description="Default model: an id or a pattern")] = None
    default_thinking_level: Annotated[ThinkingLevel, Meta(description="Default thinking level")] = "high"
    thinking_budgets: ThinkingBudgets = ThinkingBudgets()
    cache_retention: Annotated[
        Literal["none", "short", "long"],
        Meta(description="How long servers keep the conversation for cheaper requests", extra=USER),
    ] = "short"
    service_tier: Annotated[
        str | None, Meta(description="Service tier, such as priority or flex", extra=USER)
    ] = None
    enabled_models: Annotated[
        list[str],
        Meta(
            description="Patterns such as claude-*; matching models are listed first and used when no"
            " model is named"
        ),
    ] = []
    model_roles: Annotated[
        dict[str, str],
        Meta(
            description="Models by role: default, smol, slow, vision, plan, task, commit or your own",
            extra={"members": ("default", "smol", "slow", "vision", "plan", "task", "commit")},
        ),
    ] = {}
    shell_path: Annotated[str | None, Meta(description="Shell that runs commands", extra=USER)] = None
    session_dir: Annotated[str | None, Meta(description="Session folder", extra=USER)] = None
    steering_mode: Annotated[QueueMode, Meta(description="How many steering messages to deliver at once")] = (
        "one-at-a-time"
    )
    follow_up_mode: Annotated[
        QueueMode, Meta(description="How many follow-up messages to deliver at once")
    ] = "one-at-a-time"
    interrupt_mode: Annotated[
        Literal["immediate", "wait"],
        Meta(description="Whether a steering message skips tool calls that have not started"),
    ] = "immediate"
    retry: RetrySettings = RetrySettings()
    compaction: CompactionSettings = CompactionSettings()
    branch_summary: BranchSummarySettings = BranchSummarySettings()
    titles: TitlesSettings = TitlesSettings()
    stream: StreamSettings = StreamSettings()
    tools: ToolsSettings = ToolsSettings()
    keys: KeysSettings = KeysSettings()
    secrets: SecretsSettings = SecretsSettings()
    bash: BashSettings = BashSettings()
    async_: AsyncSettings = field(name="async", default=AsyncSettings())
    sandbox: SandboxSettings = SandboxSettings()
    eval: EvalSettings = EvalSettings()
    python: PythonSettings = PythonSettings()
    rpc: RpcSettings = RpcSettings()
    task: TaskSettings = TaskSettings()
    irc: IrcSettings = IrcSettings()
    todo: TodoSettings = TodoSettings()
    tasks: TasksSettings = TasksSettings()
    checkpoint: CheckpointSettings = CheckpointSettings()
    plan: PlanSettings = PlanSettings()
    ssh: SshSettings = SshSettings()
    mcp: McpSettings = McpSettings()
    lsp: LspSettings = LspSettings()
    read: ReadSettings = ReadSettings()
    edit: EditSettings = EditSettings()
    search: SearchSettings = SearchSettings()
    fetch: FetchSettings = FetchSettings()
    web_search: WebSearchSettings = field(name="web_search", default=WebSearchSettings())
    browser: BrowserSettings = BrowserSettings()
    providers: WebProviderSettings = WebProviderSettings()
    exa: ExaSettings = ExaSettings()
    searxng: SearxngSettings = SearxngSettings()
    commit: CommitSettings = CommitSettings()
    memory: MemorySettings = MemorySettings()
    images: ImagesSettings = ImagesSettings()
    inspect_image: InspectImageSettings = InspectImageSettings()
    local: LocalSettings = LocalSettings()
    context_files: ContextFilesSettings = ContextFilesSettings()
    rules: RulesSettings = RulesSettings()
    ttsr: StreamRuleSettings = StreamRuleSettings()
    skills: SkillsSettings = SkillsSettings()
    hooks: HooksSettings = HooksSettings()
    disabled_providers: Annotated[list[str], Meta(description="Providers to ignore, such as cursor")] = []
    disabled_extensions: Annotated[
        list[str], Meta(description="Items that are not used, as KIND:NAME, such as skills:pdf")
    ] = []
    extensions: Annotated[
        list[str],
        Meta(description="More Python extensions to load: files and folders", extra={"joined": True}),
    ] = []
    theme: ThemesSettings = ThemesSettings()
    status_line: StatusLineSettings = StatusLineSettings()
    display: DisplaySettings = DisplaySettings()
    interaction: InteractionSettings = InteractionSettings()
