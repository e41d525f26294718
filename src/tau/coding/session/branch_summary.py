"""Summarizes a branch that the user leaves."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.agent.loop_owner import Complete
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import clean
from tau.ai.wire import AppMessage, AssistantMessage, Usage, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import ProviderError
from tau.coding.session.compaction.file_ops import FileOps, file_lists, file_ops, without_file_lists
from tau.coding.session.compaction.summary import record_text

FILES_TOKENS = 2_000  # of the file lists after the summary
ANSWER_TOKENS = 4_096
TRIES = 3  # each with half the budget, if a server finds the record too large
NOTHING = "(nothing)"  # the record of an empty branch


class BranchSummaryResult(Struct, frozen=True):
    """`details` lists the files read and changed."""

    text: str
    details: dict[str, list[str]]
    usage: Usage


class Branch(Struct, frozen=True, kw_only=True):
    """The branch being left. `before` are the files listed by summaries on it."""

    messages: Sequence[AppMessage]
    cwd: str
    before: Sequence[FileOps] = ()


async def summarize_branch(
    complete: Complete, model: Model, branch: Branch, *, reserve_tokens: int, instructions: str | None = None
) -> BranchSummaryResult | None:
    """Summarize a branch; None if there is nothing on it to summarize.

    Raises ProviderError if the model fails or returns nothing.
    """
    budget = budget_tokens(model, reserve_tokens)
    for attempt in range(1, TRIES + 1):
        request = summary_request(model, branch.messages, budget, instructions)
        if request is None:
            return None
        try:
            answer = await complete(model, request)
        except ProviderError as error:
            if not error.overflow or attempt == TRIES:
                raise
            budget //= 2
            continue
        return _summary(answer, file_ops(branch.messages, branch.cwd, branch.before))
    raise AssertionError("The last attempt returns or raises.")


def budget_tokens(model: Model, reserve_tokens: int) -> int:
    """How much of a branch to send: the window minus the reserve, or half of a small window."""
    return max(model.context_window - reserve_tokens, model.context_window // 2)


def summary_request(
    model: Model, messages: Sequence[AppMessage], budget: int, instructions: str | None = None
) -> Request | None:
    """The request for a summary of what fits of the branch, newest first; None if it is empty."""
    system = Path(__file__).with_name("branch_summary.md").read_text(encoding="utf-8").strip()
    if instructions and instructions.strip():
        system = f"{system}\n\nFor this summary the user asks:\n{instructions.strip()}"
    record = record_text(messages, budget)
    if record == NOTHING:
        return None
    return Request(
        system=clean(system),
        messages=[UserMessage(clean(f"<conversation>\n{record}\n</conversation>"), now_ms())],
        tools=[],
        max_tokens=max(1, min(ANSWER_TOKENS, model.max_tokens, model.context_window // 4)),
    )


def _summary(answer: AssistantMessage, files: FileOps) -> BranchSummaryResult:
    if answer.stop_reason in ("error", "aborted"):
        raise ProviderError(answer.error_message or "The model did not finish the summary of the branch.")
    text = without_file_lists(re.sub(r"(?s)^\s*<think(?:ing)?>.*?</think(?:ing)?>", "", answer.text))
    if not text:
        raise ProviderError("The model wrote no summary of the branch; try again, or leave without one.")
    return BranchSummaryResult(text + file_lists(files, FILES_TOKENS), files.details(), answer.usage)
