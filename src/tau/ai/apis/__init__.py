"""The dialects by name. Each is one module, loaded with its first request."""

from typing import Any, cast

from tau.ai.dialect import Dialect
from tau.base.errors import ConfigError
from tau.base.late import late

DIALECTS: dict[str, Any] = {
    "anthropic-messages": late("tau.ai.apis.anthropic_messages"),
    "openai-completions": late("tau.ai.apis.openai_completions"),
}


def dialect(api: str) -> Dialect:
    """Return the dialect of that name. Raises ConfigError: names come from the user's files."""
    module = DIALECTS.get(api)
    if module is None:
        raise ConfigError(f'Unknown API "{api}"; use one of {", ".join(DIALECTS)}.')
    return cast(Dialect, module.stream)
