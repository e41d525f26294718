"""`tau extensions [list|enable|disable]`: what is found in the folders of tau and of other agents."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import json

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.main import write_stdout
from tau.cli.subcommand_help import usage_line
from tau.coding.supplies import Supplies
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.trust import trust_status
from tau.modes.extensions_report import extension_lines, extension_rows, toggle

asyncio = late("asyncio")
faux = late("tau.ai.faux")
sdk = late("tau.sdk")

ACTIONS = ("list", "enable", "disable", "time")


def run(argv: Sequence[str]) -> int:
    """Run `tau extensions`. Raises TauError."""
    words = [word for word in argv if not word.startswith("-")]
    options = {word for word in argv if word.startswith("-")}
    action = words[0] if words else "list"
    is_list = action == "list"
    allowed = {"--all", "--json"} if is_list else set()
    if action == "time" and not options and len(words) == 1:
        return write_stdout("\n".join([*asyncio.run(load_times(current_folder())), ""]))
    if action not in ACTIONS or len(words) > (1 if is_list else 2) or options - allowed:
        raise UsageError(usage_line("extensions"))
    paths, cwd = user_paths(os.environ), current_folder()
    trusted = trust_status(cwd, paths).trusted
    supplies = Supplies(cwd, paths, load_settings(paths, cwd).settings, trusted=trusted)
    if not is_list:
        if len(words) < 2:
            raise UsageError(usage_line("extensions"))
        return write_stdout(toggle(words[1], paths, supplies, on=action == "enable") + "\n")
    rows = extension_rows(supplies, every="--all" in options)
    if "--json" in options:
        return write_stdout(json.format(json.encode(rows), indent=2).decode() + "\n")
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
