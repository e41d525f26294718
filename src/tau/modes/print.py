"""Print mode: sends the prompts, then writes only the last answer to stdout."""

import sys
from collections.abc import Awaitable, Sequence

from msgspec import json

from tau.agent.events import (
    AgentEvent,
    CompactionEnd,
    CompactionStart,
    MessageUpdate,
    Notice,
    RetryStart,
    RulesTriggered,
)
from tau.agent.loop import Outcome
from tau.base import secrets
from tau.base.late import late
from tau.coding.session.session import Session
from tau.modes.event_texts import compaction_line, notice_line, retry_line, rules_line
from tau.modes.exit_status import DONE, INTERRUPTED, JOBS_STOPPED, ExitStatus, judge
from tau.modes.output_stream import OutputStream, tell
from tau.modes.user_prompt import UserPrompt, expanded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from tau.modes.answer_schema import AnswerSchema

answer_schemas = late("tau.modes.answer_schema")
job_results = late("tau.modes.job_results")


async def run(
    session: Session,
    prompts: Sequence[UserPrompt],
    out: OutputStream,
    schema: "AnswerSchema | None" = None,
) -> int:
    """Returns the exit code. Stops at the first failing prompt. With a schema, the answer is its JSON."""
    for notice in session.notices:
        tell(notice_line(notice))
    is_watched = sys.stderr is not None and sys.stderr.isatty()
    if is_watched and not session.model.demo:
        tell(f"Using {session.model.key}; choose another with --model, see --list-models.")
    stop_listening = session.subscribe(_tell_event)
    outcome: Outcome | None = None

    async def turn(running: Awaitable[Outcome]) -> ExitStatus:
        nonlocal outcome
        outcome = await running
        verdict = judge(outcome)
        if verdict.code == INTERRUPTED and session.log.path is not None:
            tell(f"{verdict.remark} Your progress is saved; resume with tau --continue.")
        elif verdict.remark:
            tell(verdict.remark)
        return verdict

    try:
        for prompt in prompts:
            if session.extensions is not None and await session.extensions.run_command(prompt.text):
                continue
            verdict = await turn(session.prompt(expanded(session, prompt), prompt.images))
            if verdict.code != DONE:
                return verdict.code
        verdict = await job_results.finish_jobs(session, turn) if _has_work(session) else ExitStatus(DONE)
        if verdict.code in (INTERRUPTED, JOBS_STOPPED):
            tell(verdict.remark)
        elif verdict.code != DONE:
            return verdict.code
        if schema is not None and outcome is not None:
            status, data = await answer_schemas.complete_answer(session, schema, turn)
            if status.code != DONE:
                tell(status.remark)
                return status.code
            _answer(json.encode(data).decode(), out)
            return verdict.code
    finally:
        stop_listening()
    if outcome is not None and outcome.message is not None:
        _answer(outcome.message.text, out)
    return verdict.code


def _has_work(session: Session) -> bool:
    """Whether jobs still run, or their results or notes of extensions wait for a turn."""
    return bool(session.jobs.list() or session.queue.waiting())


def _answer(text: str, out: OutputStream) -> None:
    if not text.strip():
        tell("The model returned an empty response.")
        return
    text = secrets.mask_keys(text)
    out.text(text if text.endswith("\n") else f"{text}\n")


def _tell_event(event: AgentEvent) -> None:
    if isinstance(event, MessageUpdate):
        return  # by far the most frequent
    if isinstance(event, Notice):
        tell(notice_line(event))
    elif isinstance(event, RetryStart):
        tell(retry_line(event))
    elif isinstance(event, RulesTriggered):
        tell(rules_line(event))
    elif isinstance(event, (CompactionStart, CompactionEnd)) and (remark := compaction_line(event)):
        tell(remark)
