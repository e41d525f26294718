"""Reports fatal errors: one line on stderr, the details in the log file."""

import os
import sys
from pathlib import Path

from tau.base import log
from tau.base.errors import ConfigError, TauError
from tau.base.text import sentence
from tau.config.paths import user_paths
from tau.config.secret_mask import mask_known_secrets
from tau.modes.exit_status import FAILED, INTERRUPTED, NOBODY_READS, code_of
from tau.modes.output_stream import silence, tell


def report_failure(error: BaseException) -> int:
    """Print one line and return the exit code."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    if isinstance(error, BrokenPipeError):
        silence(sys.stdout)
        return NOBODY_READS
    folder = _log_folder()
    log.to(folder)
    if isinstance(error, TauError):
        log.debug(str(error), error)
        tell(str(error))
        return code_of(error)
    log.error("Unexpected error.", error)
    what = sentence(f"Unexpected error: {type(error).__name__}: {error}")
    tell(what if folder is None else f"{what} See {folder / 'tau.log'} for details.")
    return FAILED


def _log_folder() -> Path | None:
    try:
        paths = user_paths()
        mask_known_secrets(os.environ, paths)
        return paths.logs
    except ConfigError:  # the user has no home folder
        return None
