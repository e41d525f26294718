"""What a search finds, and how the model sees it."""

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened

Recency = Literal["day", "week", "month", "year"]
SNIPPET_CHARS, QUERY_CHARS, SHOWN_QUERIES = 240, 120, 3
MAX_ANSWER_CHARS = 20_000
MAX_SOURCES = 40


class SearchError(ToolError):
    """A provider failed. `status` is the HTTP status; after `wait_s` it may answer again."""

    def __init__(self, message: str, status: int = 0, wait_s: float = 0) -> None:
        super().__init__(message)
        self.status = status
        self.wait_s = wait_s


class WebResult(Struct, frozen=True, rename="camel", omit_defaults=True):
    title: str
    url: str
    snippet: str = ""
    published: str = ""


class SearchQuery(Struct, frozen=True, kw_only=True):
    """`limit` is how many results to return, `breadth` how many to ask for."""

    query: str
    recency: Recency | None = None
    limit: int | None = None
    breadth: int | None = None
    max_tokens: int | None = None
    temperature: float | None = None

    @property
    def count(self) -> int | None:
        return self.limit if self.breadth is None else self.breadth


class SearchResponse(Struct, frozen=True, rename="camel", omit_defaults=True, kw_only=True):
    provider: str
    answer: str = ""
    sources: list[WebResult] = []
    citations: list[WebResult] = []
    related: list[str] = []
    queries: list[str] = []
    model: str = ""
    request_id: str = ""
    notes: list[str] = []


def source_of(
    row: object, *snippets: str, title: str = "title", url: str = "url", date: str = ""
) -> WebResult | None:
    """A source from a JSON object; None without an address."""
    if not isinstance(row, dict) or not isinstance(row.get(url), str) or not row[url]:
        return None
    text = next((row[name] for name in snippets if row.get(name)), "")
    if isinstance(text, list):
        text = " ".join(str(part) for part in text)
    name = row.get(title) or row[url]
    return WebResult(str(name), row[url], str(text), str(row.get(date) or "")[:25] if date else "")


def distinct(sources: Iterable[WebResult | None], most: int | None) -> list[WebResult]:
    """Each address once, whatever its fragment and final slash."""
    found: dict[str, WebResult] = {}
    for source in sources:
        if source is not None:
            found.setdefault(source.url.partition("#")[0].rstrip("/"), source)
    return list(found.values())[: min(most or MAX_SOURCES, MAX_SOURCES)]


def format_response(response: SearchResponse) -> str:
    parts = [shortened(response.answer.strip(), MAX_ANSWER_CHARS)] if response.answer.strip() else []
    if response.sources:
        count = len(response.sources)
        parts.append(f"## Sources\n{count} source{'s' if count > 1 else ''}\n" + _numbered(response.sources))
    if response.citations:
        parts.append("## Citations\n" + _numbered(response.citations))
    if response.related:
        parts.append("## Related\n" + "\n".join(f"- {clean_line(one)}" for one in response.related[:10]))
    if response.queries:
        shown = (f"- {shortened(clean_line(one), QUERY_CHARS)}" for one in response.queries[:SHOWN_QUERIES])
        parts.append(f"Search queries: {len(response.queries)}\n" + "\n".join(shown))
    if not parts:
        parts.append("No results.")
    return "\n\n".join([*parts, *(f"[{note}]" for note in response.notes)])


def _numbered(sources: list[WebResult]) -> str:
    lines = []
    for number, source in enumerate(sources, 1):
        date = f" ({clean_line(source.published)})" if source.published else ""
        lines += [
            f"[{number}] {shortened(clean_line(source.title), 200)}{date}",
            f"    {clean_line(source.url)}",
        ]
        if source.snippet.strip():
            lines.append(f"    {shortened(clean_line(source.snippet), SNIPPET_CHARS)}")
    return "\n".join(lines)
