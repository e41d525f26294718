"""What an error that ended the program looks like: one line on stderr, the rest in the log file."""

from tau.base import log
from tau.base.errors import TauError
from tau.cli.main import silence_stdout
from tau.config.paths import user_paths
from tau.modes.output import tell
from tau.modes.verdict import FAILED, INTERRUPTED, NOBODY_READS, code_of


def exit_code(error: BaseException) -> int:
    """Tell the user in one line and say how to exit."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        silence_stdout()
        return NOBODY_READS
    folder = user_paths().logs
    log.to(folder)
    if isinstance(error, TauError):
        log.debug(str(error), error)
        tell(str(error))
        return code_of(error)
    log.error("tau ended by an error that it did not expect", error)
    tell(f"unexpected error: {type(error).__name__}: {error}; the details are in {folder / 'tau.log'}")
    return FAILED
