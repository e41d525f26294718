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
    enabled: Annotated[
        bool, Meta(description="Send instructions such as AGENTS.md and CLAUDE.md to the model")
    ] = True


class SkillsSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer skills to the model")] = True
    enable_skill_commands: Annotated[bool, Meta(description="Offer skills as commands: /skill:NAME")] = True
    enable_tau_user: Annotated[bool, Meta(description="Skills in your tau folder")] = True
    enable_tau_project: Annotated[bool, Meta(description="Skills in the .tau folder of projects")] = True
    enable_pi_user: Annotated[bool, Meta(description="Skills in your folders of pi and omp")] = True
    enable_pi_project: Annotated[bool, Meta(description="Skills in the .pi and .omp folders of projects")] = (
        True
    )
    enable_claude_user: Annotated[bool, Meta(description="Skills in ~/.claude")] = True
    enable_claude_project: Annotated[bool, Meta(description="Skills in the .claude folder of projects")] = (
        True
    )
    enable_codex_user: Annotated[bool, Meta(description="Skills in ~/.codex")] = True
    custom_directories: Annotated[
        list[str], Meta(description="More folders with skills: each folder in them that has a SKILL.md")
    ] = []
    include_skills: Annotated[
        list[str], Meta(description="Offer only skills whose name matches a pattern, such as pdf*")
    ] = []
    ignored_skills: Annotated[
        list[str],
        Meta(description="Do not offer skills whose name matches a pattern", extra={"joined": True}),
    ] = []
    listing_tokens: Annotated[
        int,
        Meta(
            description="Tokens for the list of skills in the prompt; 0: 1% of the window, at least 2,000",
            ge=0,
            le=100_000,
        ),
    ] = 0


class RulesSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Use rules: those in files, and those that come with tau")] = (
        True
    )


class StreamRuleSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Let rules watch what the model writes")] = True
    context_mode: Annotated[
        Literal["discard", "keep"],
        Meta(description="Whether the model sees the answer that a rule interrupted"),
    ] = "discard"
    interrupt_mode: Annotated[
        Literal["never", "prose-only", "tool-only", "always"],
        Meta(description="What a rule may interrupt; otherwise it reminds the model afterwards"),
    ] = "always"
    repeat_mode: Annotated[
        Literal["once", "after-gap"], Meta(description="Whether a rule may trigger again in a session")
    ] = "once"
    repeat_gap: Annotated[
        int, Meta(description="Answers before a rule may trigger again, with after-gap", ge=1, le=10_000)
    ] = 10
    max_interrupts: Annotated[
        int, Meta(description="Interruptions per prompt; later matches only remind", ge=0, le=100)
    ] = 5
    builtin_rules: Annotated[bool, Meta(description="Use the rules that come with tau")] = True
    disabled_rules: Annotated[list[str], Meta(description="Rules to ignore, by name")] = []


class HooksSettings(Struct, frozen=True, rename="camel"):
    on_error: Annotated[
        Literal["ask", "block", "allow"],
        Meta(description="What happens to a call or prompt when a hook that guards it fails"),
    ] = "ask"
    disabled: Annotated[
        list[str], Meta(description="Command hooks that do not run, by the id in tau hooks list")
    ] = []
    allowed_hosts: Annotated[
        list[str], Meta(description="Hosts that http hooks may call, besides this machine")
    ] = []


class LspSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Use language servers that are installed")] = True
    lazy: Annotated[bool, Meta(description="Start them when they are needed, not with the session")] = True
    format_on_write: Annotated[bool, Meta(description="Format files that write creates or replaces")] = False
    diagnostics_on_write: Annotated[
        bool, Meta(description="Show the agent the errors of files that it writes")
    ] = True
    diagnostics_on_edit: Annotated[bool, Meta(description="And of files that it edits")] = False
    diagnostics_deduplicate: Annotated[
        bool, Meta(description="Show an error once until it changes, not after every edit")
    ] = True


class FetchSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Let read fetch web addresses")] = True
    allow_private: Annotated[
        list[str],
        Meta(
            description="Private hosts that read may fetch: localhost:3000, 10.0.0.0/8, wiki.corp or"
            " *.corp:8080"
        ),
    ] = []


class BrowserSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer a browser if Chromium is installed")] = True
    headless: Annotated[bool, Meta(description="Run the browser without a window")] = True
    screenshot_dir: Annotated[
        str | None, Meta(description="Folder for screenshots; default: the session's artifacts")
    ] = None
    cdp_url: Annotated[
        str | None,
        Meta(description="Running browser to use instead of a new one, such as http://127.0.0.1:9222"),
    ] = None
    max_tabs: Annotated[int, Meta(description="Maximum number of open tabs", ge=1, le=100)] = 20


class WebProviderSettings(Struct, frozen=True, rename="camel"):
    web_search: Annotated[
        Literal["auto"] | SearchProviderName,
        Meta(description="Search provider to try first; auto: in the order of tau search --providers"),
    ] = "auto"
    fetch: Annotated[
        Literal["auto", "native", "trafilatura", "lynx", "parallel", "jina"],
        Meta(
            description="Converts web pages to text; auto and native: here, trafilatura and lynx: with"
            " that program, jina and parallel: that service gets the address"
        ),
    ] = "auto"


class WebSearchSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer web search if a provider has a key")] = True


class ExaSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Use Exa")] = True
    enable_search: Annotated[bool, Meta(description="Search with Exa")] = True


class SearxngSettings(Struct, frozen=True, rename="camel"):
    endpoint: Annotated[str | None, Meta(description="Address of your SearXNG server")] = None
    token: Annotated[str | None, Meta(description="Bearer token for it")] = None
    basic_username: Annotated[str | None, Meta(description="User name for it")] = None
    basic_password: Annotated[str | None, Meta(description="Password for it")] = None
    categories: Annotated[str | None, Meta(description="Categories to search, such as it,science")] = None
    language: Annotated[str | None, Meta(description="Language of the results, such as en")] = None


class McpSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Start the MCP servers that files define")] = True
    discovery_mode: Annotated[bool, Meta(description="Old name of tools.discoveryMode: mcp-only")] = False
    sampling_tokens: Annotated[
        int,
        Meta(
            description="Tokens per session that servers may use from your model; 0: none",
            ge=0,
            extra={"scope": "user"},
        ),
    ] = 20_000


class TitlesSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Name interactive sessions with the smol model")] = True
