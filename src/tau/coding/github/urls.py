"""The internal URLs `issue://` and `pr://`: issues, pull requests and their diffs, through gh and a cache."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec

from tau.agent.ports import ToolContext
from tau.backends.github.diffs import list_files, split_diff
from tau.backends.github.names import RepositoryName, parse_repository
from tau.backends.github.thread_urls import ThreadUrl, UrlKind, parse_thread_url, thread_host
from tau.backends.github.threads import (
    ISSUE_FIELDS,
    LIST_FIELDS,
    MAX_REVIEW_PAGES,
    PR_FIELDS,
    REVIEW_PAGE,
    ReviewComment,
    Thread,
    render_list,
    render_thread,
)
from tau.base import log
from tau.base.errors import TauError, ToolError
from tau.base.text import strip_controls
from tau.coding.github.access import OFF, GithubAccess
from tau.coding.github.cache import CachedThread, ThreadKey
from tau.coding.internal_urls.schemes import ReadOnlyUrls
from tau.coding.ports import Resource


class ThreadUrls(ReadOnlyUrls):
    """One of the two schemes. What is a little old is fetched again after the answer."""

    def __init__(self, kind: UrlKind, access: GithubAccess | None) -> None:
        self.scheme = kind
        self._kind: UrlKind = kind
        self._opened = access

    @property
    def _access(self) -> GithubAccess:
        if self._opened is None:
            raise ToolError(OFF)
        return self._opened

    async def resolve(self, rest: str, ctx: ToolContext) -> Resource:
        url = parse_thread_url(self._kind, rest)
        host = thread_host(self._kind, rest, ctx.cwd)
        ctx.approved.connect(host)
        repository = parse_repository(f"{host}/{url.repo}") if url.repo else None
        if url.number is None:
            text = await self._list(url, repository, host)
        else:
            repository = repository or await self._access.repository(host)
            text = await (self._diff(url, repository) if url.diff else self._thread(url, repository))
            self._access.tell_notices()
        return Resource(url=f"{self._kind}://{rest}", data=text.encode("utf-8", "replace"))

    async def _list(self, url: ThreadUrl, repository: RepositoryName | None, host: str) -> str:
        words = [self._kind, "list", "--state", url.state, "--limit", str(url.limit)]
        words += ["--repo", repository.argument] if repository else []
        words += ["--author", url.author] if url.author else []
        words += ["--label", url.label] if url.label else []
        named = repository is not None
        threads = await self._access.gh.view(list[Thread], words, LIST_FIELDS, host=host, repo=named)
        return render_list(self._kind, repository.slug if repository else "", threads, url.limit)

    async def _thread(self, url: ThreadUrl, repository: RepositoryName) -> str:
        assert url.number is not None
        key = ThreadKey(repository, self._kind, url.number, url.comments)
        return await self._kept(key, lambda: self._fetch_thread(key))

    async def _diff(self, url: ThreadUrl, repository: RepositoryName) -> str:
        assert url.number is not None
        key = ThreadKey(repository, "pr-diff", url.number)
        text = await self._kept(key, lambda: self._fetch_diff(key), aged=False)
        if url.diff == "all":
            return text
        files = await asyncio.to_thread(split_diff, text)
        if url.diff == "list":
            return await asyncio.to_thread(list_files, url.number, files)
        if not 1 <= (index := int(url.diff)) <= len(files):
            count = f"the diff has {len(files)} files, counted from 1"
            raise ToolError(f"pr://{url.number}/diff/{index} does not exist: {count}.")
        return files[index - 1].text

    async def _kept(
        self, key: ThreadKey, fetch: Callable[[], Coroutine[Any, Any, str]], *, aged: bool = True
    ) -> str:
        """From the cache if it is there; what is older than the soft limit is fetched again afterwards."""
        cached: CachedThread | None = await asyncio.to_thread(self._access.cache.get, key)
        if cached is None:
            return await fetch()
        if cached.age_s > self._access.soft_ttl_s:
            self._access.background.start(_quietly(fetch()))
        return f"{cached.text}\n[Fetched {_age(cached.age_s)} ago]\n" if aged else cached.text

    async def _fetch_thread(self, key: ThreadKey) -> str:
        gh, repository, number = self._access.gh, key.repository, str(key.number)
        fields = (
            *(ISSUE_FIELDS if key.kind == "issue" else PR_FIELDS),
            *(("comments",) if key.comments else ()),
        )
        fields += ("reviews",) if key.comments and key.kind == "pr" else ()
        words = (key.kind, "view", number, "--repo", repository.argument)
        raw = await gh.view(dict[str, Any], words, fields, host=repository.host, repo=True)
        try:
            thread = msgspec.convert(raw, Thread)
        except msgspec.ValidationError as error:
            raise ToolError(f"GitHub CLI returned unexpected JSON for {key.kind} {number}: {error}") from None
        reviews, more = await self._review_comments(key) if key.kind == "pr" and key.comments else ([], False)
        text = await asyncio.to_thread(render_thread, key.kind, thread, key.comments, reviews, more=more)
        await asyncio.to_thread(self._access.cache.put, key, text, msgspec.json.encode(raw))
        return text

    async def _review_comments(self, key: ThreadKey) -> tuple[list[ReviewComment], bool]:
        found: list[ReviewComment] = []
        path = f"/repos/{key.repository.slug}/pulls/{key.number}/comments"
        for page in range(1, MAX_REVIEW_PAGES + 1):
            words = ("api", "--method", "GET", path, "-F", f"per_page={REVIEW_PAGE}", "-F", f"page={page}")
            new = await self._access.gh.json(list[ReviewComment], *words, host=key.repository.host, repo=True)
            found += new
            if len(new) < REVIEW_PAGE:
                return found, False
        return found, True

    async def _fetch_diff(self, key: ThreadKey) -> str:
        words = ("pr", "diff", str(key.number), "--repo", key.repository.argument, "--color", "never")
        text = strip_controls(await self._access.gh.text(*words, host=key.repository.host, repo=True))
        await asyncio.to_thread(self._access.cache.put, key, text, b"")
        return text


async def _quietly(work: Coroutine[Any, Any, str]) -> None:
    try:
        await work
    except TauError as error:
        log.warning(f"A cached GitHub page was not refreshed: {error}")


def _age(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
