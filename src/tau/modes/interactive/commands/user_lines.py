"""Lines of the person's own: `!` runs one in the shell, `$` in Python; doubled, the model is not told."""

from typing import TYPE_CHECKING

from tau.base.errors import TauError, UsageError
from tau.modes.interactive.commands.shared_text import session_of

if TYPE_CHECKING:
    from tau.modes.interactive.app import App

BESIDE = "lines"


class UserExecutions:
    """Runs any number of them beside each other; the lane tells of them while one runs."""

    def __init__(self, app: "App") -> None:
        self._app = app
        self._running: list[str] = []

    async def run(self, text: str) -> None:
        """Run one to its end, with its output as it comes. Raises TauError."""
        session = session_of(self._app)
        sign = text[:1]
        exclude = text.startswith(sign * 2)
        code = text.lstrip(sign).strip()
        if not code:
            example = "!ls" if sign == "!" else "$1 + 1"
            raise UsageError(f"There is nothing to run; type it behind the sign, as in {example}.")
        run = session.bash if sign == "!" else session.python
        told = "Running your command" if sign == "!" else "Running your Python"
        self._begin(told)
        block = self._app.events.shell_line(sign, code, exclude=exclude)
        try:
            block.finish(await run(code, exclude=exclude, show=block.write))
        except TauError as error:
            block.fail(str(error))
        finally:
            block.finish()
            self._end(told)

    def _begin(self, told: str) -> None:
        self._running.append(told)
        self._app.lane.show(told, beside=BESIDE)

    def _end(self, told: str) -> None:
        self._running.remove(told)
        if self._running:
            self._app.lane.show(self._running[-1], beside=BESIDE)
        else:
            self._app.lane.hide(BESIDE)
