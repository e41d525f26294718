"""`tau agents [list|show|unpack]`: the agents that can be started here."""

import os
from collections.abc import Sequence
from pathlib import Path

from tau.base.errors import UsageError
from tau.base.files import typed_path, write_atomic
from tau.cli.json_output import write_json
from tau.cli.main import write_stdout
from tau.cli.subcommand_flags import parse_subcommand
from tau.cli.subcommand_help import usage_line
from tau.coding.supplies import Supplies
from tau.coding.task.catalog import BUNDLED, AgentCatalog, bundled_agents, load_agents
from tau.config.layers import load_settings
from tau.config.paths import current_folder, user_paths
from tau.config.trust import trust_status
from tau.modes.agents_report import list_kinds

ACTIONS = ("list", "show", "unpack")


def run(argv: Sequence[str]) -> int:
    """Run `tau agents`. Raises TauError."""
    parsed = parse_subcommand("agents", argv)
    action, *rest = parsed.words or ["list"]
    if action == "list" and not rest:
        catalog = _catalog()
        if parsed.has("json"):
            return write_json({"agents": catalog.agents, "problems": catalog.problems})
        return write_stdout("\n".join([*list_kinds(catalog), ""]))
    if action == "show" and len(rest) == 1:
        return _show(rest[0])
    if action == "unpack" and len(rest) <= 1:
        return _unpack(rest, project=parsed.has("project"), force=parsed.has("force"))
    raise UsageError(usage_line("agents"))


def _catalog() -> AgentCatalog:
    cwd, paths = current_folder(), user_paths(os.environ)
    settings = load_settings(paths, cwd).settings
    supplies = Supplies(cwd, paths, settings, trusted=trust_status(cwd, paths).trusted)
    return load_agents(lambda: supplies.discovery, settings.task.disabled_agents)


def _show(name: str) -> int:
    catalog = _catalog()
    agent = catalog.find(name)
    if agent is None:
        problem = next((one.why for one in catalog.problems if one.name == name), "")
        raise UsageError(f'There is no agent "{name}". {problem or f"There are: {catalog.names}."}')
    return write_stdout(f"{agent.path}\n\n{Path(agent.path).read_text(encoding='utf-8').strip()}\n")


def _unpack(rest: Sequence[str], *, project: bool, force: bool) -> int:
    """Copy the bundled agents, to be changed."""
    usual = current_folder() / ".tau" / "agents" if project else user_paths(os.environ).home / "agents"
    folder = typed_path(rest[0]).absolute() if rest else usual
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for agent in bundled_agents():
        target = folder / f"{agent.name}.md"
        if target.exists() and not force:
            lines.append(f"Kept {target}; --force replaces it.")
        else:
            write_atomic(target, (BUNDLED / f"{agent.name}.md").read_bytes())
            lines.append(f"Wrote {target}.")
    return write_stdout("\n".join([*lines, ""]))
