"""`tau search` and `tau read` against a server on this machine."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.errors import UsageError
from tau.cli import search_command, tool_commands
from tests.backends.web.pages_server import PagesServer

RESULTS = {
    "results": [
        {"title": "One", "url": "https://a.example/", "content": "about one"},
        {"title": "One again", "url": "https://a.example/"},
        {"title": "Two\x1b[31m", "url": "https://b.example/"},
    ],
    "suggestions": ["three"],
}
PAGE = "<title>Rain</title><h1>Rain</h1><p>It rains.</p><style>.h{display:none}</style><i class=h>evil</i>"


@pytest.fixture(autouse=True)
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PagesServer]:
    kind = {"content-type": "application/json"}
    with PagesServer({"/search": (200, kind, json.dumps(RESULTS)), "/rain": PAGE}) as running:
        home = Path(os.environ["TAU_HOME"])
        home.mkdir(parents=True)
        (home / "settings.json").write_text(json.dumps({"fetch": {"allowPrivate": ["127.0.0.1"]}}))
        monkeypatch.setenv("SEARXNG_ENDPOINT", running.url)
        monkeypatch.chdir(tmp_path)
        yield running


def test_a_search_prints_its_sources(server: PagesServer, capfd: pytest.CaptureFixture[str]) -> None:
    assert search_command.run(["rain", "2024", "--recency", "year", "--limit", "5"]) == 0
    text = capfd.readouterr().out
    assert "2 sources\n[1] One\n    https://a.example/\n    about one\n[2] Two\n" in text
    assert "## Related\n- three" in text
    assert server.requests[0][1] == "/search?format=json&q=rain+2024&time_range=year"


def test_a_search_is_compact_or_data(capfd: pytest.CaptureFixture[str]) -> None:
    assert search_command.run(["rain", "--compact"]) == 0
    text = capfd.readouterr().out
    assert text.startswith("https://a.example/  One\nhttps://b.example/  Two")
    assert "\x1b" not in text
    assert search_command.run(["rain", "--json"]) == 0
    data = json.loads(capfd.readouterr().out)
    assert data["provider"] == "searxng" and len(data["sources"]) == 2


def test_providers_say_what_they_need(capfd: pytest.CaptureFixture[str]) -> None:
    assert search_command.run(["--providers"]) == 0
    lines = capfd.readouterr().out.splitlines()
    assert len(lines) == 14
    assert "searxng     available" in lines
    assert "tavily      no: set TAVILY_API_KEY" in lines


def test_a_missing_provider_is_replaced_with_a_word(capfd: pytest.CaptureFixture[str]) -> None:
    assert search_command.run(["rain", "--provider", "tavily"]) == 0
    out, err = capfd.readouterr()
    assert "tavily is not available (set TAVILY_API_KEY); trying the others." in err
    assert "[1] One" in out


def test_a_failed_search_has_exit_status_1(server: PagesServer, capfd: pytest.CaptureFixture[str]) -> None:
    server.pages["/search"] = (500, {}, "no")
    assert search_command.run(["rain"]) == 1
    assert capfd.readouterr().out.startswith("Error: ")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["rain", "--provider", "nix"], 'Unknown provider "nix"; use auto, tavily'),
        (["rain", "--recency", "eon"], "--recency is day, week, month or year"),
        (["rain", "--limit", "many"], "--limit a number"),
        ([], "Usage: tau search QUERY"),
    ],
)
def test_wrong_words_of_a_search_are_refused(words: list[str], problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        search_command.run(words)


def test_a_page_is_read(server: PagesServer, capfd: pytest.CaptureFixture[str]) -> None:
    assert tool_commands.run("read", [f"{server.url}/rain"]) == 0
    text = capfd.readouterr().out
    assert "Notes: 1 hidden text dropped\n\n---\n\n# Rain\n\nIt rains.\n" in text
    assert tool_commands.run("read", [f"{server.url}/rain", "--raw"]) == 0
    assert "class=h>evil" in capfd.readouterr().out
    assert tool_commands.run("read", [f"{server.url}/rain:1-1", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["details"]["method"] == "html"
