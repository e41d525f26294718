"""`tau usage`: what is left of plans and rate limits, as the last answers said."""

from collections.abc import Sequence

from msgspec.structs import replace

from tau.base.clock import now_ms
from tau.base.errors import UsageError
from tau.cli.json_output import write_json
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.config import plan_usage
from tau.config.paths import user_paths
from tau.modes.output_stream import OutputStream


def run(words: Sequence[str]) -> int:
    """Raises UsageError."""
    parsed = parse_subcommand("usage", words)
    if parsed.words:
        raise UsageError(usage_line("usage"))
    provider = parsed.value("provider")
    known = [one for one in plan_usage.load(user_paths().limits) if provider in (None, one.provider)]
    if parsed.has("redact"):
        known = [replace(one, account=f"account {number}") for number, one in enumerate(known, 1)]
    if parsed.has("json"):
        return write_json(known)
    lines = plan_usage.usage_lines(known, now_ms())
    who = f"{provider} has reported no" if provider else "No provider has reported"
    nothing = f"{who} limits yet; they arrive with answers.\n"
    OutputStream().text("".join(f"{line}\n" for line in lines) or nothing)
    return 0
