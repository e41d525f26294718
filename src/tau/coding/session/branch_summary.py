"""The summary of a branch that the user leaves: which part of it is sent to a model, and what comes back."""

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from tau.agent.owner import Complete
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.normalization import clean
from tau.ai.wire import AppMessage, AssistantMessage, Usage, UserMessage
from tau.base.clock import now_ms
from tau.base.errors import ProviderError
from tau.coding.session.compaction.file_ops import FileOps, file_lists, file_ops, without_file_lists
from tau.coding.session.compaction.summary import record_text

FILES_TOKENS = 2_000  # of the lists of files behind the summary
ANSWER_TOKENS = 4_096
TRIES = 3  # each with half of the one before, where a server finds the record too large
NOTHING = "(nothing)"  # what the record of an empty branch is


class BranchSummaryResult(Struct, frozen=True):
    """`details` names the files that were read and changed."""

    text: str
    details: dict[str, list[str]]
    usage: Usage


class Branch(Struct, frozen=True, kw_only=True):
    """What is left behind. `before` are the files that summaries on it have noted down."""

    messages: Sequence[AppMessage]
    cwd: str
    before: Sequence[FileOps] = ()


async def summarise(
    complete: Complete, model: Model, branch: Branch, *, reserve_tokens: int, instructions: str | None = None
) -> BranchSummaryResult | None:
    """What a model makes of a branch; None where there is nothing on it to tell.

    Raises ProviderError where the model fails or says nothing.
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
    raise AssertionError("The last try returns or raises.")


def budget_tokens(model: Model, reserve_tokens: int) -> int:
    """How much of a branch is sent: the window without the reserve, or half of a window that is small."""
    return max(model.context_window - reserve_tokens, model.context_window // 2)


def summary_request(
    model: Model, messages: Sequence[AppMessage], budget: int, instructions: str | None = None
) -> Request | None:
    """The request for a summary: what fits of the branch, the newest first; None if nothing is on it."""
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
        raise ProviderError("The model wrote no summary of the branch; try again, or leave it without one.")
    return BranchSummaryResult(text + file_lists(files, FILES_TOKENS), files.details(), answer.usage)
