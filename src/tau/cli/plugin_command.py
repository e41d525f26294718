"""`tau plugin`: find, install, check and write plugins."""

import os
import sys
from collections.abc import Callable, Sequence

from tau.base.errors import UsageError
from tau.base.late import late
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.parse import ParsedArgs
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import help_page
from tau.config.paths import current_folder, user_paths
from tau.ext.plugins.commands import Allows, Plugins
from tau.ext.plugins.manifest import check_manifest
from tau.ext.plugins.store import describe

scaffold = late("tau.ext.plugins.scaffold")

ACTIONS = (
    *("list", "install", "update", "remove", "enable", "disable", "show", "link", "validate", "doctor"),
    *("new", "marketplace", "config"),
)
ONE = ("install", "link", "show", "enable", "disable", "remove", "validate", "new")


def run(words: Sequence[str]) -> int:
    """Raises TauError."""
    parsed = parse_subcommand("plugin", words)
    action, *rest = parsed.words or ["list"]
    if (action in ONE and len(rest) != 1) or (action == "config" and not 0 < len(rest) < 4):
        raise UsageError(help_page("plugin").partition("\n\n")[0])
    if action == "new":
        return _print(scaffold.write(rest[0], parsed.value("kind") or "extension", current_folder()))
    plugins = Plugins(
        user_paths(os.environ), current_folder(), "project" if parsed.value("scope") == "project" else "user"
    )
    if action == "list":
        return _list(plugins, as_json=parsed.has("json"))
    if action in ("validate", "doctor"):
        problems = plugins.validate(rest[0]) if action == "validate" else plugins.doctor()
        write_stdout("\n".join([*(problems or ["No problems found."]), ""]))
        return 1 if problems else 0
    if action == "install":
        return _install(plugins, rest[0], parsed)
    if action == "config":
        return _print(plugins.config(*rest, reset=parsed.has("reset")))
    if action == "marketplace":
        return _print(plugins.marketplace(tuple(rest)))
    actions: dict[str, Callable[[], list[str]]] = {
        "link": lambda: plugins.link(rest[0]),
        "show": lambda: plugins.show(rest[0]),
        "enable": lambda: plugins.set_enabled(rest[0], enabled=True),
        "disable": lambda: plugins.set_enabled(rest[0], enabled=False),
        "remove": lambda: plugins.remove(rest[0]),
        "update": lambda: plugins.update(rest, _allows(parsed)),
    }
    if action not in actions:
        raise UsageError(f'Unknown action "{action}"; see tau plugin --help.')
    return _print(actions[action]())


def _print(lines: Sequence[str]) -> int:
    return write_stdout("\n".join([*lines, ""]))


def _list(plugins: Plugins, *, as_json: bool) -> int:
    records = plugins.records()
    if as_json:
        return write_json(records)
    lines = [
        f"{one.name} {one.version}".rstrip()
        + ("" if one.enabled else " [off]")
        + f" ({one.kind}, {one.source})"
        for one in records
    ]
    return _print(lines or ["No plugins are installed; see tau plugin --help."])


def _install(plugins: Plugins, text: str, parsed: ParsedArgs) -> int:
    with plugins.offer(text) as offer:
        package = f"{offer.source.text}: a Python package, which runs in tau's own process"
        lines = [package] if offer.manifest is None else describe(offer.manifest)
        problems = [] if offer.folder is None else check_manifest(offer.folder)
        lines += [f"  problem: {problem}" for problem in problems]
        is_dry = parsed.has("dry-run")
        if not is_dry and not parsed.has("yes") and _is_terminal():
            if not _agrees([*lines, "Install it?"]):
                return _print(["Nothing was installed."])
            lines = []
        return _print([*lines, *(["Nothing was installed."] if is_dry else plugins.accept(offer))])


def _allows(parsed: ParsedArgs) -> Allows:
    """Whether an update may run more than what the user has seen: only a person or a flag says so."""
    return lambda new: (
        parsed.has("yes")
        or (_is_terminal() and _agrees([*describe(new), "It runs more than before. Update it?"]))
    )


def _is_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty()


def _agrees(lines: Sequence[str]) -> bool:
    write_stdout("\n".join(lines) + " [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")
