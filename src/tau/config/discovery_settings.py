"""Settings of what tau finds: instructions, skills and rules of agents, MCP servers, the web."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

SearchProviderName = Literal[
    "tavily",
    "perplexity",
    "brave",
    "jina",
    "kimi",
    "anthropic",
    "gemini",
    "codex",
    "zai",
    "exa",
    "parallel",
    "kagi",
    "synthetic",
    "searxng",
]


class ContextFilesSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True


class SkillsSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    enable_skill_commands: bool = True
    enable_tau_user: bool = True
    enable_tau_project: bool = True
    enable_pi_user: bool = True
    enable_pi_project: bool = True
    enable_claude_user: bool = True
    enable_claude_project: bool = True
    enable_codex_user: bool = True
    custom_directories: list[str] = []
    include_skills: list[str] = []
    ignored_skills: Annotated[list[str], Meta(extra={"joined": True})] = []
    listing_tokens: Annotated[int, Meta(ge=0, le=100_000)] = 0


class RulesSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True


class StreamRuleSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    context_mode: Literal["discard", "keep"] = "discard"
    interrupt_mode: Literal["never", "prose-only", "tool-only", "always"] = "always"
    repeat_mode: Literal["once", "after-gap"] = "once"
    repeat_gap: Annotated[int, Meta(ge=1, le=10_000)] = 10
    max_interrupts: Annotated[int, Meta(ge=0, le=100)] = 5
    builtin_rules: bool = True
    disabled_rules: list[str] = []


class HooksSettings(Struct, frozen=True, rename="camel"):
    on_error: Literal["ask", "block", "allow"] = "ask"
    disabled: list[str] = []
    allowed_hosts: list[str] = []


class LspSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    lazy: bool = True
    format_on_write: bool = False
    diagnostics_on_write: bool = True
    diagnostics_on_edit: bool = False
    diagnostics_deduplicate: bool = True


class DebugSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True


class FetchSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    allow_private: list[str] = []


class BrowserSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    headless: bool = True
    screenshot_dir: str | None = None
    cdp_url: str | None = None
    max_tabs: Annotated[int, Meta(ge=1, le=100)] = 20


class WebProviderSettings(Struct, frozen=True, rename="camel"):
    web_search: Literal["auto"] | SearchProviderName = "auto"
    fetch: Literal["auto", "native", "trafilatura", "lynx", "parallel", "jina"] = "auto"


class WebSearchSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True


class ExaSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    enable_search: bool = True


class SearxngSettings(Struct, frozen=True, rename="camel"):
    endpoint: str | None = None
    token: str | None = None
    basic_username: str | None = None
    basic_password: str | None = None
    categories: str | None = None
    language: str | None = None


class McpSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
    discovery_mode: bool = False
    sampling_tokens: Annotated[int, Meta(ge=0, extra={"scope": "user"})] = 20_000
    notifications: bool = False
    notification_debounce_ms: Annotated[int, Meta(ge=0, le=60_000, extra={"scope": "user"})] = 500


class TitlesSettings(Struct, frozen=True, rename="camel"):
    enabled: bool = True
