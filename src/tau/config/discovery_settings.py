"""Settings of what is found in the folders of tau and of other agents: instructions and skills."""

from typing import Annotated

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
