"""All errors that users or models can see, as one small tree.

TauError                 one sentence for the user; the log file has the trace
├── UsageError           wrong use of the command line (exit code 2)
├── ConfigError          a settings, auth or models file is invalid: its path and line
├── ProviderError        a model's server refused, failed, stalled or dropped the connection
├── StreamInterrupted    a stream rule stopped an answer, which is asked for again
├── ToolError            a tool failed: text for the model
├── BudgetExhausted      a request was not sent: turns, tokens, money or time are used up
├── NothingToDo          nothing is wrong, but there is nothing to do
├── SessionError         a session cannot be read, written or found (SessionLocked: another tau has it open)
└── ExtensionError       an extension failed: which one
"""

from pathlib import Path
from typing import Literal

ErrorKind = Literal[
    "auth",  # the key is refused
    "payment",  # the account has to pay first
    "quota",  # a plan is used up for hours or days
    "rateLimit",
    "overloaded",
    "overflow",  # the request does not fit into the window
    "invalid",  # the request is refused, and so would be its repetition
    "contentFilter",  # the model or a filter declines
    "staleReasoning",  # opaque reasoning of an earlier answer is refused
    "network",
    "stall",  # the server sends nothing anymore
    "bug",  # the server failed, or sent what nobody understands
]


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

    `retryable`: the same request may succeed later, after `retry_after` seconds if the server said so.
    `overflow`: the request exceeds the model's context window. `quota`: the account's quota is used up, so
    waiting a few minutes does not help. `media`: the server rejected only an image or a document.
    `answer_limit`: the longest answer, in tokens, that the server would allow for the same prompt. `window`:
    the tokens that prompt and answer did not fit into together. `bad_call`: the server could not read the
    model's tool call; a sentence for the model. `blames_network`: a proxy refused it, not the provider.
    `request_id` is how the vendor's support finds the request.
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
        answer_limit: int | None = None,
        window: int | None = None,
        bad_call: str = "",
        blames_network: bool = False,
        kind: ErrorKind | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retryable = retryable
        self.retry_after = retry_after
        self.overflow = overflow
        self.quota = quota
        self.media = media
        self.answer_limit = answer_limit
        self.window = window
        self.bad_call = bad_call
        self.blames_network = blames_network
        self.kind: ErrorKind = kind or self._usual_kind()
        self.request_id = request_id

    def _usual_kind(self) -> ErrorKind:
        if self.overflow:
            return "overflow"
        if self.quota:
            return "quota"
        if self.key_refused:
            return "auth"
        return "network" if self.retryable else "invalid"

    @property
    def key_refused(self) -> bool:
        return self.status in (401, 403) and not self.blames_network

    @property
    def blames_key(self) -> bool:
        """Whether another key may serve the same request now. A request that asks for less needs none."""
        return self.answer_limit is None and (self.key_refused or self.quota or self.status == 429)


class StreamInterrupted(TauError):
    """A rule stopped the answer while it streamed."""


class ToolError(TauError):
    """A tool failure, worded for the model."""


class BudgetExhausted(TauError):
    """A request was not sent, because a limit is used up; `kind` is `budget` or `timeout`."""

    def __init__(self, message: str, kind: str = "budget") -> None:
        super().__init__(message)
        self.kind = kind


class NothingToDo(TauError):
    """There is nothing to do; modes report it as a notice, not an error."""


class SessionError(TauError):
    """A session cannot be found, read or written."""


class ExtensionError(TauError):
    """An extension failed."""

    def __init__(self, message: str, *, source: str) -> None:
        super().__init__(f"{source}: {message}")
        self.source = source
