"""The port of credentials that a cloud's own tools configure, and addresses that depend on them."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from tau.base.errors import ConfigError

# A variable in an address: `{NAME,OTHER|default}`.
VARIABLE = r"\{([A-Z0-9_,]+)(?:\|([^}]*))?\}"


class CloudCredentials(Protocol):
    """What a cloud's command-line tools and variables say about its user."""

    @property
    def hint(self) -> str:
        """How to configure them, for the message about a missing key."""
        ...

    def is_configured(self) -> bool:
        """Whether there probably are some; opens no connection."""
        ...

    async def find(self, *, fresh: bool = False) -> str | None:
        """The key for a request now. `fresh`: the last one was rejected. Raises ConfigError."""
        ...

    def address(self, base_url: str) -> str:
        """The provider's address for this user. Raises ConfigError."""
        ...


def expand_address(base_url: str, values: Mapping[str, str], provider: str) -> str:
    """Replace the variables in an address. Raises ConfigError for one that is not set."""

    def value(found: re.Match[str]) -> str:
        names = found[1].split(",")
        set_values = (values[name].strip() for name in names if values.get(name, "").strip())
        chosen = next(set_values, found[2])
        if chosen is None:
            which = " or ".join(names)
            raise ConfigError(
                f"The address of {provider} is not known: set {which}, or baseUrl in models.json."
            )
        return chosen.rstrip("/")

    return re.sub(VARIABLE, value, base_url)


def is_in_repository(path: str) -> bool:
    """Whether a file is in the working folder or its repository, where the agent could change it."""
    folder = Path.cwd()
    root = next((each for each in (folder, *folder.parents) if (each / ".git").exists()), folder)
    return Path(path).expanduser().resolve().is_relative_to(root.resolve())


def home(environ: Mapping[str, str]) -> Path:
    return Path(environ["HOME"]) if environ.get("HOME") else Path.home()
