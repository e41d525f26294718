"""What statuses and error codes of all vendors mean."""

from tau.ai.apis import refusals
from tau.base.errors import ErrorKind

RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
KEY_STATUS = frozenset({401, 403})
OVERFLOW_STATUS = frozenset({400, 413, 422, 500})
OVERLOAD_KINDS = refusals.codes("overload")
SERVER_KINDS = OVERLOAD_KINDS | refusals.codes("server")
FINAL_KINDS = refusals.codes("final")
QUOTA_KINDS = refusals.codes("quota")
OVERFLOW_KINDS = refusals.codes("overflow")

# Errors caused by an image or a document rather than by the whole request.
MEDIA_STATUS = frozenset({400, 404, 413, 415, 422, 500})  # some use 404 or 500 for a model without vision
MEDIA_KINDS = refusals.codes("media")
RATE_KINDS = refusals.codes("rate")
AUTH_KINDS = refusals.codes("auth")
STALE_KINDS = refusals.codes("stale")
STALE_STATUS = frozenset({400, 404, 422})
FILTER_KINDS = refusals.codes("filter")

# What a failure is: its codes first, then its status.
KIND_BY_CODE: tuple[tuple[frozenset[str], ErrorKind], ...] = (
    (FILTER_KINDS, "contentFilter"),
    (AUTH_KINDS, "auth"),
    (RATE_KINDS, "rateLimit"),
    (OVERLOAD_KINDS, "overloaded"),
    (SERVER_KINDS, "bug"),
)
KIND_BY_STATUS: dict[int, ErrorKind] = {
    401: "auth",
    402: "payment",
    403: "auth",
    408: "overloaded",
    409: "overloaded",
    425: "overloaded",
    429: "rateLimit",
    500: "bug",
    502: "overloaded",
    503: "overloaded",
    504: "overloaded",
    520: "overloaded",
    522: "overloaded",
    524: "overloaded",
    529: "overloaded",
}
