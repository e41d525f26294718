"""`tau extensions [list|enable|disable]`: what is found in the folders of tau and of other agents."""

import os
from collections.abc import Sequence

from msgspec import json

from tau.base.errors import UsageError
from tau.cli.main import write_stdout
from tau.cli.subcommand_help import usage_line
from tau.coding.supplies import Supplies
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.trust import trust_status
from tau.modes.extensions_report import extension_lines, extension_rows, toggle

ACTIONS = ("list", "enable", "disable")


def run(argv: Sequence[str]) -> int:
    """Run `tau extensions`. Raises TauError."""
    words = [word for word in argv if not word.startswith("-")]
    options = {word for word in argv if word.startswith("-")}
    action = words[0] if words else "list"
    is_list = action == "list"
    allowed = {"--all", "--json"} if is_list else set()
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
