"""What the web tools depend on: keys, programs, and who decides about connections."""

import os
import sys
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Struct

from tau.base.programs import find_program
from tau.config.settings import Settings

BROWSER_VARIABLE = "TAU_BROWSER_PATH"
BROWSERS = (
    *("chromium", "chromium-browser", "google-chrome-stable", "google-chrome", "chrome"),
    *("microsoft-edge-stable", "microsoft-edge", "brave-browser"),
)
_MAC_BROWSERS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)


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


def find_browser(environ: Mapping[str, str]) -> str | None:
    """The program that TAU_BROWSER_PATH names, or an installed one of the Chromium family."""
    if named := environ.get(BROWSER_VARIABLE):
        path = os.path.expanduser(named)  # noqa: PTH111 - Path.expanduser may raise
        return path if os.access(path, os.X_OK) and not os.path.isdir(path) else None  # noqa: PTH112
    for name in BROWSERS:
        if program := find_program(name, environ=environ):
            return program
    places = _MAC_BROWSERS if sys.platform == "darwin" else ()
    return next((path for path in places if os.access(path, os.X_OK)), None)


def has_browser_driver() -> bool:
    """Whether the extra is installed; asked without importing anything."""
    return any(os.access(f"{folder}/playwright/__init__.py", os.R_OK) for folder in sys.path)


class WebAccess(Struct):
    """What reading, searching and browsing the web depends on.

    `may_connect`: a redirect to this host needs no question; `judge` is what the user's rules say about a
    connection, None leaves it open. `key` is that of a search or reading service,
    `has_key` whether there is one.
    """

    environ: Mapping[str, str]
    may_connect: Callable[[str], bool] = lambda host: False
    key: Callable[[str], Awaitable[str | None]] = _no_key
    has_key: Callable[[str], bool] = lambda name: False
    judge: Callable[[str], bool | None] = lambda host: None
    keys: dict[str, str] = {}  # that other parts of the configuration name


def has_search(settings: Settings, access: WebAccess | None) -> bool:
    """Whether a search provider can be used. Without one, the tool would only cost tokens."""
    if access is None:
        return False
    named = settings.providers.web_search == "exa" or settings.searxng.endpoint
    return bool(named or any(map(access.has_key, SEARCH_KEYS)))
