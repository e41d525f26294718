"""The user's own lines: `!` runs shell, `$` runs Python; doubled, they stay out of the model's context."""

from tau.base.errors import TauError, UsageError
from tau.modes.interactive.current_session import CurrentSession
from tau.modes.interactive.event_controller import EventController
from tau.modes.interactive.status.activity_line import ActivityLine
from tau.modes.interactive.transcript.user_execution import ExecutionKind

BESIDE = "lines"


class UserExecutions:
    """Runs any number of lines concurrently, shown on the activity line."""

    def __init__(self, current: CurrentSession, activity: ActivityLine, transcript: EventController) -> None:
        self._current = current
        self._activity = activity
        self._transcript = transcript
        self._running: list[str] = []

    async def run(self, text: str) -> None:
        """Run a line to completion, streaming its output. Raises TauError."""
        session = self._current.require()
        sign = text[:1]
        exclude = text.startswith(sign * 2)
        code = text.lstrip(sign).strip()
        if not code:
            example = "!ls" if sign == "!" else "$1 + 1"
            raise UsageError(f"Nothing to run; type a command after the prefix, as in {example}.")
        kind: ExecutionKind = "bash" if sign == "!" else "python"
        run = session.bash if sign == "!" else session.python
        activity = "Running your command" if sign == "!" else "Running your Python"
        self._running.append(activity)
        self._activity.show(activity, beside=BESIDE)
        block = self._transcript.add_execution(kind, code, exclude=exclude)
        try:
            block.finish(await run(code, exclude=exclude, show=block.write))
        except TauError as error:
            block.fail(str(error))
        finally:
            block.finish()
            self._running.remove(activity)
            if self._running:
                self._activity.show(self._running[-1], beside=BESIDE)
            else:
                self._activity.hide(BESIDE)
