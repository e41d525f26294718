"""The dialects by name. Each is one module, loaded with its first request."""

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
    "openai-responses": late("tau.ai.apis.openai_responses"),
    "google-generative-ai": late("tau.ai.apis.google_generative_ai"),
    "bedrock-converse-stream": late("tau.ai.apis.bedrock_converse_stream"),
    "ollama-chat": late("tau.ai.apis.ollama_chat"),
}


def dialect(api: str) -> Dialect:
    """Return the dialect of that name. Raises ConfigError: names come from the user's files."""
    module = DIALECTS.get(api)
    if module is None:
        raise ConfigError(f'Unknown API "{api}"; use one of {", ".join(DIALECTS)}.')
    return module.stream
