"""Settings of reading and searching the web."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Literal

from msgspec import Meta, Struct

SearchProviderName = Literal[
    "tavily",
    "perplexity",
    "brave",
    "jina",
    "kimi",
    "anthropic",
    "gemini",
    "codex",
    "zai",
    "exa",
    "parallel",
    "kagi",
    "synthetic",
    "searxng",
]


class FetchSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Let read fetch web addresses")] = True
    allow_private: Annotated[
        list[str],
        Meta(
            description="Private hosts that read may fetch: localhost:3000, 10.0.0.0/8, wiki.corp or"
            " *.corp:8080"
        ),
    ] = []


class WebProviderSettings(Struct, frozen=True, rename="camel"):
    web_search: Annotated[
        Literal["auto"] | SearchProviderName,
        Meta(description="Search provider to try first; auto: in the order of tau search --providers"),
    ] = "auto"
    fetch: Annotated[
        Literal["auto", "native", "trafilatura", "lynx", "parallel", "jina"],
        Meta(
            description="Converts web pages to text; auto and native: here, trafilatura and lynx: with"
            " that program, jina and parallel: that service gets the address"
        ),
    ] = "auto"


class WebSearchSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Offer web search if a provider has a key")] = True


class ExaSettings(Struct, frozen=True, rename="camel"):
    enabled: Annotated[bool, Meta(description="Use Exa")] = True
    enable_search: Annotated[bool, Meta(description="Search with Exa")] = True


class SearxngSettings(Struct, frozen=True, rename="camel"):
    endpoint: Annotated[str | None, Meta(description="Address of your SearXNG server")] = None
    token: Annotated[str | None, Meta(description="Bearer token for it")] = None
    basic_username: Annotated[str | None, Meta(description="User name for it")] = None
    basic_password: Annotated[str | None, Meta(description="Password for it")] = None
    categories: Annotated[str | None, Meta(description="Categories to search, such as it,science")] = None
    language: Annotated[str | None, Meta(description="Language of the results, such as en")] = None


class SearchKey(Struct, frozen=True):
    """Where the key of a search provider is from: variables first, then logins and keys of providers."""

    variables: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()


# In the order in which they are tried.
SEARCH_KEYS: dict[str, SearchKey] = {
    "tavily": SearchKey(("TAVILY_API_KEY",), ("tavily",)),
    "perplexity": SearchKey(("PERPLEXITY_COOKIES", "PERPLEXITY_API_KEY", "PPLX_API_KEY"), ("perplexity",)),
    "brave": SearchKey(("BRAVE_API_KEY",), ("brave",)),
    "jina": SearchKey(("JINA_API_KEY",), ("jina",)),
    "kimi": SearchKey(
        ("MOONSHOT_SEARCH_API_KEY", "KIMI_SEARCH_API_KEY", "MOONSHOT_API_KEY"), ("moonshot", "kimi-code")
    ),
    "anthropic": SearchKey(("ANTHROPIC_SEARCH_API_KEY",), ("anthropic",)),
    "gemini": SearchKey(("GEMINI_SEARCH_API_KEY",), ("google",)),
    "codex": SearchKey((), ("openai-codex",)),
    "zai": SearchKey(("ZAI_API_KEY",), ("zai",)),
    "exa": SearchKey(("EXA_API_KEY",), ("exa",)),
    "parallel": SearchKey(("PARALLEL_API_KEY",), ("parallel",)),
    "kagi": SearchKey(("KAGI_API_KEY",), ("kagi",)),
    "synthetic": SearchKey(("SYNTHETIC_API_KEY",), ("synthetic",)),
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
