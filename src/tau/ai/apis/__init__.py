"""The dialects by name. Each is one module, loaded when the first request speaks it."""

from typing import Protocol

from tau.ai.dialect import Dialect
from tau.base.errors import ConfigError
from tau.base.late import late


class DialectModule(Protocol):
    """What each module in the table offers."""

    @property
    def stream(self) -> Dialect: ...


DIALECTS: dict[str, DialectModule] = {
    "anthropic-messages": late("tau.ai.apis.anthropic_messages"),
    "openai-completions": late("tau.ai.apis.openai_completions"),
}


def dialect(api: str) -> Dialect:
    """The dialect of that name. Raises ConfigError, for the name comes from a file of the user's."""
    module = DIALECTS.get(api)
    if module is None:
        raise ConfigError(f'There is no API "{api}"; the api of a model is one of {", ".join(DIALECTS)}.')
    return module.stream
