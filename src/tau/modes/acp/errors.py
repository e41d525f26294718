"""Failures as JSON-RPC errors: the sentence is what the editor shows."""

from collections.abc import Iterator
from contextlib import contextmanager

from acp import RequestError

from tau.base import log
from tau.base.errors import TauError, UsageError

INVALID_PARAMS, INTERNAL = -32602, -32603


@contextmanager
def request_errors() -> Iterator[None]:
    """Turn our errors into answers; the log has the trace of what nobody expected."""
    try:
        yield
    except UsageError as error:
        raise RequestError(INVALID_PARAMS, str(error)) from error
    except TauError as error:
        raise RequestError(INTERNAL, str(error)) from error
    except (RequestError, ConnectionError):
        raise
    except Exception as error:
        log.error("An ACP request failed unexpectedly.", error)
        text = f"The request failed unexpectedly: {error!r}. The log file has the details."
        raise RequestError(INTERNAL, text) from error
