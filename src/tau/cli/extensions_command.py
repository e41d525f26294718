"""`tau extensions [list|enable|disable]`: what is found in the folders of tau and of other agents."""

import os
from collections.abc import Sequence
from pathlib import Path

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.supplies import Supplies
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.trust import trust_status
from tau.modes.extensions_report import extension_lines, extension_rows, toggle

asyncio = late("asyncio")
faux = late("tau.ai.faux")
sdk = late("tau.sdk")

TOGGLES = ("enable", "disable")
ACTIONS = ("list", *TOGGLES, "time")


def run(argv: Sequence[str]) -> int:
    """Run `tau extensions`. Raises TauError."""
    parsed = parse_subcommand("extensions", argv)
    action, *names = parsed.words or ["list"]
    if action not in ACTIONS or len(names) != (action in TOGGLES) or (parsed.values and action != "list"):
        raise UsageError(usage_line("extensions"))
    if action == "time":
        return write_stdout("\n".join([*asyncio.run(load_times(current_folder())), ""]))
    paths, cwd = user_paths(os.environ), current_folder()
    trusted = trust_status(cwd, paths).trusted
    supplies = Supplies(cwd, paths, load_settings(paths, cwd).settings, trusted=trusted)
    if names:
        return write_stdout(toggle(names[0], paths, supplies, on=action == "enable") + "\n")
    rows = extension_rows(supplies, every=parsed.has("all"))
    if parsed.has("json"):
        return write_json(rows)
    return write_stdout("\n".join([*extension_lines(rows, supplies.discovery.warnings), ""]))


async def load_times(cwd: Path) -> list[str]:
    """Load the extensions as a session does; the time that each took, the slowest first."""
    options = sdk.SessionOptions(cwd=cwd, save=False, stream=faux.Faux([[]]).stream)
    async with sdk.create_session(options) as session:
        if session.extensions is None:
            return ["There are no Python extensions here."]
        rows = sorted(session.extensions.report(), key=lambda one: -one.load_ms)
        total = sum(one.load_ms for one in rows)
        lines = [
            f"{one.load_ms:8.1f} ms  {one.name} ({one.origin}, {one.state}) {one.path}"
            + (f"\n             {one.problem}" if one.problem else "")
            for one in rows
        ]
        return [*lines, f"{total:8.1f} ms  in all, before the first request"]
