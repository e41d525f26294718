"""The parameters of the github tool, and what people see of its calls."""

from typing import Annotated, ClassVar, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from tau.backends.github.workflow_runs import WatchDetails
from tau.coding.github.checkouts import CheckoutResult
from tau.coding.output import OutputMeta

Op = Literal[
    "repo_view",
    "pr_create",
    "pr_checkout",
    "pr_push",
    "search_issues",
    "search_prs",
    "search_code",
    "search_commits",
    "search_repos",
    "run_watch",
]


class GithubParams(Struct, frozen=True, rename="camel"):
    aliases: ClassVar[dict[str, str]] = {"operation": "op", "q": "query", "number": "pr"}

    op: Op
    repo: Annotated[str | None, Meta(title="owner/repo, or host/owner/repo")] = None
    branch: Annotated[str | None, Meta(title="repo_view, pr_push, run_watch")] = None
    pr: Annotated[str | int | list[str | int] | None, Meta(title="pr_checkout: number, URL, branch")] = None
    force: Annotated[bool, Meta(title="pr_checkout: reset a branch that differs")] = False
    force_with_lease: Annotated[bool, Meta(title="pr_push")] = False
    title: Annotated[str | None, Meta(title="pr_create")] = None
    body: Annotated[str | None, Meta(title="pr_create: Markdown")] = None
    base: Annotated[str | None, Meta(title="pr_create: branch to merge into")] = None
    head: Annotated[str | None, Meta(title="pr_create: branch to merge")] = None
    draft: Annotated[bool, Meta(title="pr_create")] = False
    fill: Annotated[bool, Meta(title="pr_create: title and body from the commits")] = False
    reviewer: Annotated[list[str], Meta(title="pr_create")] = []
    assignee: Annotated[list[str], Meta(title="pr_create")] = []
    label: Annotated[list[str], Meta(title="pr_create")] = []
    query: Annotated[str | None, Meta(title="search_*")] = None
    since: Annotated[str | None, Meta(title="search_*: 12h, 3d, 2w, 2mo, 1y, a date or an ISO time")] = None
    until: Annotated[str | None, Meta(title="search_*: like since")] = None
    date_field: Annotated[Literal["created", "updated"], Meta(title="search_*")] = "created"
    limit: Annotated[float | None, Meta(title="search_*: results, 10, at most 50")] = None
    run: Annotated[str | int | None, Meta(title="run_watch: run id or URL")] = None
    tail: Annotated[float | None, Meta(title="run_watch: log lines per failed job, 15, at most 200")] = None
    background: Annotated[bool, Meta(title="run_watch: as a job")] = False


class GithubDetails(Struct, frozen=True, rename="camel", kw_only=True):
    """What people see of a call; each operation sets its own fields."""

    op: str
    repo: str | UnsetType = UNSET
    branch: str | UnsetType = UNSET
    worktree_path: str | UnsetType = UNSET
    remote: str | UnsetType = UNSET
    remote_branch: str | UnsetType = UNSET
    head_sha: str | UnsetType = UNSET
    run_id: int | UnsetType = UNSET
    run_ids: list[int] | UnsetType = UNSET
    status: str | UnsetType = UNSET
    conclusion: str | UnsetType = UNSET
    failed_jobs: list[str] | UnsetType = UNSET
    artifact_id: str | UnsetType = UNSET
    job_id: str | UnsetType = UNSET
    checkouts: list[CheckoutResult] | UnsetType = UNSET
    watch: WatchDetails | UnsetType = UNSET
    meta: OutputMeta | UnsetType = UNSET
