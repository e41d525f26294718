"""Issues and pull requests as text: their facts, body, comments, reviews and lists."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from msgspec import Struct

from tau.backends.github.searches import flat
from tau.base.text import strip_controls

MAX_FILES = 50
REVIEW_PAGE = 100
MAX_REVIEW_PAGES = 10
ISSUE_FIELDS = (
    *("author", "body", "closedAt", "createdAt", "labels", "assignees", "milestone", "number", "state"),
    *("stateReason", "title", "updatedAt", "url"),
)
PR_FIELDS = (
    *("additions", "author", "baseRefName", "body", "changedFiles", "createdAt", "deletions", "files"),
    *("headRefName", "headRefOid", "isCrossRepository", "isDraft", "labels", "mergeStateStatus", "mergeable"),
    *("mergedAt", "number", "reviewDecision", "state", "title", "updatedAt", "url", "assignees"),
)
LIST_FIELDS = ("author", "createdAt", "labels", "number", "state", "title", "updatedAt", "url")
_HIDDEN = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)


class Actor(Struct, frozen=True):
    login: str = ""


class Named(Struct, frozen=True):
    name: str = ""
    title: str = ""


class Comment(Struct, frozen=True, rename="camel"):
    author: Actor | None = None
    body: str = ""
    created_at: str = ""
    state: str = ""  # of a review
    submitted_at: str | None = None


class ChangedPath(Struct, frozen=True):
    path: str
    additions: int = 0
    deletions: int = 0


class Thread(Struct, frozen=True, rename="camel"):
    """An issue or a pull request, as `gh issue view` and `gh pr view` print it."""

    number: int = 0
    title: str = ""
    state: str = ""
    state_reason: str | None = None
    url: str = ""
    body: str = ""
    author: Actor | None = None
    created_at: str = ""
    updated_at: str = ""
    closed_at: str | None = None
    merged_at: str | None = None
    labels: list[Named] = []
    assignees: list[Actor] = []
    milestone: Named | None = None
    comments: list[Comment] = []
    reviews: list[Comment] = []
    files: list[ChangedPath] = []
    additions: int = 0
    deletions: int = 0
    changed_files: int = 0
    base_ref_name: str = ""
    head_ref_name: str = ""
    head_ref_oid: str = ""
    is_draft: bool = False
    is_cross_repository: bool = False
    mergeable: str = ""
    merge_state_status: str = ""
    review_decision: str = ""


class ReviewComment(Struct, frozen=True):
    """A comment on a line of a diff, as the REST API prints it."""

    path: str = ""
    line: int | None = None
    original_line: int | None = None
    user: Actor | None = None
    body: str = ""
    created_at: str = ""


Rows: TypeAlias = Iterable[str]


def reveal_hidden(text: str) -> str:
    """A body as the model should see it: what GitHub's page hides is marked, controls are gone."""
    shown = _HIDDEN.sub(lambda found: f"[hidden comment: {found[1].strip()}]", text.replace("\r\n", "\n"))
    return strip_controls(shown).strip()


def render_thread(
    kind: str, thread: Thread, comments: bool, reviews: Sequence[ReviewComment] = (), *, more: bool = False
) -> str:
    """All of an issue or a pull request; `more` says that there are more review comments than `reviews`."""
    rows = [f"# {'Issue' if kind == 'issue' else 'Pull Request'} #{thread.number}: {flat(thread.title)}", ""]
    rows += [f"{name}: {flat(value)}" for name, value in _facts(kind, thread) if value]
    rows += ["", "## Body", "", reveal_hidden(thread.body) or "(empty)"]
    if thread.files:
        rows += ["", f"## Files ({thread.changed_files or len(thread.files)})", ""]
        rows += [
            f"- {flat(file.path)} (+{file.additions} -{file.deletions})" for file in thread.files[:MAX_FILES]
        ]
        if (rest := max(thread.changed_files, len(thread.files)) - MAX_FILES) > 0:
            rows.append(f"- … {rest} more: read pr://{thread.number}/diff")
    if comments:
        rows += _said("Comments", thread.comments)
        telling = [each for each in thread.reviews if each.body.strip() or each.state != "COMMENTED"]
        rows += _said("Reviews", telling)
        rows += _review_comments(reviews, more)
    return "\n".join(rows) + "\n"


def _facts(kind: str, thread: Thread) -> list[tuple[str, str]]:
    reason = f" ({thread.state_reason})" if thread.state_reason else ""
    state = f"{thread.state}{reason}"
    common = [
        ("State", f"{state}, draft" if thread.is_draft else state),
        ("Author", thread.author.login if thread.author else ""),
        ("Created", thread.created_at),
        ("Updated", thread.updated_at),
        ("Closed", thread.closed_at or ""),
        ("Labels", ", ".join(label.name for label in thread.labels)),
        ("Assignees", ", ".join(each.login for each in thread.assignees)),
        ("Milestone", thread.milestone.title if thread.milestone else ""),
        ("URL", thread.url),
    ]
    if kind == "issue":
        return common
    return [
        *common,
        ("Merged", thread.merged_at or ""),
        ("Base", thread.base_ref_name),
        ("Head", f"{thread.head_ref_name} ({thread.head_ref_oid[:12]})"),
        ("From a fork", "yes" if thread.is_cross_repository else ""),
        ("Mergeable", " ".join((thread.mergeable, thread.merge_state_status)).strip()),
        ("Review decision", thread.review_decision),
        ("Changes", f"+{thread.additions} -{thread.deletions} in {thread.changed_files} files"),
    ]


def _said(title: str, comments: Sequence[Comment]) -> Rows:
    if not comments:
        return []
    rows = ["", f"## {title} ({len(comments)})"]
    for comment in comments:
        when = comment.submitted_at or comment.created_at
        who = comment.author.login if comment.author else "ghost"
        state = f" {flat(comment.state)}" if comment.state else ""
        rows += ["", f"### {flat(who)}{state} ({flat(when)})", "", reveal_hidden(comment.body) or "(empty)"]
    return rows


def _review_comments(comments: Sequence[ReviewComment], more: bool) -> Rows:
    if not comments:
        return []
    rows = ["", f"## Review comments ({len(comments)}{', there are more' if more else ''})"]
    for comment in comments:
        line = comment.line or comment.original_line
        place = f"{flat(comment.path)}{f':{line}' if line else ''}"
        who = comment.user.login if comment.user else "ghost"
        rows += [
            "",
            f"### {place}, {flat(who)} ({flat(comment.created_at)})",
            "",
            reveal_hidden(comment.body),
        ]
    return rows


def render_list(kind: str, repository: str, threads: Sequence[Thread], limit: int) -> str:
    """A list to choose from."""
    noun = "issues" if kind == "issue" else "pull requests"
    rows = [f"# GitHub {noun} of {repository or 'this checkout'}: {len(threads)}", ""]
    for thread in threads:
        labels = ", ".join(label.name for label in thread.labels)
        who = f"by {thread.author.login}" if thread.author else ""
        facts = [thread.state, who, labels, f"updated {thread.updated_at}"]
        rows.append(f"- #{thread.number} {flat(thread.title)}")
        rows.append(f"  {flat(' · '.join(fact for fact in facts if fact))}")
    if len(threads) >= limit:
        rows.append("There may be more; ?limit= takes up to 100.")
    return "\n".join(rows) + "\n"
