"""`tau debug adapters`: shows the debug adapters of this folder. Starts nothing."""

import os
from collections.abc import Sequence

from tau.backends.dap.config import FoundAdapters, find_adapters
from tau.base.errors import UsageError
from tau.cli.json_output import write_json
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.trust import trust_status
from tau.modes.output_stream import OutputStream

VERBS = ("adapters",)


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("debug", words)
    if parsed.words not in ([], ["adapters"]):
        raise UsageError(usage_line("debug"))
    cwd, paths = current_folder(), user_paths(os.environ)
    trusted = trust_status(cwd, paths).trusted
    found = find_adapters(cwd, paths, os.environ, trusted=trusted)
    out = OutputStream()
    if parsed.has("json"):
        return write_json(_data(found))
    lines = [
        f"{spec.name}: {'used here' if spec.fits else 'installed'}, {spec.program}" for spec in found.usable
    ]
    lines += [f"{spec.name}: {why}" for spec, why in found.missing]
    if not load_settings(paths, cwd).settings.debug.enabled:
        lines.append("The debug tool is off (debug.enabled is false).")
    elif not found.fits:
        lines.append("No installed debug adapter fits this folder, so the agent does not get the debug tool.")
    out.text("".join(f"{line}\n" for line in (*lines, *found.problems)))
    return 0


def _data(found: FoundAdapters) -> dict[str, object]:
    rows = [
        {
            "name": spec.name,
            "state": "available",
            "command": " ".join((spec.program, *spec.args)),
            "fits": spec.fits,
        }
        for spec in found.usable
    ]
    missing = [{"name": spec.name, "state": "missing", "why": why} for spec, why in found.missing]
    return {"adapters": [*rows, *missing], "problems": found.problems}
