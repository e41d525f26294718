"""Site handlers: each page asks its site's API, and the answer becomes Markdown."""

# ruff: noqa: E501 - an answer on a line

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import json

from tau.backends.web import site_handlers
from tau.backends.web.addresses import WebError, WebUrl, parse_web_url
from tau.backends.web.client import GuardedRequest, WebClient, WebResponse
from tau.backends.web.worker import PageWorker
from tau.base.run import LocalRunner

GITHUB = "api.github.com/repos/a/b"
WATCH_PAGE = "www.youtube.com/watch?v=abcdefghijk"


def watch_page(*tracks: Mapping[str, Any]) -> str:
    """A watch page as its player reads it, with these caption tracks."""
    player = {
        "captions": {"playerCaptionsTracklistRenderer": {"captionTracks": tracks}},
        "videoDetails": {"lengthSeconds": "90", "shortDescription": "About rain"},
    }
    data = json.encode(player).decode()
    return f"<script>var ytInitialPlayerResponse = {data};var meta = document;</script>"


# The address of a page, what the API answers by address, and what the text must have.
CASES: dict[str, tuple[str, Mapping[str, Any], tuple[str, ...]]] = {
    "github-file": (
        "github.com/a/b/blob/main/x/y.json",
        {"raw.githubusercontent.com/a/b/main/x/y.json": '{"k": 1}'},
        ('{"k": 1}',),
    ),
    "github-issue": (
        "github.com/a/b/pull/7",
        {
            f"{GITHUB}/issues/7": {
                "title": "Broken",
                "number": 7,
                "state": "open",
                "labels": [{"name": "bug"}],
                "body": "It *fails*",
            },
            f"{GITHUB}/issues/7/comments?per_page=50": [
                {"user": {"login": "eve"}, "created_at": "2026-01-02T03:04:05Z", "body": "Same"}
            ],
        },
        ("# Broken (#7)", "Labels: bug", "It *fails*", "## eve, 2026-01-02 03:04", "Same"),
    ),
    "github-gist": (
        "gist.github.com/eve/0123456789abcdef0123",
        {
            "api.github.com/gists/0123456789abcdef0123": {
                "files": {"a.py": {"filename": "a.py", "content": "x = 1"}}
            }
        },
        ("## a.py", "```\nx = 1\n```"),
    ),
    "github": (
        "github.com/a/b",
        {
            GITHUB: {"full_name": "a/b", "stargazers_count": 5, "topics": ["x", "y"]},
            "raw.githubusercontent.com/a/b/HEAD/README.md": "[docs] Read me",
        },
        ("# a/b", "Stars: 5", "Topics: x, y", "[docs] Read me"),
    ),
    "gitlab": (
        "gitlab.com/a/b/c",
        {"gitlab.com/api/v4/projects/a%2Fb%2Fc": {"id": 1, "name_with_namespace": "A / C"}},
        ("# A / C",),
    ),
    "npm": (
        "www.npmjs.com/package/@a/b",
        {
            "registry.npmjs.org/%40a%2Fb": {
                "name": "@a/b",
                "dist-tags": {"latest": "1.2.3"},
                "license": "MIT",
                "readme": "# Use",
            }
        },
        ("# @a/b 1.2.3", "License: MIT", "# Use"),
    ),
    "pypi": (
        "pypi.org/project/x/",
        {"pypi.org/pypi/x/json": {"info": {"name": "x", "version": "2", "description": "Long"}}},
        ("# x 2", "Long"),
    ),
    "crates": (
        "crates.io/crates/x",
        {
            "crates.io/api/v1/crates/x": {
                "crate": {"name": "x", "max_stable_version": "1"},
                "versions": [{"num": "1", "created_at": "2026-01-01T00:00:00Z"}],
            }
        },
        ("# x 1", "- 1 (2026-01-01 00:00)"),
    ),
    "docs-rs": (
        "docs.rs/x/latest",
        {
            "crates.io/api/v1/crates/x": {"crate": {"name": "x", "max_stable_version": "1"}},
            "crates.io/api/v1/crates/x/1/readme": "<h2>Use</h2><p>Say <code>x()</code></p>",
        },
        ("# x 1", "## Use", "Say `x()`"),
    ),
    "vscode-marketplace": (
        "marketplace.visualstudio.com/items?itemName=a.b",
        {
            "marketplace.visualstudio.com/_apis/public/gallery/extensionquery": {
                "results": [
                    {
                        "extensions": [
                            {
                                "extensionName": "b",
                                "displayName": "B",
                                "publisher": {"displayName": "A"},
                                "statistics": [{"statisticName": "install", "value": 5.0}],
                                "versions": [{"version": "1.2", "lastUpdated": "2026-01-01T00:00:00Z"}],
                            }
                        ]
                    }
                ]
            }
        },
        ("# B", "Publisher: A", "- install: 5", "- 1.2 (2026-01-01 00:00)"),
    ),
    "w3c": (
        "www.w3.org/standards/history/x-1",
        {
            "api.w3.org/specifications/x-1": {"title": "X", "description": "<p>About <b>x</b></p>"},
            "api.w3.org/specifications/x-1/versions?embed=1": {
                "_embedded": {"version-history": [{"date": "2026-01-01", "status": "Draft", "uri": "u"}]}
            },
        },
        ("# X", "About **x**", "- 2026-01-01: Draft, u"),
    ),
    "discourse": (
        "forum.example.org/t/a-topic/7/3",
        {
            "forum.example.org/t/7.json": {
                "title": "A topic",
                "post_stream": {"posts": [{"username": "ann", "cooked": "<p>Say <em>hi</em></p>"}]},
            }
        },
        ("# A topic", "## @ann", "Say *hi*"),
    ),
    "mastodon": (
        "social.example/@ann/109876543210987654",
        {
            "social.example/api/v1/statuses/109876543210987654": {
                "account": {"acct": "ann", "display_name": "Ann"},
                "content": "<p>Hello <a href='https://x.example/'>you</a></p>",
            },
            "social.example/api/v1/statuses/109876543210987654/context": {
                "descendants": [{"account": {"acct": "bob@b.example"}, "content": "<p>Hi</p>"}]
            },
        },
        ("# Ann (@ann)", "Hello [you](https://x.example/)", "## @bob@b.example"),
    ),
    "rubygems": (
        "rubygems.org/gems/x",
        {
            "rubygems.org/api/v1/gems/x.json": {
                "name": "x",
                "version": "1",
                "dependencies": {"runtime": [{"name": "y", "requirements": ">= 2"}]},
            }
        },
        ("# x 1", "- y >= 2"),
    ),
    "packagist": (
        "packagist.org/packages/a/b",
        {
            "packagist.org/packages/a/b.json": {
                "package": {"name": "a/b", "versions": {"1.0": {"version": "1.0"}}}
            }
        },
        ("# a/b", "Latest: 1.0"),
    ),
    "hex": (
        "hex.pm/packages/x",
        {"hex.pm/api/packages/x": {"name": "x", "latest_stable_version": "1", "meta": {"licenses": ["MIT"]}}},
        ("# x 1", "License: MIT"),
    ),
    "pub": (
        "pub.dev/packages/x",
        {
            "pub.dev/api/packages/x": {
                "name": "x",
                "latest": {"version": "1", "pubspec": {"description": "D"}},
            }
        },
        ("# x 1", "D"),
    ),
    "nuget": (
        "www.nuget.org/packages/X",
        {
            "azuresearch-usnc.nuget.org/query?q=packageid:X&prerelease=false": {
                "data": [{"id": "X", "version": "1", "authors": ["E"]}]
            }
        },
        ("# X 1", "Authors: E"),
    ),
    "docker-hub": (
        "hub.docker.com/r/a/b",
        {"hub.docker.com/v2/repositories/a/b": {"name": "b", "namespace": "a", "full_description": "Run it"}},
        ("# a/b", "Run it"),
    ),
    "homebrew": (
        "formulae.brew.sh/formula/x",
        {"formulae.brew.sh/api/formula/x.json": {"name": "x", "versions": {"stable": "1"}}},
        ("# x 1", "brew install x"),
    ),
    "aur": (
        "aur.archlinux.org/packages/x",
        {
            "aur.archlinux.org/rpc/v5/info/x": {
                "results": [{"Name": "x", "Version": "1-1", "LastModified": 0}]
            }
        },
        ("# x 1-1",),
    ),
    "terraform": (
        "registry.terraform.io/modules/a/b/aws/latest",
        {
            "registry.terraform.io/v1/modules/a/b/aws": {
                "namespace": "a",
                "name": "b",
                "provider": "aws",
                "version": "1",
                "root": {"readme": "# R"},
            }
        },
        ("# a/b/aws 1", "# R"),
    ),
    "open-vsx": (
        "open-vsx.org/extension/a/b",
        {"open-vsx.org/api/a/b": {"name": "b", "displayName": "B", "version": "1"}},
        ("# B 1",),
    ),
    "huggingface": (
        "huggingface.co/a/b",
        {
            "huggingface.co/api/models/a/b": {"id": "a/b", "downloads": 9},
            "huggingface.co/a/b/raw/main/README.md": "---\nx: y",
        },
        ("# a/b", "Downloads: 9", "x: y"),
    ),
    "rfc": (
        "www.rfc-editor.org/rfc/rfc9110.html",
        {"www.rfc-editor.org/rfc/rfc9110.txt": "HTTP Semantics"},
        ("HTTP Semantics",),
    ),
    "stackexchange": (
        "stackoverflow.com/questions/11/why",
        {
            "api.stackexchange.com/2.3/questions/11?site=stackoverflow&filter=withbody": {
                "items": [
                    {
                        "title": "Why?",
                        "score": 3,
                        "body": "<p>Say <code>x</code></p><pre><code>a\n  b</code></pre>",
                    }
                ]
            },
            "api.stackexchange.com/2.3/questions/11/answers?site=stackoverflow&filter=withbody&sort=votes": {
                "items": [{"owner": {"display_name": "eve"}, "score": 8, "body": "<ul><li>Because</li></ul>"}]
            },
        },
        ("# Why?", "Say `x`", "```\na\n  b\n```", "## Answer by eve, score 8", "- Because"),
    ),
    "hacker-news": (
        "news.ycombinator.com/item?id=5",
        {
            "hn.algolia.com/api/v1/items/5": {
                "id": 5,
                "title": "T",
                "points": 9,
                "children": [
                    {"author": "eve", "text": "<p>Yes</p>", "children": [{"author": "bob", "text": "No"}]}
                ],
            }
        },
        ("# T", "## eve", "Yes", "Reply of bob: No"),
    ),
    "lobsters": (
        "lobste.rs/s/abc/title",
        {
            "lobste.rs/s/abc.json": {
                "title": "T",
                "comments": [{"commenting_user": "eve", "score": 2, "comment": "<p>Yes</p>"}],
            }
        },
        ("# T", "## eve, score 2", "Yes"),
    ),
    "bluesky": (
        "bsky.app/profile/eve.example/post/3k",
        {
            "public.api.bsky.app/xrpc/app.bsky.feed.getPostThread?uri=at://eve.example/app.bsky.feed.post/3k": {
                "thread": {
                    "post": {
                        "uri": "at://x",
                        "author": {"handle": "eve.example", "displayName": "Eve"},
                        "record": {"text": "Hello"},
                    }
                }
            }
        },
        ("# Eve (@eve.example)", "Hello"),
    ),
    "arxiv": (
        "arxiv.org/abs/2401.00001",
        {
            "export.arxiv.org/api/query?id_list=2401.00001": '<feed xmlns="http://www.w3.org/2005/Atom"><entry><title>On\n X</title><summary>We show</summary><author><name>Eve</name></author></entry></feed>'
        },
        ("# On X", "Eve", "We show"),
    ),
    "crossref": (
        "doi.org/10.1000/xyz",
        {
            "api.crossref.org/works/10.1000%2Fxyz": {
                "message": {"title": ["T"], "DOI": "10.1000/xyz", "author": [{"given": "E", "family": "V"}]}
            }
        },
        ("# T", "- E V"),
    ),
    "semantic-scholar": (
        f"www.semanticscholar.org/paper/T/{'a' * 40}",
        {
            f"api.semanticscholar.org/graph/v1/paper/{'a' * 40}?fields=title,abstract,year,venue,authors,citationCount,externalIds,openAccessPdf": {
                "title": "T",
                "year": 2020,
                "authors": [{"name": "E"}],
            }
        },
        ("# T", "Year: 2020", "- E"),
    ),
    "wikipedia": (
        "en.wikipedia.org/wiki/Rain_(water)",
        {
            "en.wikipedia.org/api/rest_v1/page/html/Rain_%28water%29": "<section><h1>Rain</h1><p>Falls <a href='/wiki/Down'>down</a></p></section>"
        },
        ("# Rain", "[down](https://en.wikipedia.org/wiki/Down)"),
    ),
    "osv": (
        "osv.dev/vulnerability/GHSA-1",
        {
            "api.osv.dev/v1/vulns/GHSA-1": {
                "id": "GHSA-1",
                "aliases": ["CVE-1"],
                "affected": [{"package": {"ecosystem": "PyPI", "name": "x"}, "versions": ["1", "2"]}],
            }
        },
        ("# GHSA-1", "- PyPI x: 1, 2"),
    ),
    "nvd": (
        "nvd.nist.gov/vuln/detail/CVE-2026-1",
        {
            "services.nvd.nist.gov/rest/json/cves/2.0?cveId=CVE-2026-1": {
                "vulnerabilities": [
                    {
                        "cve": {
                            "id": "CVE-2026-1",
                            "descriptions": [{"value": "Bad"}],
                            "references": [{"url": "https://r.example"}],
                        }
                    }
                ]
            }
        },
        ("# CVE-2026-1", "Bad", "- https://r.example"),
    ),
    "wikidata": (
        "www.wikidata.org/wiki/Q42",
        {
            "www.wikidata.org/wiki/Special:EntityData/Q42.json": {
                "entities": {
                    "Q42": {
                        "id": "Q42",
                        "type": "item",
                        "labels": {"en": {"value": "Ada"}},
                        "descriptions": {"en": {"value": "a writer"}},
                        "aliases": {"en": [{"value": "A."}]},
                    }
                }
            }
        },
        ("# Ada (Q42)", "a writer", "- A."),
    ),
    "pubmed": (
        "pubmed.ncbi.nlm.nih.gov/123/",
        {
            "eutils.ncbi.nlm.nih.gov/entrez/eutils/efetch.fcgi?db=pubmed&id=123&rettype=abstract&retmode=text": "1. J. A study of rain."
        },
        ("PubMed 123", "A study of rain."),
    ),
    "reddit": (
        "old.reddit.com/r/python/comments/1abc/a_title/",
        {
            "www.reddit.com/r/python/comments/1abc.json?limit=40&raw_json=1": [
                {
                    "data": {
                        "children": [
                            {"data": {"title": "A title", "author": "eve", "score": 5, "selftext": "Why?"}}
                        ]
                    }
                },
                {"data": {"children": [{"data": {"author": "bob", "score": 2, "body": "Because."}}]}},
            ]
        },
        ("# A title", "r/python, by eve", "Why?", "## bob, score 2", "Because."),
    ),
    "maven": (
        "central.sonatype.com/artifact/org.a/b-core/overview",
        {
            "search.maven.org/solrsearch/select?q=g:org.a+AND+a:b-core&core=gav&rows=20&wt=json": {
                "response": {"docs": [{"a": "b-core", "v": "2.1", "p": "jar"}, {"a": "b-core", "v": "2.0"}]}
            }
        },
        ("# org.a:b-core 2.1", "Packaging: jar", "- 2.0"),
    ),
    "go": (
        "pkg.go.dev/github.com/a/b@v1.2.0",
        {
            "proxy.golang.org/github.com/a/b/@latest": {"Version": "v1.3.0", "Time": "2026-01-02T03:04:05Z"},
            "proxy.golang.org/github.com/a/b/@v/v1.3.0.mod": "module github.com/a/b",
        },
        ("# github.com/a/b v1.3.0", "Published: 2026-01-02 03:04", "module github.com/a/b"),
    ),
    "mdn": (
        "developer.mozilla.org/en-US/docs/Web/API/fetch",
        {
            "developer.mozilla.org/en-US/docs/Web/API/fetch/index.json": {
                "doc": {
                    "title": "fetch()",
                    "summary": "Fetches.",
                    "body": [{"value": {"title": "Syntax", "content": "<pre>fetch(x)</pre>"}}],
                }
            }
        },
        ("# fetch()", "Fetches.", "## Syntax", "fetch(x)"),
    ),
    "spdx": (
        "spdx.org/licenses/MIT.html",
        {
            "spdx.org/licenses/MIT.json": {
                "licenseId": "MIT",
                "name": "MIT License",
                "isOsiApproved": True,
                "licenseText": "Permission is granted",
            }
        },
        ("# MIT License (MIT)", "OSI approved: True", "Permission is granted"),
    ),
    "repology": (
        "repology.org/project/ripgrep/versions",
        {
            "repology.org/api/v1/project/ripgrep": [
                {"repo": "debian_12", "version": "13.0", "status": "outdated", "summary": "Searches"}
            ]
        },
        ("# ripgrep", "Searches", "- debian_12: 13.0 (outdated)"),
    ),
    "youtube": (
        "www.youtube.com/watch?t=3&v=abcdefghijk",
        {
            "www.youtube.com/oembed?format=json&url=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3Dabcdefghijk": {
                "title": "A talk",
                "author_name": "Eve",
            },
            WATCH_PAGE: watch_page(
                {"baseUrl": "/api/timedtext?lang=en&kind=asr", "languageCode": "en", "kind": "asr"},
                {"baseUrl": "/api/timedtext?lang=de", "languageCode": "de"},
                {"baseUrl": "/api/timedtext?lang=en&fmt=srv3", "languageCode": "en-GB"},
            ),
            "www.youtube.com/api/timedtext?lang=en&fmt=json3": {
                "wireMagic": "pb3",
                "events": [
                    {"tStartMs": 0, "dDurationMs": 900, "id": 1},
                    {"tStartMs": 80, "segs": [{"utf8": "Hello"}, {"utf8": " everybody", "tOffsetMs": 40}]},
                    {"tStartMs": 29_000, "segs": [{"utf8": "\n"}]},
                    {"tStartMs": 29_500, "segs": [{"utf8": "and\nwelcome."}]},
                    {"tStartMs": 75_000, "segs": [{"utf8": "Questions?"}]},
                ],
            },
        },
        (
            "# A talk",
            "Channel: Eve",
            "Seconds: 90\n\nAbout rain",
            "## Transcript (en-GB)\n\n[0:00] Hello everybody and welcome.\n\n[1:00] Questions?\n",
        ),
    ),
    "readthedocs": (
        "readthedocs.org/projects/pip/",
        {
            "readthedocs.org/api/v3/projects/pip/": {
                "slug": "pip",
                "name": "pip",
                "language": {"name": "English"},
                "urls": {"documentation": "https://pip.pypa.io"},
            }
        },
        ("# pip", "Language: English", "Documentation: https://pip.pypa.io"),
    ),
}


REQUEST = GuardedRequest()


class Recorded(WebClient):
    """Answers from a table, by address without its scheme."""

    def __init__(self, answers: Mapping[str, Any]) -> None:
        super().__init__(environ={})
        self._answers = answers
        self.hosts: list[str] = []

    async def fetch(
        self, url: WebUrl, request: GuardedRequest = REQUEST, *, seconds: float = 1
    ) -> WebResponse:
        self.hosts.append(url.host)
        answer = self._answers.get(str(url).removeprefix("https://"))
        is_text = isinstance(answer, str)
        kind = (
            ("application/atom+xml" if "<feed" in answer else "text/plain") if is_text else "application/json"
        )
        return WebResponse(
            url=url,
            status=404 if answer is None else 200,
            headers={"content-type": kind},
            body=answer.encode() if is_text else json.encode(answer),
        )


def read(address: str, answers: Mapping[str, Any]) -> tuple[str, list[str], Recorded]:
    async def main() -> tuple[str, list[str], Recorded]:
        url, runner, client = parse_web_url(f"https://{address}"), LocalRunner(), Recorded(answers)
        site = site_handlers.find_site(url)
        assert site is not None
        worker = PageWorker(runner)
        try:
            return *await site_handlers.read_site(site, url, client, worker), client
        finally:
            await worker.close()
            runner.close()

    return asyncio.run(main())


def test_each_site_has_a_case() -> None:
    assert sorted(CASES) == sorted(site.name for site in site_handlers.load_sites())


@pytest.mark.parametrize("name", CASES)
def test_a_page_is_made_of_what_the_api_says(name: str) -> None:
    address, answers, expected = CASES[name]
    url = parse_web_url(f"https://{address}")
    site = site_handlers.find_site(url)
    assert site is not None and site.name == name
    text, notes, client = read(address, answers)
    assert notes == []
    for part in expected:
        assert part in text
    assert "{" not in text.replace('{"k": 1}', "")
    assert "tauseparator" not in text
    assert set(client.hosts) <= {url.host, *site_handlers.site_hosts(url)}  # effects name them all


@pytest.mark.parametrize("name", CASES)
def test_a_failing_api_is_an_error(name: str) -> None:
    with pytest.raises(WebError, match="answered 404"):
        read(CASES[name][0], {})


@pytest.mark.parametrize(
    "address", ["github.com/a/b/wiki", "pypi.org/", "example.com/project/x", "github.com:8443/a/b"]
)
def test_other_pages_have_no_handler(address: str) -> None:
    assert site_handlers.find_site(parse_web_url(f"https://{address}")) is None
