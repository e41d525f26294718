"""web_search: one query to the first search provider that answers."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.agent.arguments import UNLISTED
from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.agent.tool import Tool
from tau.ai.wire import TextContent
from tau.base.late import late
from tau.base.text import clean_line
from tau.coding.ports import CodingContext
from tau.config.settings import Settings
from tau.config.web_access import WebAccess

search = late("tau.backends.web.search.web_search")
results = late("tau.backends.web.search.results")


class WebSearchParams(Struct, frozen=True):
    aliases: ClassVar[dict[str, str]] = {"q": "query", "search_query": "query", "maxResults": "limit"}

    query: Annotated[str, Meta(title="Search query", min_length=1)]
    recency: Annotated[
        Literal["day", "week", "month", "year"] | None, Meta(title="Only results this recent")
    ] = None
    limit: Annotated[int | None, Meta(title="Maximum number of results")] = None
    max_tokens: Annotated[
        int | None,
        Meta(title="Length of the answer, for providers that write one", extra_json_schema=UNLISTED),
    ] = None
    temperature: Annotated[
        float | None,
        Meta(title="Sampling temperature of the answer", extra_json_schema=UNLISTED),
    ] = None
    num_search_results: Annotated[
        int | None,
        Meta(title="Results that the provider looks at", extra_json_schema=UNLISTED),
    ] = None


class WebSource(Struct, frozen=True, rename="camel"):
    title: str
    url: str


class WebSearchDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """`provider` is the one that answered, or the last that failed, or `none`."""

    query: str
    provider: str
    answer: str = ""
    sources: list[WebSource] = []
    error: str | UnsetType = UNSET


class WebSearchTool(Tool[WebSearchParams]):
    name, label = "web_search", "Web search"

    def __init__(
        self,
        settings: Settings,
        access: WebAccess | None,
        route: Callable[[str], str] = lambda address: address,
    ) -> None:
        self._settings = settings
        self._access = access or WebAccess({})
        self._route = route

    @cached_property
    def _search(self) -> "search.WebSearch":
        return search.WebSearch(self._settings, self._access, self._route)

    @property
    def statuses(self) -> "list[search.ProviderStatus]":
        return self._search.statuses

    def missing(self, name: str) -> str:
        """Why a provider cannot be used; empty if it can."""
        return self._search.missing(name, chosen=True)

    def effects(self, params: WebSearchParams, cwd: Path) -> Effects:
        return Effects(network=tuple(self._search.hosts()))

    async def run(self, params: WebSearchParams, ctx: CodingContext) -> ToolOutput:
        return await self.search(params, "")

    async def search(self, params: WebSearchParams, forced: str) -> ToolOutput:
        """A failure is a result, so that the model can go on without it."""
        query = results.SearchQuery(
            query=params.query,
            recency=params.recency,
            limit=params.limit,
            breadth=params.num_search_results,
            max_tokens=params.max_tokens,
            temperature=params.temperature,
        )
        outcome = await self._search.search(query, forced)
        response = outcome.response
        details = WebSearchDetails(
            query=params.query,
            provider=response.provider,
            answer=response.answer,
            sources=[WebSource(clean_line(one.title), clean_line(one.url)) for one in response.sources],
            error=outcome.error or UNSET,
        )
        if outcome.error:
            return ToolOutput([TextContent(f"Error: {outcome.error}")], details, is_error=True)
        return ToolOutput.text(results.format_response(response), details)
