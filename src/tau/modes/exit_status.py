"""How a run ended, as an exit code and a message."""

from msgspec import UNSET, Struct

from tau.agent.loop import Outcome
from tau.base.errors import ProviderError, TauError, UsageError

DONE = 0
FAILED = 1
WRONG_USE = 2
JOBS_STOPPED = 3  # the answer is complete, but background jobs were stopped
TRY_LATER = 75  # EX_TEMPFAIL: the same command may work later
INTERRUPTED = 130
NOBODY_READS = 141  # as if SIGPIPE had killed us


class ExitStatus(Struct, frozen=True):
    """`remark` is empty on success."""

    code: int
    remark: str = ""


def code_of(error: TauError) -> int:
    if isinstance(error, UsageError):
        return WRONG_USE
    if isinstance(error, ProviderError) and error.retryable:
        return TRY_LATER
    return FAILED


def judge(outcome: Outcome) -> ExitStatus:
    if outcome.aborted:
        return ExitStatus(INTERRUPTED, "Interrupted.")
    if outcome.error is not None:
        return ExitStatus(code_of(outcome.error), str(outcome.error))
    message = outcome.message
    if message is None:
        return ExitStatus(FAILED, "The message was not sent: an extension handled it.")
    if message.stop_reason in ("error", "aborted"):
        reason = message.error_message
        return ExitStatus(FAILED, reason if reason is not UNSET else "The model gave no response.")
    if message.stop_reason == "length":
        return ExitStatus(DONE, "The answer was cut off at the length limit.")
    return ExitStatus(DONE)
