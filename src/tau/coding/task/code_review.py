"""Lets several agents review a change, each a share of its files, and merges what they find."""

import asyncio
import itertools
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from tau.base.errors import TauError
from tau.coding.task.ports import TaskOrder
from tau.coding.task.report_finding import PRIORITIES, Finding, Priority
from tau.coding.task.results import SingleResult

if TYPE_CHECKING:
    from tau.coding.task.ports import AgentTeam

AGENT = "reviewer"
MOST, FILES_EACH, LINES_EACH = 4, 8, 800
"""Reviewers, and from how much on there is another one."""
SAME_WORDS = 0.5
_DO_NOT = "Change no files."


class ReviewedFile(Struct, frozen=True):
    """`lines`: added and removed."""

    path: str
    lines: int


class Reviewer(Struct, frozen=True, rename="camel"):
    """What one agent was given, and how it ended. `error` is empty unless it failed."""

    id: str
    files: list[str]
    error: str = ""
    verdict: str = ""
    explanation: str = ""


class ReviewReport(Struct, frozen=True, rename="camel"):
    """`findings` by priority, then by file."""

    subject: str
    findings: list[Finding]
    reviewers: list[Reviewer]
    tokens: int
    cost: float

    @property
    def failed(self) -> list[Reviewer]:
        return [one for one in self.reviewers if one.error]

    def at_least(self, priority: Priority) -> list[Finding]:
        """Findings of this priority or a more urgent one."""
        return [one for one in self.findings if PRIORITIES.index(one.priority) <= PRIORITIES.index(priority)]

    def text(self) -> str:
        lines = []
        for one in self.findings:
            end = f"-{one.line_end}" if one.line_end > one.line_start else ""
            lines.append(f"{one.priority} {one.file_path}:{one.line_start}{end}: {one.title}")
            lines += [f"   {line}" for line in one.body.splitlines()]
        if not lines:
            lines.append(self._nothing_found())
        lines += [f"{one.id}: {one.explanation}" for one in self.reviewers if one.explanation]
        for late in self.failed:
            lines.append(f"{late.id} did not finish ({', '.join(late.files[:5])}): {late.error}")
        return "\n".join(lines)

    def _nothing_found(self) -> str:
        if len(self.failed) == len(self.reviewers):
            return f"The review of {self.subject} failed."
        part = "the reviewed part of " if self.failed else ""
        return f"No defects found in {part}{self.subject}."


async def run_review(
    team: "AgentTeam", subject: str, how: str, files: Sequence[ReviewedFile], focus: str = ""
) -> ReviewReport:
    """Raises TauError if no reviewer can be started."""
    shares = split(files)
    orders = [
        TaskOrder(
            agent=AGENT,
            text=_assignment(subject, how, share, focus, len(shares)),
            description="Review",
            index=at,
        )
        for at, share in enumerate(shares)
    ]
    ended = await asyncio.gather(*(team.run(order, "") for order in orders), return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException) and not isinstance(one, TauError):
            raise one
    results = [one for one in ended if isinstance(one, SingleResult)]
    if not results:
        raise next(one for one in ended if isinstance(one, BaseException))
    reviewers, found = [], []
    for share, result in zip(shares, ended, strict=True):
        if isinstance(result, SingleResult):
            reviewers.append(_reviewer(share, result))
            data = result.extracted_tool_data
            found += data.get("report_finding", []) if isinstance(data, dict) else []
        else:
            reviewers.append(Reviewer("A reviewer", share, str(result)))
    return ReviewReport(
        subject,
        merge(one for one in found if isinstance(one, Finding)),
        reviewers,
        sum(one.tokens for one in results),
        sum(one.cost for one in results),
    )


def split(files: Sequence[ReviewedFile]) -> list[list[str]]:
    """Shares of about equal size, neighbors together."""
    lines = sum(one.lines for one in files)
    count = min(MOST, max(1, -(-len(files) // FILES_EACH), -(-lines // LINES_EACH)), max(len(files), 1))
    shares: list[list[str]] = [[] for _ in range(count)]
    size, done = (lines + len(files)) / count, 0
    for one in sorted(files, key=lambda file: file.path):
        shares[min(int(done / size), count - 1)].append(one.path)
        done += one.lines + 1
    return [share for share in shares if share]


def merge(findings: Iterable[Finding]) -> list[Finding]:
    """Once what several found, in the most urgent wording; by priority, then by place."""
    ranked = sorted(findings, key=lambda one: (PRIORITIES.index(one.priority), -one.confidence))
    kept: list[Finding] = []
    for one in ranked:
        if not any(_same(one, other) for other in kept):
            kept.append(one)
    return sorted(kept, key=lambda one: (PRIORITIES.index(one.priority), one.file_path, one.line_start))


def _same(one: Finding, other: Finding) -> bool:
    apart = one.line_end < other.line_start or other.line_end < one.line_start
    if one.file_path != other.file_path or apart:
        return False
    words, others = (set(re.findall(r"\w+", text.lower())) for text in (one.title, other.title))
    return len(words & others) >= SAME_WORDS * max(min(len(words), len(others)), 1)


def _reviewer(share: list[str], result: SingleResult) -> Reviewer:
    data = result.data if isinstance(result.data, dict) else {}
    error = "" if result.outcome == "completed" else str(result.error or result.outcome)
    return Reviewer(
        result.id,
        share,
        error,
        str(data.get("overall_correctness", "")),
        str(data.get("explanation", "")),
    )


def _assignment(subject: str, how: str, share: Sequence[str], focus: str, reviewers: int) -> str:
    parts = [f"Review {subject}. {_DO_NOT}", how]
    if reviewers > 1:
        listed = "\n".join(f"- {path}" for path in itertools.islice(share, 200))
        parts.append(f"Others review the rest. Report only what is wrong in these files:\n{listed}")
    if focus:
        parts.append(f"Above all, look at this: {focus}")
    return "\n\n".join(parts)
