"""Searches of issues, pull requests, code, commits and repositories: the query, and the list of results."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, TypeAlias

from msgspec import Struct

from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened

SearchKind: TypeAlias = Literal["issues", "prs", "code", "commits", "repos"]

SHORT_SHA = 12
MAX_LINE_CHARS = 300
_ENDPOINTS: dict[SearchKind, str] = {
    "issues": "/search/issues",
    "prs": "/search/issues",
    "code": "/search/code",
    "commits": "/search/commits",
    "repos": "/search/repositories",
}
TITLES: dict[SearchKind, str] = {
    "issues": "issues",
    "prs": "pull requests",
    "code": "code",
    "commits": "commits",
    "repos": "repositories",
}
_TEXT_MATCH = ("-H", "Accept: application/vnd.github.text-match+json")
_DURATION = re.compile(r"(\d{1,6})(h|d|w|mo|y)")
_DAYS = {"d": 1, "w": 7, "mo": 30, "y": 365}
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_SCOPE = re.compile(r"(?:^|\s)(?:repo|org|user|owner):", re.IGNORECASE)


class GithubSearch(Struct, frozen=True, kw_only=True):
    """What a search asks for; `repo` is `owner/name`, or "" for all of GitHub."""

    kind: SearchKind
    query: str
    repo: str = ""
    since: str = ""
    until: str = ""
    date_field: str = "created"
    limit: int

    def text(self, now: datetime) -> str:
        """The query as GitHub gets it. Raises ToolError."""
        kinds = {"issues": "is:issue", "prs": "is:pr"}
        repo = f"repo:{self.repo}" if self.repo else ""
        parts = (self.query.strip(), self._dates(now), repo, kinds.get(self.kind, ""))
        return " ".join(part for part in parts if part)

    def words(self, now: datetime) -> tuple[str, ...]:
        """The arguments of gh. Raises ToolError."""
        query = ("-f", f"q={self.text(now)}", "-F", f"per_page={self.limit}")
        accept = _TEXT_MATCH if self.kind == "code" else ()
        return ("api", "-X", "GET", _ENDPOINTS[self.kind], *query, *accept)

    def _dates(self, now: datetime) -> str:
        since, until = (
            "" if not text else parse_date(name, text, now)
            for name, text in (("since", self.since), ("until", self.until))
        )
        if not since and not until:
            return ""
        if self.kind == "commits":
            field = "committer-date"
        else:
            field = "pushed" if self.kind == "repos" and self.date_field == "updated" else self.date_field
        if since and until:
            return f"{field}:{since}..{until}"
        return f"{field}:>={since}" if since else f"{field}:<={until}"


def has_scope(query: str) -> bool:
    """Whether a query says where to search."""
    return _SCOPE.search(query) is not None


def parse_date(name: str, text: str, now: datetime) -> str:
    """A bound such as 3d, 2026-01-31 or an ISO time, as GitHub writes it. Raises ToolError."""
    words = text.strip().lower()
    try:
        if found := _DURATION.fullmatch(words):
            amount, unit = int(found[1]), found[2]
            if unit == "h":
                return f"{now - timedelta(hours=amount):%Y-%m-%dT%H:%M:%SZ}"
            return f"{now - timedelta(days=amount * _DAYS[unit]):%Y-%m-%d}"
        when = datetime.fromisoformat(text.strip())
        if _DAY.fullmatch(words):
            return f"{when:%Y-%m-%d}"
        return f"{(when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (ValueError, OverflowError):
        shown = shortened(clean_line(text), 60)
        forms = "12h, 3d, 2w, 2mo, 1y, YYYY-MM-DD or an ISO time"
        raise ToolError(f'`{name}` is "{shown}"; write {forms}.') from None


class _Login(Struct, frozen=True):
    login: str = ""


class _Label(Struct, frozen=True):
    name: str = ""


class _Person(Struct, frozen=True):
    name: str = ""
    date: str = ""


class _Commit(Struct, frozen=True):
    message: str = ""
    author: _Person | None = None


class _Fragment(Struct, frozen=True):
    fragment: str = ""


class _Repository(Struct, frozen=True):
    full_name: str = ""


class SearchItem(Struct, frozen=True):
    """A result of any search; each kind fills its own fields."""

    html_url: str = ""
    number: int = 0
    title: str = ""
    state: str = ""
    user: _Login | None = None
    labels: list[_Label] = []
    created_at: str = ""
    updated_at: str = ""
    path: str = ""
    sha: str = ""
    repository: _Repository | None = None
    repository_url: str = ""
    text_matches: list[_Fragment] = []
    commit: _Commit | None = None
    author: _Login | None = None
    full_name: str = ""
    description: str | None = None
    language: str | None = None
    stargazers_count: int = 0
    forks_count: int = 0
    open_issues_count: int = 0
    visibility: str = ""
    archived: bool = False
    fork: bool = False


class SearchResults(Struct, frozen=True):
    total_count: int = 0
    incomplete_results: bool = False
    items: list[SearchItem] = []


def flat(text: object) -> str:
    """Text of strangers on one line."""
    return shortened(clean_line(str(text or "")), MAX_LINE_CHARS)


def format_results(search: GithubSearch, found: SearchResults, query: str) -> str:
    """The list for the model."""
    items = found.items[: search.limit]
    count = str(len(items)) if found.total_count <= len(items) else f"{len(items)} of {found.total_count:,}"
    rows = [f"# GitHub {TITLES[search.kind]} search", "", f"Query: {flat(query)}"]
    rows += [f"Repository: {search.repo}"] if search.repo else []
    rows += [f"Results: {count}{' (incomplete: GitHub timed out)' if found.incomplete_results else ''}"]
    return "\n".join([*rows, "", *(_item(search.kind, item) for item in items)]).rstrip()


def _item(kind: SearchKind, item: SearchItem) -> str:
    match kind:
        case "code":
            rows = [f"- {flat(item.path)}", _facts(_repo(item), item.sha[:SHORT_SHA]), item.html_url]
            rows += [f"> {line}" for line in _first_line([each.fragment for each in item.text_matches])]
        case "commits":
            commit = item.commit or _Commit()
            author = commit.author or _Person()
            rows = [f"- {item.sha[:SHORT_SHA]} {flat(commit.message.partition(chr(10))[0])}"]
            name = item.author.login if item.author else author.name
            rows += [_facts(_repo(item), flat(name), author.date), item.html_url]
        case "repos":
            rows = [f"- {flat(item.full_name)}", *_first_line([item.description or ""])]
            flags = [name for name, on in (("archived", item.archived), ("fork", item.fork)) if on]
            counts = f"{item.stargazers_count:,} stars, {item.forks_count:,} forks"
            counts += f", {item.open_issues_count:,} open issues"
            rows += [_facts(item.language, counts, item.visibility, *flags), f"updated {item.updated_at}"]
            rows += [item.html_url]
        case "issues" | "prs":
            labels = ", ".join(flat(label.name) for label in item.labels)
            rows = [f"- #{item.number} {flat(item.title)}"]
            rows += [_facts(_repo(item), item.state, f"by {item.user.login}" if item.user else "", labels)]
            rows += [f"created {item.created_at}, updated {item.updated_at}", item.html_url]
    return "\n  ".join(flat(row) for row in rows if row)


def _repo(item: SearchItem) -> str:
    if item.repository is not None:
        return item.repository.full_name
    return item.repository_url.partition("/repos/")[2]


def _facts(*facts: str | None) -> str:
    return " · ".join(flat(fact) for fact in facts if fact)


def _first_line(texts: Sequence[str]) -> list[str]:
    lines = (" ".join(line.split()) for text in texts for line in text.splitlines())
    return [line for line in lines if line][:1]
