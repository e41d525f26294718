"""The search providers: what each server gets, and what its answers become."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tau.agent.effects import Effects
from tau.backends.web.search import web_search
from tau.backends.web.search.results import SearchQuery, format_response
from tau.backends.web.search.web_search import SearchOutcome, WebSearch
from tau.coding.tools.web_search import WebSearchParams, WebSearchTool
from tau.config.discovery_settings import SearxngSettings, WebProviderSettings
from tau.config.settings import Settings
from tau.config.web_access import SEARCH_KEYS, WebAccess, has_search
from tests.backends.web.pages_server import PagesServer
from tests.support.idle import until

ROW = {
    "title": "One",
    "url": "https://a.example/1",
    "content": "first",
    "snippet": "first",
    "description": "first",
}
ROWS = [ROW, {**ROW, "url": "https://a.example/1/#x"}, {**ROW, "title": "Two", "url": "https://a.example/2"}]
NAMED = [{**row, "excerpts": ["first"], "text": "first", "summary": "first"} for row in ROWS]


def events(*parts: Any) -> str:
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"


def rpc(text: str) -> str:
    return events({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": text}]}})


# The path, the header with the key, fields of the body, and an answer with the sources One and Two.
CASES: dict[str, tuple[str, str, dict[str, Any], Any]] = {
    "tavily": (
        "/search",
        "authorization",
        {"query": "q", "max_results": 5, "time_range": "week"},
        {"results": ROWS, "answer": "A"},
    ),
    "perplexity": (
        "/chat/completions",
        "authorization",
        {"model": "sonar-pro", "search_mode": "web", "search_recency_filter": "week", "max_tokens": 8192},
        {
            "choices": [{"message": {"content": "A"}}],
            "search_results": ROWS,
            "citations": ["https://a.example/1"],
        },
    ),
    "brave": (
        "/res/v1/web/search",
        "x-subscription-token",
        {"q": "q", "count": "10", "freshness": "pw"},
        {"web": {"results": ROWS}},
    ),
    "jina": ("/q", "authorization", {}, {"data": ROWS}),
    "kimi": (
        "/coding/v1/search",
        "authorization",
        {"text_query": "q", "limit": 10, "timeout_seconds": 30},
        {"search_results": ROWS},
    ),
    "anthropic": (
        "/v1/messages",
        "x-api-key",
        {"model": "claude-haiku-4-5", "max_tokens": 4096},
        {
            "content": [
                {"type": "server_tool_use", "input": {"query": "asked"}},
                {"type": "web_search_tool_result", "content": ROWS},
                {"type": "text", "text": "A", "citations": [{**ROW, "cited_text": "said"}]},
            ]
        },
    ),
    "gemini": (
        "/v1beta/models/gemini-2.5-flash:streamGenerateContent",
        "x-goog-api-key",
        {"tools": [{"google_search": {}}]},
        events(
            {
                "candidates": [
                    {
                        "content": {"parts": [{"text": "A"}]},
                        "groundingMetadata": {
                            "webSearchQueries": ["asked"],
                            "groundingChunks": [
                                {"web": {"uri": row["url"], "title": row["title"]}} for row in ROWS
                            ],
                        },
                    }
                ]
            }
        ),
    ),
    "codex": (
        "/backend-api/codex/responses",
        "authorization",
        {"tool_choice": {"type": "web_search"}, "stream": True},
        events(
            {"type": "response.output_text.delta", "delta": "A"},
            {"type": "response.output_item.done", "item": {"content": [{"annotations": ROWS}]}},
            {"type": "response.completed", "response": {"id": "r"}},
        ),
    ),
    "zai": (
        "/api/mcp/web_search_prime/mcp",
        "authorization",
        {"method": "tools/call"},
        rpc(json.dumps(ROWS)),
    ),
    "exa": ("/search", "x-api-key", {"query": "q", "numResults": 10}, {"results": NAMED}),
    "parallel": (
        "/v1beta/search",
        "x-api-key",
        {"objective": "q", "search_queries": ["q"], "mode": "fast"},
        {"results": NAMED},
    ),
    "kagi": (
        "/api/v1/search",
        "authorization",
        {"workflow": "search", "limit": 10},
        {"data": {"search": ROWS, "direct_answer": [{"snippet": "A"}]}},
    ),
    "synthetic": ("/v2/search", "authorization", {"query": "q"}, {"results": NAMED}),
    "searxng": (
        "/search",
        "authorization",
        {"format": "json", "q": "q", "time_range": "month"},
        {"results": ROWS, "suggestions": ["more"]},
    ),
}


class Asked:
    """A search whose providers are one server on loopback."""

    def __init__(self, server: PagesServer, *names: str, **settings: Any) -> None:
        async def key(name: str) -> str | None:
            return f"key-{name}" if name in names else None

        access = WebAccess({}, key=key, has_key=lambda name: name in names)
        if "searxng" in names:
            settings["searxng"] = SearxngSettings(endpoint=server.url, token="key-searxng")
        self.hosts: list[str] = []

        def route(address: str) -> str:
            self.hosts.append(str(urlsplit(address).hostname))
            return (
                f"{server.url}{address.removeprefix('https://').removeprefix('http://').partition('/')[1]}"
                + (address.removeprefix("https://").removeprefix("http://").partition("/")[2])
            )

        self.search = WebSearch(Settings(**settings), access, route)

    def __call__(self, forced: str = "", **fields: Any) -> SearchOutcome:
        return asyncio.run(self.search.search(SearchQuery(query="q", **fields), forced))


def answer_of(name: str) -> tuple[int, Mapping[str, str], str]:
    answer = CASES[name][3]
    text = answer if isinstance(answer, str) else json.dumps(answer)
    kind = "text/event-stream" if isinstance(answer, str) else "application/json"
    return 200, {"content-type": kind}, text


def test_there_are_fourteen_providers() -> None:
    assert list(CASES) == list(SEARCH_KEYS)
    assert len(CASES) == 14


@pytest.mark.parametrize("name", CASES)
def test_a_provider_gets_its_request_and_its_answer_is_read(name: str) -> None:
    path, header, fields, _ = CASES[name]
    with PagesServer({path: answer_of(name)}) as server:
        outcome = Asked(server, name)(recency="week")
        [(method, target, headers, body)] = server.requests
    assert outcome.error == ""
    assert [(one.title, one.url) for one in outcome.response.sources] == [
        ("One", "https://a.example/1"),
        ("Two", "https://a.example/2"),
    ]
    assert headers[header] in (f"key-{name}", f"Bearer key-{name}")
    sent = (
        json.loads(body)
        if body
        else {key: value[0] for key, value in parse_qs(urlsplit(target).query).items()}
    )
    assert sent | fields == sent
    assert method == ("POST" if body else "GET")
    ignored = name not in ("tavily", "perplexity", "brave", "kagi", "searxng")
    assert any("ignores recency" in note for note in outcome.response.notes) == ignored
    assert "## Sources\n2 sources\n[1] One" in format_response(outcome.response)


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((401, {}, "no"), "authorization failed"),
        ((404, {}, "no"), "404"),
        ((429, {"retry-after": "60"}, "slow"), "429"),
        ((500, {}, "broken"), "500"),
        ((200, {"content-type": "application/json"}, '{"results": [{"ti'), "JSON"),
        ((200, {"content-type": "text/event-stream"}, 'data: {"a'), "JSON"),
    ],
)
def test_failures_are_results(name: str, answer: Any, message: str) -> None:
    with PagesServer({CASES[name][0]: answer}) as server:
        asked = Asked(server, name)
        error = asked().error
        if answer[0] == 429:
            asked()
            assert len(server.requests) == 1  # it rests
    assert message in error or (name == "zai" and "401" in error)
    assert "Traceback" not in error


@pytest.mark.parametrize("name", ["tavily", "anthropic", "zai"])
def test_a_hanging_provider_is_given_up(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_search, "SECONDS", 0.3)
    with PagesServer({CASES[name][0]: lambda handler: handler.rfile.read(1)}) as server:
        assert "did not answer" in Asked(server, name)().error


def test_an_abort_ends_the_search() -> None:
    with PagesServer({"/search": lambda handler: handler.rfile.read(1)}) as server:

        async def main() -> None:
            task = asyncio.create_task(Asked(server, "tavily").search.search(SearchQuery(query="q")))
            await until(lambda: bool(server.requests), 10, lambda: "no request")
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

        asyncio.run(main())


def test_the_next_provider_answers_if_one_fails() -> None:
    path = CASES["brave"][0]
    with PagesServer({path: answer_of("brave"), "/search": (500, {}, "")}) as server:
        asked = Asked(server, "tavily", "brave")
        assert asked().response.provider == "brave"
        assert asked.hosts == ["api.tavily.com", "api.search.brave.com"]


def test_the_preferred_provider_is_first_and_a_forced_one_is_alone() -> None:
    with PagesServer({}) as server:
        asked = Asked(server, "tavily", "brave", "kagi", providers=WebProviderSettings(web_search="kagi"))
        assert asked.search.names() == ["kagi", "tavily", "brave"]
        assert asked.search.names("brave") == ["brave"]
        assert asked.search.names("exa") == ["exa"]
        assert asked.search.names("gemini") == ["kagi", "tavily", "brave"]
        message = asked().error
    assert message.startswith("All web search providers failed: kagi: Kagi: it answered 404")


def test_exa_searches_without_a_key_if_chosen() -> None:
    text = "Title: One\nURL: https://a.example/1\nText: a\n\nTitle: Two\nURL: https://a.example/2\nText: b"
    with PagesServer({"/mcp": (200, {}, rpc(text))}) as server:
        asked = Asked(server, providers=WebProviderSettings(web_search="exa"))
        response = asked().response
        assert asked.hosts == ["mcp.exa.ai"]
    assert [one.url for one in response.sources] == ["https://a.example/1", "https://a.example/2"]


def test_zai_tries_other_names_of_the_arguments() -> None:
    answers = [events({"error": {"message": "Invalid params: query"}}), rpc(json.dumps(ROWS))]
    with PagesServer({}) as server:

        def page(handler: Any) -> None:
            text = answers.pop(0).encode()
            handler.send_response(200)
            handler.send_header("content-length", str(len(text)))
            handler.end_headers()
            handler.wfile.write(text)

        server.pages[CASES["zai"][0]] = page
        assert len(Asked(server, "zai")().response.sources) == 2
        sent = [json.loads(body)["params"]["arguments"] for *_, body in server.requests]
    assert sent == [{"query": "q", "count": 10}, {"search_query": "q", "count": 10}]


def test_no_provider_is_a_result_and_the_tool_is_not_offered() -> None:
    assert not has_search(Settings(), WebAccess({}))
    tool = WebSearchTool(Settings(), WebAccess({}))
    assert tool.effects(WebSearchParams("q"), Path("/")) == Effects()
    output = asyncio.run(tool.search(WebSearchParams("q"), ""))
    assert output.details.provider == "none"
    assert output.content[0].text == "Error: No web search provider configured."  # type: ignore[union-attr]


def test_effects_name_the_hosts_that_may_be_asked() -> None:
    access = WebAccess({}, has_key=lambda name: name in ("kagi", "anthropic"))
    assert has_search(Settings(), access)
    tool = WebSearchTool(Settings(), access)
    assert tool.effects(WebSearchParams("q"), Path("/")).network == ("api.anthropic.com", "kagi.com")


@pytest.mark.parametrize("name", ["tavily", "brave", "kimi", "parallel", "kagi", "searxng"])
def test_counts_are_clamped(name: str) -> None:
    least, most = {"tavily": (5, 20), "brave": (1, 20), "kimi": (1, 20), "searxng": (1, 20)}.get(
        name, (1, 40)
    )
    rows = [{**ROW, "url": f"https://a.example/{number}"} for number in range(60)]
    whole = json.dumps(
        {"results": rows, "search_results": rows, "web": {"results": rows}, "data": {"search": rows}}
    )
    with PagesServer({CASES[name][0]: (200, {"content-type": "application/json"}, whole)}) as server:
        asked = Asked(server, name)
        assert len(asked(limit=1).response.sources) == least
        assert len(asked(limit=1, breadth=400).response.sources) == most


def test_the_query_is_not_rewritten() -> None:
    with PagesServer({"/search": answer_of("tavily")}) as server:
        asyncio.run(Asked(server, "tavily").search.search(SearchQuery(query="rust 2021 edition")))
        assert json.loads(server.requests[0][3])["query"] == "rust 2021 edition"


def test_credentials_of_searxng_are_checked() -> None:
    for settings in (
        SearxngSettings("http://s", basic_username="a"),
        SearxngSettings("http://s", None, "a:b", "c"),
    ):
        search = WebSearch(Settings(searxng=settings), WebAccess({}))
        assert "searxng.basicUsername" in asyncio.run(search.search(SearchQuery(query="q"))).error
