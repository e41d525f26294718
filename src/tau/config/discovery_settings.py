"""Settings of what is found in the folders of tau and of other agents: instructions, skills, rules."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


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
