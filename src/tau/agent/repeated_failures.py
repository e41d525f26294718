"""Notices a model that sends the same failing call again and again."""

from tau.agent.output import ToolOutput
from tau.ai.wire import TextContent, ToolCall
from tau.base.errors import TauError

TELL_AT = 5
STOP_AT = 10
MAX_COUNTED = 1000


class FailedCalls:
    """Counts failures of the same call with nothing that succeeds in between. `error` ends the run."""

    def __init__(self) -> None:
        self.error: TauError | None = None
        self._counts: dict[int, int] = {}

    def judge(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        """The output, with a word for the model where it does not learn from its failures."""
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
            f"[This call has failed {count} times in a row with the same arguments, and sending it again "
            "will not help. Change the arguments, take another way, or tell the user what is in the way.]"
        )
        return ToolOutput([*output.content, word], output.details, output.is_error)
