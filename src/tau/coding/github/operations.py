"""The operations of the github tool: what each one declares, and how it is done."""

import re
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime
from math import floor, isfinite
from pathlib import Path
from typing import Any

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from tau.agent.effects import Effects
from tau.agent.output import ToolOutput
from tau.backends.github.names import (
    RepositoryName,
    check_word,
    checkout_host,
    default_host,
    parse_remote,
    parse_repository,
    parse_url,
)
from tau.backends.github.searches import (
    SHORT_SHA,
    GithubSearch,
    SearchKind,
    SearchResults,
    flat,
    format_results,
    has_scope,
    parse_date,
)
from tau.backends.github.threads import PR_FIELDS, Actor, Named, Thread
from tau.backends.github.workflow_runs import RunWatch, WatchDetails, render_watch
from tau.base.errors import ToolError
from tau.base.git_dir import branch_of, git_dir
from tau.base.late import late
from tau.base.text import clean_line
from tau.coding.github.access import GithubAccess
from tau.coding.github.call import GithubDetails, GithubParams
from tau.coding.github.checkouts import CheckoutResult, find_push_target, worktree_target
from tau.coding.output import OutputMeta, OutputSource
from tau.coding.ports import CodingContext
from tau.config.paths import repo_root

tempfile = late("tempfile")

SEARCH_LIMIT, MAX_SEARCH_LIMIT = 10, 50
TAIL, MAX_TAIL = 15, 200
REPO_FIELDS = (
    *(
        "nameWithOwner",
        "description",
        "url",
        "defaultBranchRef",
        "visibility",
        "isPrivate",
        "viewerPermission",
    ),
    *("primaryLanguage", "stargazerCount", "forkCount", "isArchived", "isFork", "updatedAt"),
    *("homepageUrl", "repositoryTopics"),
)
_SEARCHES: dict[str, SearchKind] = {
    "search_issues": "issues",
    "search_prs": "prs",
    "search_code": "code",
    "search_commits": "commits",
    "search_repos": "repos",
}


class RepositoryView(Struct, frozen=True, rename="camel"):
    name_with_owner: str = ""
    description: str | None = None
    url: str = ""
    default_branch_ref: Named | None = None
    visibility: str = ""
    is_private: bool = False
    viewer_permission: str | None = None
    primary_language: Named | None = None
    stargazer_count: int = 0
    fork_count: int = 0
    is_archived: bool = False
    is_fork: bool = False
    updated_at: str = ""
    homepage_url: str | None = None
    repository_topics: list[Named] | None = None


def declare(params: GithubParams, access: GithubAccess, cwd: Path) -> Effects:
    """What a call would do. Raises ToolError for parameters that cannot work."""
    _check(params)
    host = _host(params, cwd)
    match params.op:
        case "pr_create":
            where = params.repo or "the repository of this checkout"
            return Effects(network=(host,), publishes=(f"create a pull request in {where} on {host}",))
        case "pr_push":
            target = find_push_target(_branch(params, cwd), cwd)
            what = f"push {target.branch} to {target.remote_branch} of {target.remote_url or target.remote}"
            about = (("pull request", target.pr_url),) if target.pr_url else ()
            return Effects(network=(host,), publishes=(what,), details=about)
        case "pr_checkout":
            return Effects(network=(host,), writes=_checkout_writes(params, access, cwd))
    return Effects(network=(host,))


def _checkout_writes(params: GithubParams, access: GithubAccess, cwd: Path) -> tuple[Path, ...]:
    """The work trees, and git's configuration."""
    targets = dict.fromkeys(worktree_target(pr, cwd, access.worktrees) for pr in _prs(params))
    root = repo_root(cwd)
    return (*targets, *(() if root is None else (git_dir(root).common / "config",)))


async def perform(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    """Do it. Raises ToolError."""
    _check(params)
    ctx.approved.connect(_host(params, ctx.cwd))
    match params.op:
        case "repo_view":
            return await _view_repository(params, access, ctx)
        case "pr_create":
            return await _create(params, access, ctx)
        case "pr_checkout":
            return await _check_out(params, access, ctx)
        case "pr_push":
            return await _push(params, access, ctx)
        case "run_watch":
            return await _watch(params, access, ctx)
    return await _search(params, access, ctx)


def _check(params: GithubParams) -> None:
    """Raises ToolError for what no call could do."""
    _amount("limit", params.limit, SEARCH_LIMIT, MAX_SEARCH_LIMIT)
    _amount("tail", params.tail, TAIL, MAX_TAIL)
    for name in ("since", "until"):
        if text := getattr(params, name):
            parse_date(name, text, datetime.now(UTC))
    query = (params.query or "").strip()
    match params.op:
        case "search_code" if params.since or params.until:
            raise ToolError("GitHub's code search knows no dates: search_code takes no `since` or `until`.")
        case "search_code" if not query:
            raise ToolError("A code search needs a `query`.")
        case "search_repos" if not query and not params.since and not params.until:
            raise ToolError("A search of repositories needs a `query`, `since` or `until`.")
        case "pr_create" if params.fill and (params.title or params.body is not None):
            raise ToolError("`fill` takes title and body from the commits; do not pass them too.")
        case "pr_create" if not params.fill and not (params.title or "").strip():
            raise ToolError("A pull request needs a `title`, or `fill`.")
    if params.branch is not None:
        check_word("branch", params.branch)
    if params.op == "run_watch" and params.run is not None:
        _run_id(params)


def _amount(name: str, value: float | None, default: int, most: int) -> int:
    if value is None:
        return default
    if not isfinite(value) or value <= 0:
        raise ToolError(f"`{name}` must be a number above 0.")
    return min(max(floor(value), 1), most)


def _host(params: GithubParams, cwd: Path) -> str:
    """Where the call goes. Raises ToolError."""
    urls = [parse_url(pr, "pull") for pr in _prs(params) if pr] if params.op == "pr_checkout" else []
    hosts = {url.repository.host for url in urls if url is not None}
    if params.op == "pr_push":
        remote = parse_remote(find_push_target(_branch(params, cwd), cwd).remote_url)
        return checkout_host(cwd) if remote is None else remote.host
    if len(hosts) > 1:
        raise ToolError(f"One call goes to one host, not to {' and '.join(sorted(hosts))}.")
    if params.op == "run_watch" and (run := parse_url(str(params.run or ""), "actions/runs")) is not None:
        hosts.add(run.repository.host)
    if hosts:
        return hosts.pop()
    if params.repo is not None:
        return parse_repository(params.repo).host
    return default_host() if params.op == "search_repos" else checkout_host(cwd)


def _prs(params: GithubParams) -> list[str | None]:
    """None is the pull request of the current branch."""
    if params.pr is None:
        return [None]
    listed = params.pr if isinstance(params.pr, list) else [params.pr]
    names = [check_word("pr", str(each).strip()) for each in listed if str(each).strip()]
    if not names:
        raise ToolError("`pr` is empty; omit it for the pull request of the current branch.")
    return list(dict.fromkeys(names))


def _branch(params: GithubParams, cwd: Path) -> str:
    if params.branch is not None:
        return check_word("branch", params.branch)
    root = repo_root(cwd)
    if root is None:
        raise ToolError("This directory is in no Git repository; name `repo` and `branch`.")
    try:
        head = (git_dir(root).own / "HEAD").read_text("utf-8", "replace").strip()
    except OSError:
        head = ""
    if not head.startswith("ref: refs/heads/"):
        raise ToolError(f"HEAD is detached at {branch_of(root)}; name a `branch`.")
    return head.removeprefix("ref: refs/heads/")


def _source(url: str) -> OutputMeta | UnsetType:
    return OutputMeta(source=OutputSource("url", url)) if url else UNSET


def _name(named: Named | None) -> str:
    return "" if named is None else named.name


def _sheet(title: str, facts: dict[str, str | None]) -> str:
    """A heading and what is known below it."""
    return "\n".join(
        [f"# {flat(title)}", "", *(f"{key}: {flat(each)}" for key, each in facts.items() if each)]
    )


def _repo_words(params: GithubParams) -> list[str]:
    return [] if params.repo is None else ["--repo", parse_repository(params.repo).argument]


async def _view_repository(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    words = ["repo", "view", *([] if params.repo is None else [parse_repository(params.repo).argument])]
    words += [] if params.branch is None else ["--branch", params.branch]
    host = _host(params, ctx.cwd)
    data = await access.gh.view(RepositoryView, words, REPO_FIELDS, host=host, repo=params.repo is not None)
    facts: dict[str, str | None] = {
        "Description": data.description,
        "URL": data.url,
        "Default branch": _name(data.default_branch_ref),
        "Requested branch": params.branch,
        "Visibility": data.visibility or ("PRIVATE" if data.is_private else "PUBLIC"),
        "Permission": data.viewer_permission,
        "Language": _name(data.primary_language),
        "Stars": str(data.stargazer_count),
        "Forks": str(data.fork_count),
        "Archived": "yes" if data.is_archived else "no",
        "Fork": "yes" if data.is_fork else "no",
        "Updated": data.updated_at,
        "Homepage": data.homepage_url,
        "Topics": ", ".join(topic.name for topic in data.repository_topics or ()),
    }
    details = GithubDetails(
        op=params.op, repo=data.name_with_owner, branch=params.branch or UNSET, meta=_source(data.url)
    )
    return ToolOutput.text(_sheet(data.name_with_owner, facts), details)


async def _search(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    kind, query = _SEARCHES[params.op], params.query or ""
    host = _host(params, ctx.cwd)
    repo = ""
    if kind != "repos":
        if params.repo is not None:
            repo = parse_repository(params.repo).slug
        elif not has_scope(query):
            try:
                repo = (await access.repository(host)).slug
            except ToolError:
                repo = ""
    search = GithubSearch(
        kind=kind,
        query=query,
        repo=repo,
        since=params.since or "",
        until=params.until or "",
        date_field=params.date_field,
        limit=_amount("limit", params.limit, SEARCH_LIMIT, MAX_SEARCH_LIMIT),
    )
    now = datetime.now(UTC)
    found = await access.gh.json(SearchResults, *search.words(now), host=host, repo=True)
    details = GithubDetails(op=params.op, repo=repo or UNSET)
    return ToolOutput.text(format_results(search, found, search.text(now)), details)


async def _create(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    words = ["pr", "create", *_repo_words(params)]
    words += ["--fill"] if params.fill else ["--title", params.title or ""]
    for name in ("base", "head"):
        value = getattr(params, name)
        words += [] if value is None else [f"--{name}", check_word(name, value)]
    words += ["--draft"] if params.draft else []
    for name in ("reviewer", "assignee", "label"):
        for value in getattr(params, name):
            words += [f"--{name}", check_word(name, value)]
    host = _host(params, ctx.cwd)
    with tempfile.TemporaryDirectory(prefix="gh-pr-body-") as folder:
        if not params.fill:
            if params.body:
                path = Path(folder) / "body.md"
                path.write_text(params.body, encoding="utf-8")
                words += ["--body-file", str(path)]
            else:
                words += ["--body", ""]
        said = await access.gh.text(*words, host=host, repo=params.repo is not None)
    address = next((line.strip() for line in reversed(said.splitlines()) if "/pull/" in line), "")
    created = parse_url(address, "pull")
    if created is None:
        return ToolOutput.text(f"# Created Pull Request\n\n{said.strip()}", GithubDetails(op=params.op))
    access.cache.drop(created.repository, created.number)
    view = ("pr", "view", str(created.number), "--repo", created.repository.argument)
    try:
        thread = await access.gh.view(Thread, view, PR_FIELDS, host=created.repository.host, repo=True)
    except ToolError:
        thread = Thread(number=created.number, title=params.title or "", url=address, state="OPEN")
    author: Actor = thread.author or Actor()
    facts: dict[str, str | None] = {
        "URL": address,
        "State": thread.state,
        "Draft": "yes" if thread.is_draft else "no",
        "Base": thread.base_ref_name,
        "Head": thread.head_ref_name,
        "Author": author.login,
        "Created": thread.created_at,
        "Labels": ", ".join(label.name for label in thread.labels),
    }
    text = _sheet(f"Created Pull Request #{created.number}: {thread.title}", facts)
    text += f"\n\n{thread.body.strip()}" if thread.body.strip() else ""
    details = GithubDetails(
        op=params.op,
        repo=created.repository.slug,
        head_sha=thread.head_ref_oid or UNSET,
        meta=_source(address),
    )
    return ToolOutput.text(text, details)


async def _check_out(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    prs = _prs(params)
    for path in _checkout_writes(params, access, ctx.cwd):
        ctx.approved.write(path)
    done = await access.checkouts.check_out(prs, params.repo or "", force=params.force)
    good = [each for each in done if not each.error]
    if len(done) == 1 and not good:
        raise ToolError(done[0].error)
    details = GithubDetails(op=params.op, checkouts=done)
    if len(good) == 1:
        details = replace(
            details,
            branch=good[0].branch,
            worktree_path=good[0].worktree_path,
            remote=good[0].remote,
            remote_branch=good[0].remote_branch,
            head_sha=good[0].head_sha,
            meta=_source(good[0].url),
        )
    sections = [_checkout_section(each) for each in done]
    if len(done) > 1:
        failed = f", {len(done) - len(good)} failed" if len(good) < len(done) else ""
        sections.insert(0, f"# {len(done)} Pull Request Worktrees ({len(good)} ready{failed})")
    return ToolOutput.text("\n\n---\n\n".join(sections), details, is_error=not good)


def _checkout_section(done: CheckoutResult) -> str:
    if done.error:
        name = f"#{done.number}: {done.title}" if done.number else done.title
        return f"# Pull Request {name}\n\nNot checked out: {done.error}"
    rows = [
        f"# Pull Request #{done.number}: {done.title}",
        "",
        f"Worktree: {done.worktree_path}{' (was there already)' if done.reused else ''}",
        f"Branch: {done.branch} at {done.head_sha[:SHORT_SHA]}",
        f"Pushes to: {clean_line(done.remote_branch)} of {clean_line(done.remote)}",
        f"URL: {done.url}",
    ]
    return "\n".join(rows)


async def _push(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    target = find_push_target(_branch(params, ctx.cwd), ctx.cwd)
    if target.refusal:
        raise ToolError(target.refusal)
    await access.checkouts.push(target, with_lease=params.force_with_lease)
    if (url := parse_url(target.pr_url, "pull")) is not None:
        access.cache.drop(url.repository, url.number)
    facts: dict[str, str | None] = {
        "Branch": target.branch,
        "Remote": target.remote,
        "Remote branch": target.remote_branch,
        "Remote URL": target.remote_url,
        "Pull request": target.pr_url,
        "Force with lease": "yes" if params.force_with_lease else "no",
    }
    details = GithubDetails(
        op=params.op,
        branch=target.branch,
        remote=target.remote,
        remote_branch=target.remote_branch,
        meta=_source(target.pr_url),
    )
    return ToolOutput.text(_sheet("Pushed Pull Request Branch", facts), details)


def _run_id(params: GithubParams) -> tuple[RepositoryName | None, int]:
    text = str(params.run).strip()
    if (url := parse_url(text, "actions/runs")) is not None:
        if params.repo is not None and parse_repository(params.repo) != url.repository:
            raise ToolError(f"`run` is in {url.repository.argument}, not in {flat(params.repo)}.")
        return url.repository, url.number
    if not re.fullmatch(r"\d{1,18}", text):
        raise ToolError(f'`run` is "{flat(text)}"; write a run id or the URL of a run.')
    return None, int(text)


async def _watch(params: GithubParams, access: GithubAccess, ctx: CodingContext) -> ToolOutput:
    host = _host(params, ctx.cwd)
    repository, id = (None, None) if params.run is None else _run_id(params)
    if repository is None and params.repo is not None:
        repository = parse_repository(params.repo)
    branch = "" if id is not None else _branch(params, ctx.cwd)
    repository = repository or await access.repository(host)
    named = repository

    def start(update: Callable[[WatchDetails], None]) -> Coroutine[Any, Any, tuple[RunWatch, WatchDetails]]:
        watch = RunWatch(access.gh, named, update)

        async def finish() -> tuple[RunWatch, WatchDetails]:
            return watch, await (watch.watch_run(id) if id is not None else watch.watch_branch(branch))

        return finish()

    async def work(update: Callable[[WatchDetails], None]) -> ToolOutput:
        watch, state = await start(update)
        return await _report(watch, state, _amount("tail", params.tail, TAIL, MAX_TAIL), ctx)

    if not params.background:
        return await work(
            lambda state: ctx.update(ToolOutput.text(render_watch(state), _watch_details(state)))
        )

    async def job(report: Callable[[str], None]) -> str:
        output = await work(lambda state: report(render_watch(state)))
        return "\n".join(getattr(part, "text", "") for part in output.content)

    label = f"watch {named.slug} {f'run {id}' if id is not None else branch}"
    job_id = ctx.jobs.start("github", clean_line(label), job)
    text = f"Watching in the background as job {job_id}; its result will follow, or use job."
    return ToolOutput.text(text, GithubDetails(op=params.op, repo=named.slug, job_id=job_id))


def _watch_details(state: WatchDetails) -> GithubDetails:
    ids = [run.id for run in state.runs]
    failed = [job.name for run in state.runs for job in run.jobs if job.failed]
    is_over = state.verdict in ("success", "failure")
    return GithubDetails(
        op="run_watch",
        repo=state.repo,
        branch=state.branch,
        head_sha=state.head_sha,
        run_id=ids[0] if state.mode == "run" and ids else UNSET,
        run_ids=ids,
        status="completed" if is_over else "in_progress" if ids else "none",
        conclusion=state.verdict if is_over else UNSET,
        failed_jobs=failed,
        watch=state,
        meta=_source(state.runs[0].url if len(ids) == 1 else ""),
    )


async def _report(watch: RunWatch, state: WatchDetails, tail: int, ctx: CodingContext) -> ToolOutput:
    if state.verdict != "failure":
        return ToolOutput.text(render_watch(state), _watch_details(state))
    state, full = await watch.read_logs(state, tail)
    text, details = render_watch(state), _watch_details(state)
    if state.failed_logs:
        sink = ctx.artifacts.create("github")
        try:
            sink.write(full.encode("utf-8", "replace"))
        finally:
            sink.close()
        text += f"\n\nFull failed-job logs: artifact://{sink.id}"
        details = replace(details, artifact_id=sink.id)
    return ToolOutput.text(text, details)
