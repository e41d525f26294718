"""All errors that users or models can see, as one small tree.

TauError                 one sentence for the user; the log file has the trace
├── UsageError           wrong use of the command line (exit code 2)
├── ConfigError          a settings, auth or models file is broken: its path and line
├── ProviderError        a model's server refused, failed, stalled or cut the connection
├── ToolError            a tool could not do its work: text for the model
├── NothingToDo          nothing is wrong: there is nothing for it to do
├── SessionError         a session cannot be read, written or found (SessionLocked: another tau has it)
└── ExtensionError       code from outside failed: which one
"""

from pathlib import Path


class TauError(Exception):
    """Base of all expected errors; `str(error)` is one clear sentence."""


class UsageError(TauError):
    """Invalid usage."""


class ConfigError(TauError):
    """A configuration file is invalid; nothing was changed."""

    def __init__(self, message: str, *, path: Path | None = None, line: int | None = None) -> None:
        where = "" if path is None else f"{path}:{line}: " if line is not None else f"{path}: "
        super().__init__(where + message)
        self.path = path
        self.line = line


class ProviderError(TauError):
    """A request to a model failed.

    `retryable` says whether the same request may succeed later, `retry_after` how many seconds the server
    asked us to wait, `overflow` that the request was larger than the model's context window. `quota`: what
    the account may use is used up, so that waiting some minutes would not help. `media`: the server takes
    everything but an image or a document of the request.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after: float | None = None,
        overflow: bool = False,
        quota: bool = False,
        media: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.overflow = overflow
        self.quota = quota
        self.media = media

    @property
    def key_refused(self) -> bool:
        return self.status in (401, 403)

    @property
    def blames_key(self) -> bool:
        """Whether another key may serve the same request now."""
        return self.key_refused or self.quota or self.status == 429


class ToolError(TauError):
    """A tool failure, worded for the model."""


class NothingToDo(TauError):
    """There is nothing to do; modes report it as a notice, not an error."""


class SessionError(TauError):
    """A session cannot be found, read or written."""


class ExtensionError(TauError):
    """An extension failed."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(f"{source}: {message}")
        self.source = source
