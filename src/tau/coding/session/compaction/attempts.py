"""Computes one compaction: from a full context to the edits to write. It writes nothing itself."""

import asyncio
from collections.abc import Sequence
from typing import Literal

from msgspec import UNSET, Struct
from msgspec.structs import replace

from tau.agent.loop_owner import Complete
from tau.ai.model import Model
from tau.ai.wire import AppMessage, Usage
from tau.base import log
from tau.base.errors import NothingToDo, ProviderError, TauError
from tau.base.tasks import spawn
from tau.coding.session.compaction import plan as plans
from tau.coding.session.compaction import shake, stale_reads
from tau.coding.session.compaction import summary as summaries
from tau.coding.session.compaction.estimate import summary_tokens, text_tokens
from tau.coding.session.compaction.fallback_summary import fallback_summary
from tau.coding.session.compaction.file_ops import FileOps, file_lists, file_ops
from tau.coding.session.compaction.trigger import RECOVERY
from tau.coding.session.context import ContextItem
from tau.coding.session.entries import CompactionEntry, ContentReplacement, ContextEdit
from tau.coding.session.stats import add_usage
from tau.config.settings import CompactionSettings

MIN_SUMMARY_TOKENS = 150  # with less room than this, no model is asked
NOTHING = "There is nothing to compact yet."
TOO_LARGE = (
    "The conversation takes about {tokens} tokens and cannot be made smaller; "
    "use a model with a larger window, or start a new session."
)

CompactionAction = Literal["context-full", "handoff", "shake"]


class CompactionInput(Struct, frozen=True, kw_only=True):
    """What to compact, and to what size. Tokens are estimates, except for `window` and `tokens`.

    `written` are the messages of `items` as logged, `earlier` the files of earlier summaries. `must`: if no
    model can summarize, cut without one.
    """

    items: Sequence[ContextItem]  # without the summary of the latest compaction
    written: Sequence[AppMessage]
    costs: Sequence[int]
    previous: str
    earlier: Sequence[FileOps]
    frame: int
    estimated: int  # the whole context as it is now
    limit: float  # the size to get below
    keep: float
    ratio: float
    tokens: int  # the best figure, for the entry
    window: int
    model: Model
    complete: Complete
    settings: CompactionSettings
    cwd: str
    action: CompactionAction = "context-full"
    focus: str = ""
    ask_model: bool = True
    must: bool = True

    @property
    def messages(self) -> list[AppMessage]:
        return [item.message for item in self.items]


class CompactionEdits(Struct, frozen=True):
    """What to append to the log. Without an entry, messages are only edited."""

    edits: list[ContextEdit]
    entry: CompactionEntry | None
    tokens_after: int


class SummaryAttempt(Struct, frozen=True):
    """A model's summary, or why there is none and whether to ask again; and its usage."""

    text: str = ""
    problem: str = ""
    usage: Usage = Usage()
    retryable: bool = False


async def shrink(job: CompactionInput) -> CompactionEdits:
    """Raises TauError if the context cannot shrink, or if it need not and no summary was made."""
    view = plans.ContextView(job.messages, job.costs)
    if job.settings.supersede_reads:
        protected = shake.protected_from(view.messages, view.costs, stale_reads.PROTECTED_TOKENS)
        view.edit(stale_reads.stale_reads(view.messages, view.costs, job.cwd, changed_before=protected))
    previous = summary_tokens(job.previous) if job.previous else 0
    if job.action == "shake":
        view.edit(shake.shake_messages(view.messages, view.costs))
        if view.edits and job.frame + previous + view.tokens() <= job.limit * RECOVERY:
            return _edited(job, view.edits, job.frame + previous + view.tokens())
    room = max(job.limit - job.frame, 0)
    files = text_tokens(file_lists(file_ops(job.written, job.cwd, job.earlier), float("inf")))
    problem = NOTHING
    if job.ask_model:
        shares = plans.for_summary(room, files, job.keep, job.settings.reserve_tokens / job.ratio)
        plan = plans.make_plan(view, shares, previous)
        if plan.cut.first_kept > 0 and shares.summary >= MIN_SUMMARY_TOKENS:
            attempt = await _summarize(job, plan.cut, shares.summary)
            problem = attempt.problem
            if attempt.text and (changes := _changes(job, plan, shares, attempt.text, attempt.usage)):
                return changes
            problem = problem or "The summary is not smaller than what it would replace."
    if not job.must:
        raise NothingToDo(problem) if problem == NOTHING else TauError(problem)
    return _cut(job, view, room, files, previous)


def _cut(
    job: CompactionInput, view: plans.ContextView, room: float, files: int, previous: int
) -> CompactionEdits:
    """Without a model: keep as much of the newest as fits, and a digest of the rest."""
    shares = plans.for_digest(room, files)
    plan = plans.make_plan(view, shares, previous)
    if plan.cut.first_kept == 0:
        after = job.frame + previous + plan.kept_tokens
        if plan.edits and after < job.estimated:
            return _edited(job, plan.edits, after)
        raise TauError(TOO_LARGE.format(tokens=job.tokens))
    text = fallback_summary(job.messages[: plan.cut.first_kept], job.previous, shares.summary)
    changes = _changes(job, plan, shares, text, Usage(), fits=False)
    if changes is None:
        raise TauError(TOO_LARGE.format(tokens=job.tokens))
    return changes


def _edited(job: CompactionInput, edits: dict[int, AppMessage], after: float) -> CompactionEdits:
    changed = [make_edit(job.items[index].id, message) for index, message in edits.items()]
    return CompactionEdits(changed, None, _measured(job, after))


def _measured(job: CompactionInput, after: float) -> int:
    """Convert an estimate to the measure of `job.tokens`, which a server may have counted."""
    return round(after * job.tokens / max(job.estimated, 1))


def _changes(
    job: CompactionInput,
    plan: plans.CompactionPlan,
    shares: plans.TokenBudget,
    text: str,
    usage: Usage,
    *,
    fits: bool = True,
) -> CompactionEdits | None:
    """The edits for a summary; None if it would not help. `fits`: it must also get below the limit."""
    first = plan.cut.first_kept
    ops = file_ops(job.written[:first], job.cwd, job.earlier)
    summary = text + file_lists(ops, max(shares.files, 64))
    after = job.frame + summary_tokens(summary) + plan.kept_tokens
    if after >= job.estimated or (fits and after > job.limit):
        return None
    entry = CompactionEntry(
        summary=summary,
        first_kept_entry_id=job.items[first].id,
        tokens_before=job.tokens,
        details=ops.details(),
        usage=usage if usage != Usage() else UNSET,
    )
    edits = [make_edit(job.items[index].id, message) for index, message in plan.edits.items()]
    return CompactionEdits(edits, entry, _measured(job, after))


def make_edit(id: str, message: AppMessage) -> ContextEdit:
    content = getattr(message, "content", None)
    assert content is not None, "only messages with content are edited"
    return ContextEdit(target_id=id, replacement=ContentReplacement(content))


async def _summarize(job: CompactionInput, cut: plans.CutPoint, room: float) -> SummaryAttempt:
    """Summarize what goes: at most two attempts, the second with less input for a shorter answer."""
    tokens = max(int(room * job.ratio), summaries.MIN_ANSWER_TOKENS)
    kind: summaries.SummaryKind = "handoff" if job.action == "handoff" else "summary"
    whole = summaries.SummaryRequest(
        kind=kind,
        messages=job.messages[: cut.first_kept],
        previous=job.previous,
        focus=job.focus,
        answer_tokens=tokens,
    )
    if cut.splits and kind == "summary" and cut.turn_start > 0:
        first = await _summarize_two_parts(job, whole, cut, room)
    else:
        if cut.splits and kind == "summary" and not job.previous:
            whole = replace(whole, kind="turn")
        first = await request_summary(job, whole, room)
    if first.text or not first.retryable:
        return first
    second = await request_summary(job, replace(whole, reduced=True), room)
    return replace(second, usage=add_usage(first.usage, second.usage))


async def _summarize_two_parts(
    job: CompactionInput, whole: summaries.SummaryRequest, cut: plans.CutPoint, room: float
) -> SummaryAttempt:
    """Summarize the history before the turn and the start of the turn in parallel."""
    turn, tokens = cut.turn_start, whole.answer_tokens
    history = replace(whole, messages=whole.messages[:turn], answer_tokens=tokens * 2 // 3)
    beginning = replace(
        whole, kind="turn", previous="", messages=whole.messages[turn:], answer_tokens=tokens // 3
    )
    async with asyncio.TaskGroup() as group:
        before = spawn(group, request_summary(job, history, room * 2 / 3))
        after = spawn(group, request_summary(job, beginning, room / 3))
    one, two = before.result(), after.result()
    usage = add_usage(one.usage, two.usage)
    if one.text and two.text:
        return SummaryAttempt(summaries.join_notes(one.text, two.text), usage=usage)
    failed = [attempt for attempt in (one, two) if not attempt.text]
    return SummaryAttempt(
        problem=failed[0].problem, usage=usage, retryable=all(attempt.retryable for attempt in failed)
    )


async def request_summary(
    job: CompactionInput, request: summaries.SummaryRequest, room: float
) -> SummaryAttempt:
    """Request a summary of about `room` estimated tokens; does not raise."""
    window = int(job.window / max(job.ratio, 1))
    try:
        answer = await job.complete(job.model, summaries.build_request(request, job.model, window))
    except ProviderError as error:
        problem = f"No summary could be made: {error}"
        return SummaryAttempt(problem=problem, retryable=error.retryable or error.overflow)
    except TauError as error:
        return SummaryAttempt(problem=f"No summary could be made: {error}")
    except Exception as error:
        log.error("A summary failed unexpectedly.", error)
        return SummaryAttempt(problem="No summary could be made; the log file has the details.")
    text = summaries.extract_summary(answer, may_be_cut=request.reduced)
    if text is None:
        return SummaryAttempt(
            problem=f"{job.model.key} returned no summary.", usage=answer.usage, retryable=True
        )
    if text_tokens(text) > room * plans.OVERSHOOT:
        return SummaryAttempt(
            problem=f"The summary of {job.model.key} was too long.", usage=answer.usage, retryable=True
        )
    return SummaryAttempt(text, usage=answer.usage)
