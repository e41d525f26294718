"""`tau usage`: what is left of plans and rate limits, as the last answers said."""

from collections.abc import Sequence

from msgspec import json
from msgspec.structs import replace

from tau.base.clock import now_ms
from tau.base.errors import UsageError
from tau.cli.subcommand_help import usage_line
from tau.config import plan_usage
from tau.config.paths import user_paths
from tau.modes.output_stream import OutputStream


def run(words: Sequence[str]) -> int:
    """Raises UsageError."""
    rest = list(words)
    as_json = redacted = False
    provider = ""
    while rest:
        match rest.pop(0):
            case "-j" | "--json":
                as_json = True
            case "-r" | "--redact":
                redacted = True
            case "-p" | "--provider" if rest:
                provider = rest.pop(0)
            case word if word.startswith("--provider="):
                provider = word.partition("=")[2]
            case _:
                raise UsageError(usage_line("usage"))
    known = [one for one in plan_usage.load(user_paths().limits) if provider in ("", one.provider)]
    if redacted:
        known = [replace(one, account=f"account {number}") for number, one in enumerate(known, 1)]
    if as_json:
        OutputStream().write(json.format(json.encode(known), indent=2) + b"\n")
        return 0
    lines = plan_usage.usage_lines(known, now_ms())
    nothing = "No provider has reported limits yet; they arrive with its answers.\n"
    OutputStream().text("".join(f"{line}\n" for line in lines) or nothing)
    return 0
