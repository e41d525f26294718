"""What a server's refusal becomes: one sentence, and whether waiting or shrinking would help."""

import json
from typing import Any

import pytest

from tau.ai.apis.error_response import (
    ANOTHER_MODEL,
    cut_off,
    error_from_event,
    error_from_status,
    parse_error_body,
)
from tau.ai.apis.retry_after import duration, in_text, seconds
from tau.base.errors import ProviderError

NOW = 1_790_000_000.0


def fail(status: int, body: Any = b"", headers: dict[str, str] | None = None, **more: Any) -> ProviderError:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return error_from_status(status, headers or {}, raw, now=NOW, provider="acme", **more)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "Overloaded"),
        ({"error": {"message": "No such model", "type": "x", "code": None}}, "No such model"),
        ({"error": "model not loaded"}, "model not loaded"),
        ({"message": "Unprocessable", "object": "error"}, "Unprocessable"),
        ({"detail": "Not here"}, "Not here"),
        ({"detail": [{"loc": ["body"], "msg": "field required"}]}, "field required"),
        ([{"error": {"code": 400, "message": "Bad argument", "status": "INVALID_ARGUMENT"}}], "Bad argument"),
        ({"errors": [{"message": "first"}, {"message": "second"}]}, "first"),
        (
            {
                "error": {
                    "message": "Provider returned error",
                    "metadata": {"raw": '{"error":{"message":"deep"}}'},
                }
            },
            "deep",
        ),
        ("just text", "just text"),
        (b"plain words\nin two lines", "plain words in two lines"),
        (b"<html><head><title>502 Bad Gateway</title></head><body>x</body></html>", "502 Bad Gateway"),
        (b"<html><body><h1>Blocked</h1><style>p{}</style><p>Ask your admin</p></body></html>", "Blocked Ask"),
        (b"\xff\xfe broken", "broken"),
        (b"<p>Blocked", "Blocked"),
        (b"expected <b> but found <c>", "expected <b> but found <c>"),
        (b"<title> </title><p>Blocked", "Blocked"),
        (b"", "Not Found"),
        ([], "Not Found"),
        (17, "Not Found"),
    ],
)
def test_user_reads_the_vendors_message(body: Any, sentence: str) -> None:
    error = fail(404, body)
    assert sentence in str(error)
    assert str(error).startswith("acme answered 404: ")
    assert "\n" not in str(error)
    assert error.status == 404


@pytest.mark.parametrize(
    ("status", "reason", "lacks"),
    [
        (404, "The model `x` does not exist or you do not have access to it.", True),
        (404, "model: claude-x", True),
        (404, "models/x is not found for API version v1beta", True),
        (400, "x is not a valid model ID", True),
        (400, "The model x was not found.", True),
        (404, "page not found", False),
        (400, "messages: text must not be empty", False),
        (500, "The model x was not found.", False),
    ],
)
def test_missing_model_says_how_to_choose_another(status: int, reason: str, lacks: bool) -> None:
    assert (ANOTHER_MODEL in str(fail(status, {"error": {"message": reason}}))) is lacks


def test_long_error_body_is_cut() -> None:
    assert len(str(fail(500, b"word " * 1000))) < 700


@pytest.mark.parametrize("page", ["<script>", "<", "<title>", "<style", "wait 1 s and "])
def test_large_error_page_does_not_hang(page: str) -> None:
    body = f"<html>{page * 100_000}"
    assert len(str(fail(502, body.encode()))) < 700
    assert len(str(fail(502, {"error": {"message": body}}))) < 700
    assert len(str(fail(502, body))) < 700


def test_page_of_a_proxy_does_not_blame_the_key() -> None:
    error = fail(403, b"<html><title>Access denied</title><body>Blocked by policy.</body></html>")
    assert str(error) == (
        "A proxy or firewall refused the request to acme (403): Access denied. "
        "Check your network, your proxy and the base URL."
    )
    assert not error.blames_key and not error.key_refused
    assert fail(403, {"error": {"message": "No access"}}).key_refused


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 504, 529])
def test_transient_failures_are_retryable(status: int) -> None:
    assert fail(status).retryable


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 501])
def test_permanent_failures_are_not_retryable(status: int) -> None:
    assert not fail(status).retryable


def test_overload_with_a_wrong_status_is_still_retryable() -> None:
    assert fail(400, {"error": {"type": "overloaded_error", "message": "Overloaded"}}).retryable
    assert not fail(401, {"error": {"type": "overloaded_error", "message": "Overloaded"}}).retryable


@pytest.mark.parametrize(
    "error",
    [
        {"code": "insufficient_quota", "message": "You exceeded your current quota."},
        {"type": "billing_error", "message": "x"},
        {"message": "Your credit balance is too low to access the API."},
        {"message": "You exceeded your current quota, please check your plan and billing details."},
    ],
)
def test_exhausted_quota_is_not_retryable(error: dict[str, str]) -> None:
    failed = fail(429, {"error": error}, {"retry-after": "3"})
    assert not failed.retryable
    assert failed.quota
    assert failed.retry_after is None


@pytest.mark.parametrize(
    "message",
    ["Rate limit exceeded: free-models-per-day", "Daily request limit reached", "Limit on requests (RPD)"],
)
def test_daily_limit_is_retryable_but_not_within_minutes(message: str) -> None:
    failed = fail(429, {"error": {"message": message}})
    assert (failed.retryable, failed.quota, failed.retry_after) == (True, True, None)
    minutes = fail(429, {"error": {"message": f"{message}. Please try again in 2m10s."}})
    assert (minutes.retryable, minutes.quota, minutes.retry_after) == (True, False, 130)
    reported = fail(429, {"error": {"message": message}}, {"retry-after": "20"})
    assert (reported.quota, reported.retry_after) == (False, 20)
    assert not fail(503, {"error": {"message": message}}).quota


@pytest.mark.parametrize(
    ("limit", "quota"),
    [("GenerateRequestsPerDayPerProjectPerModel-FreeTier", True), ("GenerateRequestsPerMinute", False)],
)
def test_short_delay_of_a_daily_limit_is_ignored(limit: str, quota: bool) -> None:
    details = [
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": limit}]},
        {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "38s"},
    ]
    error = {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota exceeded.", "details": details}
    failed = fail(429, {"error": error})
    assert (failed.retryable, failed.quota, failed.retry_after) == (True, quota, None if quota else 38)


@pytest.mark.parametrize(
    ("status", "error", "blamed"),
    [
        (401, {}, True),
        (403, {}, True),
        (429, {}, True),
        (402, {}, True),
        (400, {"message": "Your credit balance is too low."}, True),
        (400, {"message": "No such parameter."}, False),
        (503, {}, False),
        (404, {}, False),
    ],
)
def test_whether_another_key_may_help(status: int, error: dict[str, str], blamed: bool) -> None:
    assert fail(status, {"error": error}).blames_key is blamed


REFUSED_MEDIA: list[tuple[int, dict[str, Any]]] = [
    (400, {"type": "invalid_request_error", "message": "Could not process image"}),
    (400, {"message": "messages.3.content.1.image.source.base64.data: image exceeds 5 MB maximum: 6 > 5"}),
    (400, {"message": "messages.0.content.0.image.source.base64: invalid base64 data"}),
    (400, {"message": "At least one of the image dimensions exceed max allowed size: 8000 pixels"}),
    (400, {"message": "image dimensions exceed max allowed size for many-image requests: 2000 pixels"}),
    (400, {"message": "too much media: 0 document pages + 101 images > 100"}),
    (400, {"message": "Too many images in request."}),
    (400, {"message": "The PDF specified was not valid."}),
    (400, {"message": "A maximum of 100 PDF pages may be provided."}),
    (
        400,
        {"message": "The image was specified as image/png, but the image appears to be a image/jpeg image"},
    ),
    (400, {"message": "You uploaded an unsupported image. Please make sure your image is valid."}),
    (400, {"code": "invalid_image_format", "message": "No."}),
    (400, {"code": "image_parse_error", "message": "No."}),
    (400, {"message": "Bad value.", "param": "messages.[0].content.[1].image_url"}),
    (400, {"message": "The image data you provided does not represent a valid image."}),
    (400, {"message": "Unable to process input image. Please retry or report it."}),
    (400, {"message": "Provided image is not valid."}),
    (400, {"message": "Invalid content type. image_url is only supported by certain models."}),
    (400, {"message": "this model does not support image input"}),
    (404, {"message": "No endpoints found that support image input"}),
    (413, {"message": "The image is too large."}),
    (415, {"message": "Unsupported MIME type: image/tiff"}),
    (422, {"message": "Failed to decode image"}),
    (500, {"message": "image input is not supported - hint: provide the mmproj file"}),
]


@pytest.mark.parametrize(("status", "error"), REFUSED_MEDIA)
def test_rejected_picture_or_document_is_recognized(status: int, error: dict[str, Any]) -> None:
    failed = fail(status, {"error": error})
    assert (failed.media, failed.retryable, failed.overflow) == (True, False, False)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "Too many images in this minute"),
        (401, "invalid image key"),
        (503, "Could not process image"),
        (400, "prompt is too long: 213462 tokens > 200000 maximum"),
        (400, "messages.500.content: field required"),
        (400, "Unknown parameter: imagine"),
        (404, "The model `gpt-image` does not exist"),
        (400, "The document store does not exist"),
    ],
)
def test_other_failures_are_not_blamed_on_a_picture(status: int, message: str) -> None:
    assert not fail(status, {"error": {"message": message}}).media


def test_rate_limit_that_mentions_billing_but_has_a_delay_is_retryable() -> None:
    failed = fail(
        429,
        {
            "error": {
                "code": 429,
                "status": "RESOURCE_EXHAUSTED",
                "message": "You exceeded your current quota, please check your plan and billing details.",
                "details": [{"@type": "x"}, {"@type": "type.googleapis.com/RetryInfo", "retryDelay": "38s"}],
            }
        },
    )
    assert failed.retryable
    assert failed.retry_after == 38


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "7"}, 0.25),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT"}, 30),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:00 GMT"}, 0),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT", "date": "Mon, 21 Sep 2026 14:13:40 GMT"}, 10),
        ({"retry-after": "Mon, 21 Sep 2026 14:13:50 GMT", "date": "yesterday"}, 30),
        ({"retry-after": str(int(NOW) + 30)}, 30),
        ({"retry-after": "2m"}, 120),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "nan"}, None),
        ({"x-ratelimit-reset-ms": "5000"}, 5),
        ({"x-ratelimit-reset-ms": "500ms"}, 0.5),
        ({"x-ratelimit-reset-ms": str(int(NOW + 90) * 1000)}, 90),
        ({"retry-after": "-3"}, None),
        ({"x-ratelimit-reset-requests": "6m0s"}, 360),
        ({"x-ratelimit-reset-tokens": "20ms", "x-ratelimit-reset-requests": "2s"}, 0.02),
        (
            {
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-reset-requests": "2s",
                "x-ratelimit-remaining-requests": "0",
            },
            2,
        ),
        ({"x-ratelimit-reset": str(int(NOW) + 90)}, 90),
        ({"x-ratelimit-reset": str(int(NOW + 90) * 1000)}, 90),
        ({"x-ratelimit-reset": "12"}, 12),
        ({"anthropic-ratelimit-tokens-reset": "2026-09-21T14:14:20Z"}, 60),
        ({"anthropic-ratelimit-unified-reset": str(int(NOW) + 5)}, 5),
        ({"x-ratelimit-limit": "5"}, None),
        ({}, None),
    ],
)
def test_delay_from_the_headers(headers: dict[str, str], wait: float | None) -> None:
    assert fail(429, b"", headers).retry_after == (wait if wait is None else pytest.approx(wait))


@pytest.mark.parametrize(
    ("text", "wait"),
    [
        ("Rate limit reached. Please try again in 1.5s.", 1.5),
        ("Please try again in 6m0s.", 360),
        ("Please try again in 1h2m3s", 3723),
        ("please retry after 42 seconds", 42),
        ("Please retry in 38.5s.", 38.5),
        ("try again in 500ms", 0.5),
        ("Please wait for 2 minutes, 5 seconds", 125),
        ("try again in a moment", None),
        ("Try again in 5 models", None),
        ("limit 500, used 499", None),
        ("Your quota will reset after 18h31m10s.", 66_670),
    ],
)
def test_delay_from_the_text(text: str, wait: float | None) -> None:
    assert in_text(text) == (wait if wait is None else pytest.approx(wait))
    assert fail(429, {"error": {"message": text}}).retry_after == in_text(text)


def test_shorter_delay_wins_when_header_and_body_disagree() -> None:
    body = {"error": {"message": "Please retry after 42 seconds"}}
    assert fail(429, body, {"retry-after": "1800"}).retry_after == 42
    assert fail(429, body, {"retry-after": "60"}).retry_after == 42
    assert fail(429, body, {"retry-after": "1"}).retry_after == 1
    assert fail(429, body, {"retry-after": "0"}).retry_after == 42
    assert fail(429, b"", {"retry-after": "0"}).retry_after == 0


def test_delay_in_the_body_beats_general_reset_headers() -> None:
    assert seconds({"x-ratelimit-reset-tokens": "9m"}, 3.0, now=NOW) == 3.0


def test_retry_after_field_in_the_body_counts() -> None:
    assert fail(429, {"error": {"message": "slow down", "retry_after": 12}}).retry_after == 12
    assert fail(429, {"error": {"message": "slow down", "retry_after": True}}).retry_after is None


def test_other_delay_fields_in_the_body_count() -> None:
    assert fail(429, {"error": {"message": "x", "retry_after_ms": 1500}}).retry_after == 1.5
    assert fail(429, {"error": {"type": "usage_limit_reached", "resets_in_seconds": 90}}).retry_after == 90


def test_durations() -> None:
    assert duration("1d") == 86400
    assert duration("2 min 3 sec") == 123
    assert duration("nothing") is None


OVERFLOWS: list[tuple[int, dict[str, Any]]] = [
    (400, {"type": "invalid_request_error", "message": "prompt is too long: 213462 tokens > 200000 maximum"}),
    (400, {"message": "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000"}),
    (400, {"code": "context_length_exceeded", "message": "Too big."}),
    (
        400,
        {"message": "This model's maximum context length is 128000 tokens. However, you requested 130000."},
    ),
    (400, {"message": "Your input exceeds the context window of this model."}),
    (400, {"message": "the request exceeds the available context size, try increasing it"}),
    (400, {"type": "exceed_context_size_error", "message": "request (9000 tokens)", "n_ctx": 8192}),
    (
        400,
        {"message": "The input token count (1196265) exceeds the maximum number of tokens allowed."},
    ),
    (
        400,
        {"message": "This model's maximum prompt length is 131072 but the request contains 537812 tokens."},
    ),
    (400, {"message": "Please reduce the length of the messages or completion."}),
    (400, {"message": "The input (300 tokens) is longer than the model's context length (200 tokens)."}),
    (400, {"message": "tokens to keep from the initial prompt is greater than the context length"}),
    (400, {"message": "invalid params, context window exceeds limit"}),
    (400, {"message": "Your request exceeded model token limit: 262144 (requested: 300000)"}),
    (400, {"message": "Prompt contains 300 tokens, too large for model with 200 maximum context length"}),
    (422, {"message": "Input length 9 exceeds the maximum allowed input length of 8 tokens."}),
    (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}),
    (413, {}),
]


@pytest.mark.parametrize(("status", "error"), OVERFLOWS)
def test_context_overflow_is_recognized(status: int, error: dict[str, Any]) -> None:
    failed = fail(status, {"error": error})
    assert failed.overflow
    assert not failed.retryable


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "prompt is too long for your rate: maximum context length per minute"),
        (500, "maximum context length"),
        (400, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens"),
        (400, "messages.500.content: field required"),
        (400, "Error 413 and 500 and 429 in the tool output"),
        (401, "prompt is too long"),
    ],
)
def test_other_failures_are_not_mistaken_for_an_overflow(status: int, message: str) -> None:
    assert not fail(status, {"error": {"message": message}}).overflow


def test_digits_in_a_text_classify_nothing() -> None:
    failed = fail(400, {"error": {"message": "500 503 529 429 overloaded? no"}})
    assert (failed.retryable, failed.overflow, failed.retry_after) == (False, False, None)


def test_rejected_key_names_the_provider_and_where_to_put_another() -> None:
    error = fail(401, {"error": {"message": "invalid x-api-key"}})
    assert str(error) == (
        "acme rejected the API key (401): invalid x-api-key. "
        "Set another with --api-key, in auth.json or in the provider's environment variable."
    )
    assert "acme does not allow this" in str(fail(403, {"error": {"message": "No access!"}}))


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Incorrect API key provided: sk-proj-abcdEFGH1234. You can find it", "sk-proj-abcdEFGH1234"),
        ("Incorrect API key provided: sk-abcd****wxyz.", None),
        ("bad key my-own-secret!", "my-own-secret"),
        ("header was Authorization: Bearer abc.def-ghi", None),
        ("key AIzaSyA1234567890abcdefg is off", None),
        ("token eyJhbGciOiJIUzI1.eyJzdWIiOiIx.c2ln expired", None),
    ],
)
def test_error_never_contains_a_key(text: str, key: str | None) -> None:
    for error in (fail(401, {"error": {"message": text}}, key=key), fail(500, text.encode(), key=key)):
        assert "[key]" in str(error)
        for secret in ("abcdEFGH", "wxyz", "my-own-secret", "abc.def", "AIzaSy", "eyJ", "c2ln"):
            assert secret not in str(error)
    streamed = error_from_event(json.dumps({"error": {"message": text}}).encode(), key=key)
    assert "[key]" in str(streamed)


@pytest.mark.parametrize(
    ("event", "retryable"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, True),
        ({"type": "error", "error": {"type": "api_error", "message": "Internal"}}, True),
        ({"type": "error", "error": {"type": "rate_limit_error", "message": "Slow"}}, True),
        ({"type": "error", "error": {"type": "invalid_request_error", "message": "No"}}, False),
        ({"error": {"message": "Upstream broke", "code": 502}}, True),
        ({"error": {"message": "Bad", "code": 400}}, False),
        ({"error": {"message": "Bad", "code": "400"}}, False),
        ({"error": {"message": "Odd", "code": 399}}, True),
        ({"error": {"message": "Odd", "code": 599}}, False),
        ({"error": {"message": "Odd", "code": 600}}, True),
        ({"error": {"message": "What", "type": "never_heard_of"}}, True),
        ({"error": {"message": "Pay", "code": "insufficient_quota"}}, False),
        ({"error": "boom"}, True),
        ({}, True),
    ],
)
def test_error_in_mid_stream(event: dict[str, Any], retryable: bool) -> None:
    error = error_from_event(json.dumps(event).encode(), provider="acme")
    assert error.retryable is retryable
    assert str(error).startswith("acme aborted its answer: ")


def test_rate_limit_in_mid_stream_is_blamed_on_the_key() -> None:
    error = error_from_event(b'{"type":"error","error":{"type":"rate_limit_error","message":"Slow"}}')
    assert (error.status, error.blames_key, error.retryable) == (429, True, True)


def test_overflow_in_mid_stream_is_recognized() -> None:
    error = error_from_event(b'{"error":{"message":"maximum context length is 8 tokens","code":400}}')
    assert error.overflow
    assert not error.retryable
    assert error.status == 400


def test_truncated_answer_is_retryable() -> None:
    assert cut_off("acme").retryable
    assert "cut off" in str(cut_off("acme"))


def test_codes_match_in_any_case_and_type() -> None:
    said = parse_error_body(b'{"error":{"message":"m","type":"A","code":"B","status":"C"}}')
    assert said.kinds == frozenset({"a", "b", "c"})
    assert parse_error_body(b'{"error":{"message":"m","code":"503"}}').code == 503
