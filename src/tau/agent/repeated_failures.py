"""Detects a model that repeats the same failing call."""

from tau.agent.output import ToolOutput
from tau.ai.wire import TextContent, ToolCall
from tau.base.errors import TauError

TELL_AT = 5
STOP_AT = 10
MAX_COUNTED = 1000


class FailedCalls:
    """Counts consecutive failures of the same call. `error` ends the run."""

    def __init__(self) -> None:
        self.error: TauError | None = None
        self._counts: dict[int, int] = {}

    def judge(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        """Add a hint to the output if the model keeps repeating a failing call."""
        if not output.is_error:
            self._counts.clear()
            return output
        if len(self._counts) >= MAX_COUNTED:
            self._counts.clear()
        key = hash((call.name, repr(call.arguments)))
        count = self._counts[key] = self._counts.get(key, 0) + 1
        if count < TELL_AT:
            return output
        if count >= STOP_AT:
            self.error = TauError(
                f"The run was stopped: the model sent the same failing call of {call.name} {count} times "
                "in a row."
            )
        word = TextContent(
            f"[This call has failed {count} times in a row with the same arguments; sending it again "
            "will not help. Change the arguments, try another way, or tell the user what blocks you.]"
        )
        return ToolOutput([*output.content, word], output.details, output.is_error)
