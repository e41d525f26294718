"""repo_view and the searches, through the real gh."""

from collections.abc import Callable
from typing import Any

import pytest

from tau.base.errors import ToolError
from tests.backends.github.conftest import Use, said
from tests.support.fake_github import FakeGithub


def test_repo_view_lists_the_facts_of_a_repository(github: FakeGithub, use: Use) -> None:
    output = use("repo_view", repo="octo/app")
    text = said(output)
    assert "# octo/app" in text
    assert "Description: An app <!-- for whom -->" in text
    assert "Default branch: main" in text and "Stars: 42" in text and "Topics: cli" in text
    assert output.details.meta.source.value == "https://github.com/octo/app"


def test_repo_view_uses_the_checkout_without_a_name(github: FakeGithub, use: Use) -> None:
    assert "# octo/app" in said(use("repo_view"))


def test_an_issue_search_asks_about_the_repository_of_the_checkout(github: FakeGithub, use: Use) -> None:
    item = {
        "number": 12,
        "title": "Crash\x1b[31m on start",
        "state": "open",
        "user": {"login": "ann"},
        "labels": [{"name": "bug"}],
        "html_url": "https://github.com/octo/app/issues/12",
        "repository_url": "https://api.github.com/repos/octo/app",
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-02T00:00:00Z",
    }
    github.rest["/search/issues"] = lambda call: {"total_count": 57, "items": [item]}
    text = said(
        use("search_issues", query="crash", since="2026-01-01", until="2026-02-01", dateField="updated")
    )
    call = github.calls[-1]
    assert call.query == {
        "q": "crash updated:2026-01-01..2026-02-01 repo:octo/app is:issue",
        "per_page": "10",
    }
    assert "Results: 1 of 57" in text and "- #12 Crash" in text and "\x1b" not in text
    assert "octo/app · open · by ann · bug" in text


@pytest.mark.parametrize("scope", ["repo:a/b", "org:a", "user:a", "owner:a"])
def test_a_scope_in_the_query_replaces_the_repository_of_the_checkout(
    scope: str, github: FakeGithub, use: Use
) -> None:
    github.rest["/search/issues"] = lambda call: {"total_count": 0, "items": []}
    use("search_prs", query=f"x {scope}", limit=999)
    assert github.calls[-1].query == {"q": f"x {scope} is:pr", "per_page": "50"}


def test_a_code_search_shows_the_first_matching_line(github: FakeGithub, use: Use) -> None:
    item = {
        "path": "src/a.py",
        "sha": "0123456789abcdef",
        "html_url": "https://github.com/octo/app/blob/main/src/a.py",
        "repository": {"full_name": "octo/app"},
        "text_matches": [{"fragment": "\n\n  def   load():\n    pass"}],
    }
    github.rest["/search/code"] = lambda call: {"total_count": 1, "items": [item]}
    text = said(use("search_code", query="load", repo="octo/app"))
    assert "- src/a.py" in text and "octo/app · 0123456789ab" in text and "> def load():" in text


def test_commits_and_repositories_are_searched_by_their_own_dates(github: FakeGithub, use: Use) -> None:
    commit = {"sha": "abcdef0123456789", "commit": {"message": "Fix it\n\nLong", "author": {"name": "Bo"}}}
    github.rest["/search/commits"] = lambda call: {"total_count": 1, "items": [commit]}
    github.rest["/search/repositories"] = lambda call: {"total_count": 0, "items": []}
    assert "- abcdef012345 Fix it" in said(use("search_commits", since="2026-01-01", dateField="created"))
    assert github.calls[-1].query["q"] == "committer-date:>=2026-01-01 repo:octo/app"
    use("search_repos", until="2026-01-01", dateField="updated", repo="ignored/here")
    assert github.calls[-1].query["q"] == "pushed:<=2026-01-01"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"op": "search_code"}, "needs a `query`"),
        ({"op": "search_code", "query": "a", "since": "3d"}, "knows no dates"),
        ({"op": "search_repos"}, "needs a `query`, `since` or `until`"),
        ({"op": "search_issues", "limit": 0}, "`limit` must be a number above 0"),
        ({"op": "search_issues", "since": "soon"}, '`since` is "soon"; write 12h, 3d'),
        ({"op": "repo_view", "repo": "no"}, '"no" is not a repository'),
        ({"op": "repo_view", "repo": "a/../b"}, "is not a repository"),
        ({"op": "repo_view", "branch": "--web"}, '`branch` cannot be "--web"'),
        ({"op": "run_watch", "run": "x"}, '`run` is "x"; write a run id'),
        ({"op": "run_watch", "tail": -1}, "`tail` must be a number above 0"),
        ({"op": "pr_create"}, "needs a `title`, or `fill`"),
        ({"op": "pr_create", "fill": True, "body": ""}, "do not pass them too"),
        ({"op": "pr_checkout", "pr": "--repo=x/y"}, "`pr` cannot be"),
    ],
)
def test_gh_does_not_run_for_calls_that_cannot_work(
    arguments: dict[str, Any], message: str, github: FakeGithub, use: Use
) -> None:
    with pytest.raises(ToolError, match=message):
        use(**arguments)
    assert not github.calls


def test_a_query_too_long_for_the_system_is_an_error_for_the_model(github: FakeGithub, use: Use) -> None:
    with pytest.raises(ToolError, match="GitHub CLI cannot be started: Argument list too long"):
        use("search_issues", query="a" * 300_000, repo="octo/app")


def test_an_unknown_field_is_dropped_and_remembered_for_this_gh(
    github: FakeGithub, use: Use, monkeypatch: pytest.MonkeyPatch
) -> None:
    fields = ("nameWithOwner", "inventedLater")
    monkeypatch.setattr("tau.coding.github.operations.REPO_FIELDS", fields)
    assert "# octo/app" in said(use("repo_view", repo="octo/app"))
    assert "# octo/app" in said(use("repo_view", repo="octo/app"))


@pytest.mark.parametrize(
    ("status", "message", "expected"),
    [
        (401, "Bad credentials", "GitHub CLI is not authenticated"),
        (404, "Not Found", "Not Found"),
        (500, "Oops", "HTTP 500"),
    ],
)
def test_failures_become_sentences(
    status: int, message: str, expected: str, github: FakeGithub, use: Use, reply: Callable[..., Any]
) -> None:
    github.rest["/search/.*"] = lambda call: reply({"message": message}, status)
    with pytest.raises(ToolError, match=expected):
        use("search_issues", query="x", repo="octo/app")
