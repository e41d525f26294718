"""The settings: one struct that the table, the schema and the checks are derived from."""

from typing import Annotated, Literal, get_args

from msgspec import Meta, Struct, field

from tau.ai.model import THINKING_BUDGETS, ThinkingLevel
from tau.config.discovery_settings import (
    BrowserSettings,
    ContextFilesSettings,
    DebugSettings,
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
    GithubSettings,
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
    enabled: bool = True
    max_retries: Annotated[int, Meta(ge=0, le=100)] = 10
    base_delay_ms: Annotated[int, Meta(ge=0, le=60_000)] = 500
    max_delay_ms: Annotated[int, Meta(ge=0, le=86_400_000)] = 300_000
    model_fallback: bool = True
    fallback_chains: dict[str, list[str]] = {}
    fallback_revert_policy: Literal["cooldown-expiry", "never"] = "cooldown-expiry"


class CompactionSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    strategy: Literal["context-full", "handoff", "shake", "off"] = "context-full"
    threshold_percent: Annotated[int, Meta(ge=-1, le=99)] = -1
    threshold_tokens: Annotated[int, Meta(ge=-1)] = -1
    reserve_tokens: Annotated[int, Meta(ge=0)] = 16_384
    keep_recent_tokens: Annotated[int, Meta(ge=0)] = 20_000
    supersede_reads: bool = True
    idle_enabled: bool = False
    idle_threshold_tokens: Annotated[int, Meta(ge=1)] = 200_000
    idle_timeout_seconds: Annotated[int, Meta(ge=1, le=86_400)] = 300
    handoff_save_to_disk: bool = False


class BranchSummarySettings(Struct, frozen=True, rename="camel"):
    enabled: bool = False
    reserve_tokens: Annotated[int, Meta(ge=0)] = 16_384


class StreamSettings(Struct, frozen=True, rename="camel"):
    connect_timeout_ms: Annotated[int, Meta(ge=1, le=3_600_000)] = 15_000
    first_event_timeout_ms: Annotated[int, Meta(ge=1, le=3_600_000)] = 300_000
    idle_timeout_ms: Annotated[int, Meta(ge=1, le=3_600_000)] = 120_000


class ToolsSettings(Struct, frozen=True, rename="camel"):
    approval_mode: ApprovalMode = "workspace"
    allow: Annotated[list[str], Meta(extra=USER)] = []
    pass_env: Annotated[list[str], Meta(extra=USER)] = []
    ask: Annotated[list[str], Meta(extra=JOINED)] = []
    deny: Annotated[list[str], Meta(extra=JOINED)] = []
    artifact_spill_threshold: Annotated[int, Meta(ge=1, le=10_240)] = 50
    output_max_columns: Annotated[int, Meta(ge=1, le=1_000_000)] = 768

    discovery_mode: Literal["auto", "all", "mcp-only", "off"] = "auto"
    essential_override: list[str] = []


class KeysSettings(Struct, frozen=True, rename="camel"):
    plain_http_hosts: Annotated[list[str], Meta(extra=USER)] = []


class SecretsSettings(Struct, frozen=True, rename="camel"):
    obfuscate: Annotated[bool, Meta(extra=USER)] = False


class SandboxSettings(Struct, frozen=True, rename="camel"):
    mode: Annotated[Literal["auto", "required", "off"], Meta(extra=USER)] = "auto"
    engine: Annotated[Literal["auto", "bubblewrap", "namespaces", "landlock"], Meta(extra=USER)] = "auto"
    network: Annotated[Literal["off", "list", "on"], Meta(extra=USER)] = "list"
    hosts: Annotated[list[str] | None, Meta(extra=USER)] = None
    write: Annotated[list[str], Meta(extra=USER)] = []
    hide: Annotated[list[str], Meta(extra=USER)] = []
    sockets: Annotated[list[str], Meta(extra=USER)] = []
    outside: Annotated[list[str], Meta(extra=USER)] = []


class RpcSettings(Struct, frozen=True, rename="camel"):
    dialog_timeout: Annotated[int, Meta(ge=0)] = 600


class PlanSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True


class LocalSettings(Struct, frozen=True, rename="camel"):
    discover: Annotated[bool, Meta(extra=USER)] = True
    embedded: Annotated[bool, Meta(extra=USER)] = True
    num_ctx: Annotated[int, Meta(ge=0, extra=USER)] = 0
    images: Annotated[list[str], Meta(extra=USER)] = []


class ThinkingBudgets(Struct, frozen=True, rename="camel"):
    """For models whose server wants a number of tokens instead of a level."""

    minimal: Annotated[int, Meta(ge=1024)] = THINKING_BUDGETS["minimal"]
    low: Annotated[int, Meta(ge=1024)] = THINKING_BUDGETS["low"]
    medium: Annotated[int, Meta(ge=1024)] = THINKING_BUDGETS["medium"]
    high: Annotated[int, Meta(ge=1024)] = THINKING_BUDGETS["high"]
    xhigh: Annotated[int, Meta(ge=1024)] = THINKING_BUDGETS["xhigh"]
    max: Annotated[int, Meta(ge=1024)] = THINKING_BUDGETS["max"]


class CommitSettings(Struct, frozen=True, rename="camel"):
    map_reduce_enabled: bool = True
    map_reduce_min_files: Annotated[int, Meta(ge=1)] = 4
    map_reduce_max_file_tokens: Annotated[int, Meta(ge=100)] = 50_000
    map_reduce_timeout_ms: Annotated[int, Meta(ge=1_000)] = 120_000
    map_reduce_max_concurrency: Annotated[int, Meta(ge=1, le=32)] = 5
    changelog_max_diff_chars: Annotated[int, Meta(ge=1_000)] = 120_000


class MemorySettings(Struct, frozen=True, rename="camel"):
    backend: Literal["off", "local", "mnemopi", "hindsight"] = "off"
    scoping: Literal["global", "per-project", "per-project-tagged"] = "per-project"
    db_path: str | None = None
    recall_limit: Annotated[int, Meta(ge=1, le=50)] = 8
    auto_recall: bool = True
    recall_context_turns: Annotated[int, Meta(ge=1, le=20)] = 3
    recall_max_query_chars: Annotated[int, Meta(ge=100, le=20_000)] = 4_000
    injection_token_limit: Annotated[int, Meta(ge=100, le=50_000)] = 5_000
    auto_retain: bool = True
    retain_every_n_turns: Annotated[int, Meta(ge=1, le=1_000)] = 4
    llm_mode: Literal["none", "smol"] = "smol"


class HindsightSettings(Struct, frozen=True, rename="camel"):
    api_url: Annotated[str, Meta(pattern=r"^https?://[^\s/]+")] = "http://localhost:8888"
    api_token: str | None = None
    bank_id: str | None = None
    bank_id_prefix: str | None = None
    scoping: Literal["global", "per-project", "per-project-tagged"] = "per-project-tagged"
    bank_mission: str | None = None
    retain_mission: str | None = None
    auto_recall: bool = True
    auto_retain: bool = True
    retain_mode: Literal["full-session", "last-turn"] = "full-session"
    retain_every_n_turns: Annotated[int, Meta(ge=1, le=1_000)] = 3
    retain_overlap_turns: Annotated[int, Meta(ge=0, le=20)] = 2
    retain_context: str = "tau"
    recall_budget: Literal["low", "mid", "high"] = "mid"
    recall_max_tokens: Annotated[int, Meta(ge=100, le=50_000)] = 1_024
    recall_context_turns: Annotated[int, Meta(ge=1, le=20)] = 1
    recall_max_query_chars: Annotated[int, Meta(ge=100, le=20_000)] = 800
    recall_types: list[Literal["world", "experience", "observation"]] = field(
        default_factory=lambda: ["world", "experience"]
    )
    debug: bool = False
    mental_models_enabled: bool = True
    mental_model_auto_seed: bool = True
    mental_model_refresh_interval_ms: Annotated[int, Meta(ge=1_000)] = 300_000
    mental_model_max_render_chars: Annotated[int, Meta(ge=100, le=200_000)] = 16_000


class Settings(Struct, frozen=True, rename="camel", kw_only=True):
    """All settings with their defaults. Files spell keys in camelCase, with nested or dotted groups."""

    default_provider: str | None = None
    default_model: str | None = None
    default_thinking_level: ThinkingLevel = "high"
    thinking_budgets: ThinkingBudgets = ThinkingBudgets()
    cache_retention: Annotated[Literal["none", "short", "long"], Meta(extra=USER)] = "short"
    service_tier: Annotated[str | None, Meta(extra=USER)] = None
    enabled_models: list[str] = []
    model_roles: Annotated[
        dict[str, str],
        Meta(extra={"members": ("default", "smol", "slow", "vision", "plan", "task", "commit")}),
    ] = {}
    shell_path: Annotated[str | None, Meta(extra=USER)] = None
    session_dir: Annotated[str | None, Meta(extra=USER)] = None
    steering_mode: QueueMode = "one-at-a-time"
    follow_up_mode: QueueMode = "one-at-a-time"
    interrupt_mode: Literal["immediate", "wait"] = "immediate"
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
    debug: DebugSettings = DebugSettings()
    read: ReadSettings = ReadSettings()
    edit: EditSettings = EditSettings()
    search: SearchSettings = SearchSettings()
    fetch: FetchSettings = FetchSettings()
    github: GithubSettings = GithubSettings()
    web_search: WebSearchSettings = field(name="web_search", default=WebSearchSettings())
    browser: BrowserSettings = BrowserSettings()
    providers: WebProviderSettings = WebProviderSettings()
    exa: ExaSettings = ExaSettings()
    searxng: SearxngSettings = SearxngSettings()
    commit: CommitSettings = CommitSettings()
    memory: MemorySettings = MemorySettings()
    hindsight: HindsightSettings = HindsightSettings()
    images: ImagesSettings = ImagesSettings()
    inspect_image: InspectImageSettings = InspectImageSettings()
    local: LocalSettings = LocalSettings()
    context_files: ContextFilesSettings = ContextFilesSettings()
    rules: RulesSettings = RulesSettings()
    ttsr: StreamRuleSettings = StreamRuleSettings()
    skills: SkillsSettings = SkillsSettings()
    hooks: HooksSettings = HooksSettings()
    disabled_providers: list[str] = []
    disabled_extensions: list[str] = []
    extensions: Annotated[list[str], Meta(extra={"joined": True})] = []
    theme: ThemesSettings = ThemesSettings()
    status_line: StatusLineSettings = StatusLineSettings()
    display: DisplaySettings = DisplaySettings()
    interaction: InteractionSettings = InteractionSettings()
