"""Search APIs that return results: one entry each in `search_apis.json`."""

import re
from base64 import b64encode
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from msgspec import Struct, json

from tau.backends.web.client import GuardedRequest
from tau.backends.web.search.results import (
    SearchError,
    SearchQuery,
    SearchResponse,
    distinct,
    source_of,
)
from tau.backends.web.site_templates import items_at, look_up
from tau.config.discovery_settings import SearxngSettings

_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}


class SearchApi(Struct, frozen=True, kw_only=True):
    """`count` is default, least and most results; `body` is sent as JSON, `query` in the address.

    `recency` names the field, which may have a dot, and its values. Texts may contain {query}, {count} and
    {key}. `lists` are paths to results, `snippets` fields with text, `answer`, `id` and `related` paths.
    """

    url: str
    headers: Mapping[str, str] = {}
    body: Mapping[str, Any] = {}
    query: Mapping[str, str] = {}
    count: tuple[int, int, int] = (10, 1, 40)
    recency: tuple[str, Mapping[str, str]] | None = None
    lists: tuple[str, ...] = ("results",)
    title: str = "title"
    link: str = "url"
    snippets: tuple[str, ...] = ("content",)
    date: str = ""
    answer: tuple[str, ...] = ()
    id: str = ""
    related: tuple[str, ...] = ()


SERVICES = json.decode(Path(__file__).with_name("search_apis.json").read_bytes(), type=dict[str, SearchApi])


def count_for(service: SearchApi, query: SearchQuery) -> int:
    default, least, most = service.count
    return default if query.count is None else max(least, min(query.count, most))


def make_request(
    service: SearchApi, query: SearchQuery, values: Mapping[str, str], more: Mapping[str, str] = {}
) -> tuple[str, GuardedRequest]:
    """The address and the request. `values` are the key and the endpoint; `more` is added to the address."""
    texts = {**values, "query": query.query}
    count = count_for(service, query)
    body = {name: _filled(value, texts, count) for name, value in service.body.items()}
    asked = {name: str(_filled(value, texts, count)) for name, value in service.query.items()} | dict(more)
    if query.recency and service.recency:
        field, names = service.recency
        value = names[query.recency] if names else _since(query.recency)
        (asked if service.query else body).update(_nested(field, value))
    address = re.sub(r"\{(\w+)\}", lambda match: _in_address(match[1], texts), service.url)
    headers = {name: str(_filled(value, texts, count)) for name, value in service.headers.items()}
    headers["accept"] = "application/json"
    if body:
        headers["content-type"] = "application/json"
    return (
        f"{address}?{urlencode(asked)}" if asked else address,
        GuardedRequest(
            method="POST" if body else "GET",
            headers=headers,
            body=json.encode(body) if body else None,
        ),
    )


def read_answer(name: str, service: SearchApi, query: SearchQuery, data: object) -> SearchResponse:
    """Raises SearchError if the answer has another form."""
    if not isinstance(data, dict) or all(
        look_up(data, path.partition(".")[0]) is None for path in service.lists
    ):
        raise SearchError("its answer has no results", 200)
    found = []
    for path in service.lists:
        kind = path.rpartition(".")[2]
        for row in items_at(data, path):
            source = source_of(
                row, *service.snippets, title=service.title, url=service.link, date=service.date
            )
            if source is not None and kind in ("video", "news", "infobox"):
                source = type(source)(
                    f"[{kind}] {source.title}", source.url, source.snippet, source.published
                )
            found.append(source)
    related = [
        str(look_up(one, "props.question") or "") if isinstance(one, dict) else str(one)
        for path in service.related
        for one in items_at(data, path)
    ]
    answer = next((str(text) for path in service.answer if (text := look_up(data, path))), "")
    if name == "exa":
        summaries = (look_up(row, "summary") for row in items_at(data, "results"))
        answer = "\n\n".join(str(text) for text in summaries if text)
        answer = "\n\n".join(answer.split("\n\n")[:3])
    most = count_for(service, query) if service.count[0] or query.count else None
    return SearchResponse(
        provider=name,
        answer=answer,
        sources=distinct(found, most),
        related=[one for one in related if one],
        request_id=str(look_up(data, service.id) or "") if service.id else "",
    )


def searxng_options(
    settings: SearxngSettings, environ: Mapping[str, str]
) -> tuple[str, dict[str, str], dict[str, str]]:
    """The endpoint, headers and parameters. Raises SearchError for unusable credentials."""
    endpoint = settings.endpoint or environ.get("SEARXNG_ENDPOINT", "").strip()
    user = settings.basic_username or environ.get("SEARXNG_BASIC_USERNAME", "")
    password = settings.basic_password or environ.get("SEARXNG_BASIC_PASSWORD", "")
    token = settings.token or environ.get("SEARXNG_TOKEN", "")
    headers: dict[str, str] = {}
    if user or password:
        if not user or not password:
            raise SearchError("set both searxng.basicUsername and searxng.basicPassword")
        if ":" in user or not (user + password).isprintable():
            raise SearchError("searxng.basicUsername has a colon, or it or the password a control character")
        headers["authorization"] = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
    elif token:
        headers["authorization"] = f"Bearer {token}"
    more = {"categories": settings.categories, "language": settings.language}
    return endpoint.rstrip("/"), headers, {name: value for name, value in more.items() if value}


def _filled(value: object, texts: Mapping[str, str], count: int) -> object:
    if value == "{count}":
        return count
    if isinstance(value, str):
        return re.sub(r"\{(\w+)\}", lambda match: texts.get(match[1], ""), value)
    if isinstance(value, list):
        return [_filled(one, texts, count) for one in value]
    if isinstance(value, Mapping):
        return {name: _filled(one, texts, count) for name, one in value.items()}
    return value


def _in_address(name: str, texts: Mapping[str, str]) -> str:
    text = texts.get(name, "")
    return text if name == "endpoint" else quote(text, safe="")


def _nested(path: str, value: str) -> dict[str, Any]:
    first, _, rest = path.partition(".")
    return {first: _nested(rest, value) if rest else value}


def _since(recency: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> str:
    return (now() - timedelta(days=_DAYS[recency])).strftime("%Y-%m-%d")
