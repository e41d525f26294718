"""What refusals about tokens mean, in the words of many vendors."""

import json
from typing import Any

import pytest

from tau.ai.apis.error_response import error_from_event, error_from_status
from tau.ai.apis.token_limits import parse_answer_limit, parse_server_limit
from tau.base.errors import ProviderError

LITELLM = "litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - too big"
OVERFLOWS: list[tuple[int, str | dict[str, Any]]] = [
    (400, "prompt is too long: 213462 tokens > 200000 maximum"),
    (400, "input length and `max_tokens` exceed context limit: 199900 + 21333 > 200000"),
    (400, "Input is too long for requested model."),
    (400, "Your input exceeds the context window of this model."),
    (400, "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575)."),
    (
        400,
        "Unable to submit request because the input token count is 32825 but model only supports up "
        "to 32768.",
    ),
    (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    (400, "Please reduce the length of the messages or completion."),
    (400, "Please reduce the length of the messages or completion. Current length is 9 while limit is 8"),
    (
        400,
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens.",
    ),
    (400, "prompt token count of 93854 exceeds the limit of 90000"),
    (400, {"message": "too long", "code": "model_max_prompt_tokens_exceeded"}),
    (400, "the request exceeds the available context size, try increasing it"),
    (400, {"type": "exceed_context_size_error", "message": "request (9000 tokens)", "n_ctx": 8192}),
    (500, "Context size has been exceeded."),
    (500, "The input (9000 tokens) is larger than the context size (8192 tokens)."),
    (500, LITELLM),
    (400, LITELLM),
    (400, "tokens to keep from the initial prompt is greater than the context length"),
    (
        400,
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is "
        "loaded with "
        "context length of only 7866 tokens, which is not enough.",
    ),
    (400, "invalid params, context window exceeds limit"),
    (400, "context window limit reached"),
    (400, "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)"),
    (400, "Prompt contains 300 tokens, too large for model with 200 maximum context length"),
    (400, {"code": "1261", "message": "Prompt exceeds max length"}),
    (400, "The sequence length (9000) exceeds the model's max sequence length (8192)"),
    (400, "number of input tokens (9000) has exceeded max_seq_len limit of 8192"),
    (400, {"code": "1210", "message": "tokens in request more than max tokens allowed"}),
    (
        400,
        {
            "code": "1210",
            "message": "Request 202799 input tokens exceeds the model's maximum context length 202750",
        },
    ),
    (400, "prompt too long; exceeded max context length by 400 tokens"),
    (
        400,
        "The decoder prompt (length 20000) is longer than the maximum model length of 8192. Make sure that "
        "`max_model_len` is no smaller than the number of text tokens.",
    ),
    (
        400,
        "This model's maximum context length is 8192 tokens. However, your request has 20000 input tokens. "
        "Please reduce the length of the input messages.",
    ),
    (400, "The input (300 tokens) is longer than the model's context length (200 tokens)."),
    (400, "The prompt (total length 9000) is too long to fit into the model (context length 8192)."),
    (400, "Input length (9000 tokens) exceeds the maximum allowed length (8186 tokens)."),
    (400, "prompt length (9000) exceeds maximum input length (8192)"),
    (400, "Requested token count exceeds the model's maximum context length of 8192 tokens."),
    (400, {"code": "invalid_parameter_error", "message": "Range of input length should be [1, 30720]"}),
    (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 20000"),
    (
        422,
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` "
        "tokens and 500 `max_new_tokens`",
    ),
    (
        400,
        "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 20000. "
        "Try using "
        "a shorter prompt.",
    ),
    (400, "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs."),
    (400, "The prompt is too long: 140000, model maximum context length: 131071"),
    (400, "length of prompt_tokens (40000) must be less than max_seq_len (32768)."),
    (400, "Total tokens of image and text exceed max message tokens."),
    (400, "Input length 130000 exceeds the maximum length 128000."),
    (400, "Requested tokens (9000) exceed context window of 8192"),
    (400, "the number of input tokens 9000 cannot exceed the total tokens limit 8192 for this model"),
    (400, {"code": "context_length_exceeded", "message": "Too big."}),
    (400, "Prompt exceeds maximum context length"),
    (400, "Prompt tokens (9000) exceeds context size (8192)"),
    (
        413,
        {
            "code": "tokens_limit_reached",
            "message": "Request body too large for gpt-4o model. Max size: 8000 tokens.",
        },
    ),
    (422, "Input length 9 exceeds the maximum allowed input length of 8 tokens."),
    (413, {"type": "request_too_large", "message": "Request exceeds the maximum size"}),
    (
        400,
        {
            "code": "string_above_max_length",
            "param": "messages[3].content",
            "message": "Invalid 'messages[3].content': string too long. Expected at most 1048576 characters.",
        },
    ),
]
GROQ = (
    "Request too large for model `llama-3.3-70b-versatile` in organization `org_1` service tier "
    "`on_demand` on "
    "tokens per minute (TPM): Limit {limit}, Requested {requested}, please reduce your message size "
    "and try again."
)
OTHERS: list[tuple[int, str | dict[str, Any]]] = [
    (
        413,
        {
            "type": "tokens",
            "code": "rate_limit_exceeded",
            "message": GROQ.format(limit=12000, requested=20000),
        },
    ),
    (413, GROQ.format(limit=12000, requested=20000)),
    (429, "Rate limit reached: too many tokens: reduce the length of the messages"),
    (
        400,
        {
            "code": "string_above_max_length",
            "param": "tools[0].function.description",
            "message": "Invalid 'tools[0].function.description': string too long. Expected a string "
            "with maximum "
            "length 1024, but got a string with length 1500 instead.",
        },
    ),
    (
        400,
        {
            "code": "string_above_max_length",
            "param": "messages[2].tool_calls[0].id",
            "message": "Invalid 'messages[2].tool_calls[0].id': string too long.",
        },
    ),
    (500, "maximum context length"),
    (503, "The prompt is too long"),
    (400, "max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens"),
    (400, "Tool input is invalid: the name exceeds 64 characters"),
]


def fail(status: int, error: str | dict[str, Any], **more: Any) -> ProviderError:
    body = {"error": {"message": error} if isinstance(error, str) else error}
    return error_from_status(status, {}, json.dumps(body).encode(), now=1.0, provider="acme", **more)


@pytest.mark.parametrize(("status", "error"), OVERFLOWS)
def test_every_vendors_overflow_is_compacted(status: int, error: str | dict[str, Any]) -> None:
    failed = fail(status, error)
    assert failed.overflow and not failed.retryable
    event = {"error": {"message": error} if isinstance(error, str) else error}
    assert error_from_event(json.dumps(event).encode()).overflow


@pytest.mark.parametrize(("status", "error"), OTHERS)
def test_rate_limit_or_long_tool_description_is_not_called_too_long_a_conversation(
    status: int, error: str | dict[str, Any]
) -> None:
    assert not fail(status, error).overflow


def test_request_above_the_plans_tokens_per_minute_says_what_to_do() -> None:
    error = {
        "type": "tokens",
        "code": "rate_limit_exceeded",
        "message": GROQ.format(limit=6000, requested=9000),
    }
    failed = fail(413, error, answer_tokens=1_000)
    assert (failed.retryable, failed.quota, failed.answer_limit) == (False, True, None)
    assert "Your plan allows less per minute" in str(failed)
    waits = fail(
        429,
        {
            "code": "rate_limit_exceeded",
            "message": "Rate limit reached on tokens per min (TPM): Limit 30000, Used 25000, "
            "Requested 7000. "
            "Please try again in 4s.",
        },
    )
    assert (waits.retryable, waits.retry_after, waits.answer_limit) == (True, 4, None)


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        (
            "This model's maximum context length is 8192 tokens. However, you requested 20000 tokens "
            "(3616 in "
            "the messages, 16384 in the completion). Please reduce the length of the messages or "
            "completion.",
            4_576,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 20000 tokens "
            "(3000 in "
            "the messages, 616 in the functions, and 16384 in the completion).",
            4_576,
        ),
        (
            "This endpoint's maximum context length is 32768 tokens. However, you requested about "
            "40000 tokens "
            "(20000 of text input, 4000 of tool input, 16000 in the output).",
            8_768,
        ),
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum "
            "context length is "
            "8192 tokens and your request has 3616 input tokens (16384 > 8192 - 3616).",
            4_576,
        ),
        (
            "This model's maximum context length is 262144 tokens. However, you requested 128000 "
            "output tokens "
            "and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens.",
            64_000,
        ),
        (
            "Requested token count exceeds the model's maximum context length of 8192 tokens. You "
            "requested a "
            "total of 9000 tokens: 4904 tokens from the input messages and 4096 tokens for the completion.",
            3_288,
        ),
        ("input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease", 11_760),
        (
            "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 2000 `inputs` tokens and 9000 "
            "`max_new_tokens`",
            2_096,
        ),
        ("max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for x", 64_000),
        (
            "max_tokens is too large: 64000. This model supports at most 16384 completion tokens, whereas",
            16_384,
        ),
        ("`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens`", 8_192),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", 8_192),
        ("Range of max_tokens should be [1, 8192]", 8_192),
        (
            "This request requires more credits, or fewer max_tokens. You requested up to 65536 tokens, "
            "but can only afford 4000",
            4_000,
        ),
        (GROQ.format(limit=6000, requested=19000), 3_384),
        (
            "Request too large for gpt-4o on tokens per min (TPM): Limit 30000, Requested 40000. The "
            "input or "
            "output tokens must be reduced in order to run successfully.",
            6_384,
        ),
        (
            "This model's maximum context length is 8192 tokens. However, you requested 24000 tokens "
            "(7616 in the messages, 16384 in the completion).",
            None,
        ),
        ("prompt is too long: 213462 tokens > 200000 maximum", None),
        ("Limit 30000, Requested 40000", None),
    ],
)
def test_longest_answer_is_read_from_the_refusal(text: str, limit: int | None) -> None:
    assert parse_answer_limit(text, 16_384) == limit


@pytest.mark.parametrize(
    ("text", "window", "requested"),
    [
        ("The decoder prompt (length 20000) is longer than the maximum model length of 8192.", 8_192, 20_000),
        ("Range of input length should be [1, 30720]", 30_720, 0),
        ("prompt token count of 93854 exceeds the limit of 90000", 90_000, 93_854),
        ("However, the model is loaded with context length of only 7866 tokens", 7_866, 0),
    ],
)
def test_window_is_read_from_more_vendors(text: str, window: int, requested: int) -> None:
    assert parse_server_limit(text).window == window
    assert parse_server_limit(text).requested in (0, requested)


@pytest.mark.parametrize(
    "text",
    [
        "too many tokens: size limit exceeded by 1234 tokens. Try using shorter or fewer inputs",
        "prompt too long; exceeded max context length by 4000 tokens",
    ],
)
def test_excess_was_taken_for_the_window(text: str) -> None:
    assert parse_server_limit(text).window == 0
