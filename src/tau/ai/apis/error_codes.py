"""What statuses and error codes of all vendors mean."""

from tau.base.errors import ErrorKind

RETRYABLE_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
KEY_STATUS = frozenset({401, 403})
OVERFLOW_STATUS = frozenset({400, 413, 422, 500})
OVERLOAD_KINDS = frozenset(
    {
        *("overloaded_error", "engine_overloaded_error", "server_is_overloaded", "rate_limit_error"),
        *("rate_limit_exceeded", "too_many_requests", "resource_exhausted", "unavailable"),
    }
)
SERVER_KINDS = OVERLOAD_KINDS | {
    *("api_error", "timeout_error", "server_error", "internal_error", "internal_server_error"),
    "service_unavailable",
}
FINAL_KINDS = frozenset(
    {
        *("invalid_request_error", "authentication_error", "permission_error", "not_found_error"),
        *("request_too_large", "billing_error", "invalid_api_key", "model_not_found", "invalid_argument"),
        *("invalid_prompt", "data_residency_mismatch"),
    }
)
QUOTA_KINDS = frozenset(
    {
        *("insufficient_quota", "billing_error", "billing_hard_limit_reached", "billing_not_active"),
        *("insufficient_balance", "exceeded_current_quota_error"),
    }
)
OVERFLOW_KINDS = frozenset(
    {
        *("context_length_exceeded", "context_window_exceeded", "exceed_context_size_error"),
        *("model_context_window_exceeded", "model_max_prompt_tokens_exceeded", "request_too_large"),
        "tokens_limit_reached",
    }
)

# Errors caused by an image or a document rather than by the whole request.
MEDIA_STATUS = frozenset({400, 404, 413, 415, 422, 500})  # some use 404 or 500 for a model without vision
MEDIA_KINDS = frozenset(
    {
        *("invalid_image", "invalid_image_format", "invalid_image_url", "invalid_image_mode"),
        *("invalid_base64_image", "image_parse_error", "image_too_large", "image_too_small"),
        *("image_file_too_large", "empty_image_file", "failed_to_download_image"),
        *("unsupported_image_media_type", "image_content_policy_violation"),
    }
)
RATE_KINDS = frozenset({"rate_limit_error", "rate_limit_exceeded", "too_many_requests"})
AUTH_KINDS = frozenset({"authentication_error", "permission_error", "invalid_api_key", "access_denied"})
STALE_KINDS = frozenset({"invalid_encrypted_content", "thinking_signature_invalid"})
STALE_STATUS = frozenset({400, 404, 422})
FILTER_KINDS = frozenset(
    {
        *("content_filter", "content_policy_violation", "responsibleaipolicyviolation", "bio_policy"),
        *("misalignment_policy_violation", "sensitive_content"),
    }
)

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
