"""`tau trust [list|add|remove|show]`: decide what repositories may run."""

import os
from collections.abc import Sequence
from pathlib import Path

from msgspec import json, to_builtins

from tau.base.errors import UsageError
from tau.base.text import quantity
from tau.cli.main import write_stdout
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.config import project_rules
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.trust import TrustStatus, TrustStore
from tau.modes.trust_question import report

ACTIONS = ("list", "add", "remove", "show")


def run(argv: Sequence[str]) -> int:
    """Run `tau trust`. Raises TauError."""
    parsed = parse_subcommand("trust", argv)
    as_json = parsed.has("json")
    action = parsed.words[0] if parsed.words else "show"
    if len(parsed.words) > 1 or action not in ACTIONS or (as_json and action in ("add", "remove")):
        raise UsageError(usage_line("trust"))
    paths, cwd = user_paths(os.environ), current_folder()
    store = TrustStore(paths)
    if action == "list":
        return write_stdout(_list(store, as_json=as_json))
    if action == "remove":
        done = "No longer trusted." if store.remove(cwd) else "This repository was not trusted."
        return write_stdout(f"{done}\n")
    loaded = load_settings(paths, cwd)
    if action == "add":
        project_rules.settle_rules(cwd, paths, loaded, accept=True)
    status = store.trust(cwd) if action == "add" else store.status(cwd)
    dropped = project_rules.dropped_notices(loaded.dropped, cwd, paths) if action == "show" else ()
    return write_stdout(_json(status) if as_json else "\n".join([*dropped, *report(status, full=True), ""]))


def _list(store: TrustStore, *, as_json: bool) -> str:
    snapshots = store.snapshots()
    if as_json:
        rows = [
            {"root": one.root, "at": one.at, "trusted": not one.refused, "items": sorted(one.items)}
            for one in snapshots
        ]
        return json.format(json.encode(rows), indent=2).decode() + "\n"
    if not snapshots:
        return "You have not trusted any repository.\n"
    lines = [
        f"{one.at[:10]}  {'refused' if one.refused else 'trusted'}  {one.root}"
        f"  {quantity(len(one.items), 'file')}{'' if Path(one.root).is_dir() else '  (gone)'}"
        for one in snapshots
    ]
    return "\n".join([*lines, ""])


def _json(status: TrustStatus) -> str:
    row = to_builtins(status, enc_hook=str)
    for item in row["items"]:
        del item["text"]
    return json.format(json.encode(row), indent=2).decode() + "\n"
