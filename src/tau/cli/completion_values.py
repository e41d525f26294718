"""`tau completions values KIND`: what shells offer for a word, each value with a description."""

import re
from collections.abc import Callable, Iterable, Sequence

from tau.ai.catalog import Catalog, load_catalog
from tau.base.errors import UsageError
from tau.base.late import late
from tau.base.text import clean_line
from tau.cli.flags import HOSTS, MODELS, PROVIDERS, SESSIONS, SETTINGS, TOOLS
from tau.cli.main import write_stdout
from tau.config.models_file import load_models_file, merge_models
from tau.config.paths import current_folder, user_paths

registry = late("tau.coding.tools.registry")
sessions_command = late("tau.cli.sessions_command")
settings = late("tau.config.setting_table")
ssh_hosts = late("tau.backends.ssh.hosts")

# Some names come from the repository: one that a shell would expand must not get onto a command line.
_PLAIN = re.compile(r"[\w.,:/@+-]+")

_Values = Iterable[tuple[str, str]]


def run(words: Sequence[str]) -> int:
    """Print a line for each value; a tab precedes the description. Raises UsageError and ConfigError."""
    if len(words) != 1 or words[0] not in _KINDS:
        raise UsageError(f"Usage: tau completions values {'|'.join(_KINDS)}.")
    found = _KINDS[words[0]]()
    lines = [f"{value}\t{clean_line(text)}".rstrip() for value, text in found if _PLAIN.fullmatch(value)]
    return write_stdout("".join(f"{line}\n" for line in lines))


def _settings() -> _Values:
    for one in settings.describe_settings():
        yield one.key, one.description
        yield from ((f"{one.key}.{member}", one.description) for member in one.members)


def _tools() -> _Values:
    return [(tool.name, tool.label) for tool in registry.create_tools(tuple(registry.TOOLS))]


def _models() -> _Values:
    return [(model.key, model.name) for model in _catalog().models]


def _providers() -> _Values:
    return [(provider.id, provider.name) for provider in _catalog().providers.values()]


def _hosts() -> _Values:
    hosts = ssh_hosts.load_hosts(user_paths(), current_folder()).hosts
    return [(host.name, host.description or host.target) for host in hosts.values()]


def _sessions() -> _Values:
    return sessions_command.titles_here()


def _catalog() -> Catalog:
    """Known models; asking the servers on this machine would take too long while somebody types."""
    return merge_models(load_catalog(), load_models_file(user_paths().models))


_KINDS: dict[str, Callable[[], _Values]] = {
    SETTINGS: _settings,
    TOOLS: _tools,
    MODELS: _models,
    PROVIDERS: _providers,
    HOSTS: _hosts,
    SESSIONS: _sessions,
}
