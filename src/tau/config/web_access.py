"""What reading and searching the web depends on: keys, and who decides about connections."""

from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from tau.config.settings import Settings


class SearchKey(Struct, frozen=True):
    """Where the key of a search provider is from: variables first, then logins and keys of providers."""

    variables: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    login: str = ""  # the provider that `tau login` stores it for; otherwise auth.json can have it


# In the order in which they are tried.
SEARCH_KEYS: dict[str, SearchKey] = {
    "tavily": SearchKey(("TAVILY_API_KEY",), ("tavily",)),
    "perplexity": SearchKey(("PERPLEXITY_COOKIES", "PERPLEXITY_API_KEY", "PPLX_API_KEY"), ("perplexity",)),
    "brave": SearchKey(("BRAVE_API_KEY",), ("brave",)),
    "jina": SearchKey(("JINA_API_KEY",), ("jina",)),
    "kimi": SearchKey(
        ("MOONSHOT_SEARCH_API_KEY", "KIMI_SEARCH_API_KEY", "MOONSHOT_API_KEY"),
        ("moonshot", "kimi-code"),
        "moonshot",
    ),
    "anthropic": SearchKey(("ANTHROPIC_SEARCH_API_KEY",), ("anthropic",), "anthropic"),
    "gemini": SearchKey(("GEMINI_SEARCH_API_KEY",), ("google",), "google"),
    "codex": SearchKey((), ("openai-codex",), "openai-codex"),
    "zai": SearchKey(("ZAI_API_KEY",), ("zai",), "zai"),
    "exa": SearchKey(("EXA_API_KEY",), ("exa",)),
    "parallel": SearchKey(("PARALLEL_API_KEY",), ("parallel",)),
    "kagi": SearchKey(("KAGI_API_KEY",), ("kagi",)),
    "synthetic": SearchKey(("SYNTHETIC_API_KEY",), ("synthetic",), "synthetic"),
    "searxng": SearchKey(("SEARXNG_ENDPOINT",)),
}


async def _no_key(name: str) -> str | None:
    return None


class WebAccess(Struct):
    """What reading and searching the web depends on.

    `may_connect`: a redirect to this host needs no question. `key` is that of a search or reading service,
    `has_key` whether there is one.
    """

    environ: Mapping[str, str]
    may_connect: Callable[[str], bool] = lambda host: False
    key: Callable[[str], Awaitable[str | None]] = _no_key
    has_key: Callable[[str], bool] = lambda name: False


def has_search(settings: Settings, access: WebAccess | None) -> bool:
    """Whether a search provider can be used. Without one, the tool would only cost tokens."""
    if access is None:
        return False
    named = settings.providers.web_search == "exa" or settings.searxng.endpoint
    return bool(named or any(map(access.has_key, SEARCH_KEYS)))
