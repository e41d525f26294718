"""The dialects by name. Each is one module, loaded when the first request speaks it."""

from typing import Any, cast

from tau.ai.dialect import Dialect
from tau.base.errors import ConfigError
from tau.base.late import late

DIALECTS: dict[str, Any] = {
    "anthropic-messages": late("tau.ai.apis.anthropic_messages"),
    "openai-completions": late("tau.ai.apis.openai_completions"),
}


def dialect(api: str) -> Dialect:
    """The dialect of that name. Raises ConfigError, for the name comes from a file of the user's."""
    module = DIALECTS.get(api)
    if module is None:
        raise ConfigError(f'There is no API "{api}"; the api of a model is one of {", ".join(DIALECTS)}.')
    return cast(Dialect, module.stream)
