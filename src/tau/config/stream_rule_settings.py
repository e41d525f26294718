"""Settings of the rules that watch what the model streams."""

from typing import Annotated, Literal

from msgspec import Meta, Struct


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
