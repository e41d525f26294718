"""What kind of failure a refusal is, in the words of each vendor."""

import json
from typing import Any

import pytest

from tau.ai.apis.error_response import declined, error_from_event, error_from_status
from tau.base.errors import ErrorKind, ProviderError


def refusal(status: int, body: Any, headers: dict[str, str] | None = None) -> ProviderError:
    raw = json.dumps(body).encode()
    return error_from_status(status, headers or {}, raw, now=1.0, provider="acme")


def said(message: str, **fields: Any) -> dict[str, Any]:
    return {"error": {"message": message, **fields}}


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (401, said("bad key"), "auth"),
        (403, said("not yours", type="permission_error"), "auth"),
        (402, said("pay"), "payment"),
        (400, said("Your credit balance is too low"), "payment"),
        (429, said("You exceeded your current quota", code="insufficient_quota"), "payment"),
        (429, said("Slow down"), "rateLimit"),
        (429, said("Limit of requests per day reached"), "quota"),
        (529, said("Overloaded", type="overloaded_error"), "overloaded"),
        (503, said("later"), "overloaded"),
        (400, said("prompt is too long: 205012 tokens > 200000 maximum"), "overflow"),
        (413, said("too large", type="request_too_large"), "overflow"),
        (400, said("unknown field", type="invalid_request_error"), "invalid"),
        (404, said("no such model", code="model_not_found"), "invalid"),
        (400, said("no", code="content_policy_violation"), "contentFilter"),
        (400, {"error": {"message": "no", "code": "ResponsibleAIPolicyViolation"}}, "contentFilter"),
        (500, said("Internal error"), "bug"),
        (501, said("?"), "bug"),
    ],
)
def test_kind_follows_from_status_code_and_body(status: int, body: Any, kind: ErrorKind) -> None:
    error = refusal(status, body)
    assert (error.kind, error.bad_call) == (kind, "")


@pytest.mark.parametrize(
    "body",
    [
        {"detail": [{"msg": "field required"}, {"msg": "other"}]},
        {"detail": [{"msg": "field required"}]},
        {"detail": ["field required", "other"]},
        {"error": {"message": ["field required", "other"]}},
        {"errors": [{"message": "field required"}, {"message": "other"}]},
        {"errors": ["field required", "other"]},
        {"errors": "broken", "message": "field required"},
        {"errors": [], "message": "field required"},
    ],
)
def test_first_of_several_problems_is_reported(body: Any) -> None:
    assert "field required" in str(refusal(400, body)) and "other" not in str(refusal(400, body))


@pytest.mark.parametrize(
    "error",
    [
        {"message": "The encrypted content gAAA could not be verified.", "code": "invalid_encrypted_content"},
        {"message": "The encrypted content for item rs_1 could not be verified."},
        {"message": "messages.1.content.0: Invalid `signature` in `thinking` block"},
        {
            "message": "messages.3.content.0: `thinking` or `redacted_thinking` blocks in the latest "
            "assistant message cannot be modified. These blocks must remain as they were."
        },
        {"message": "Item 'rs_0a1' of type 'reasoning' was provided without its required following item."},
        {"message": "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item"},
        {"message": "Item with id 'rs_0a1' not found. Items are not persisted when `store` is set to false."},
        {"message": "Thought signature is not valid.", "status": "INVALID_ARGUMENT"},
        {"message": "Corrupted thought signature.", "status": "INVALID_ARGUMENT"},
    ],
    ids=lambda error: error["message"][:40],
)
def test_refused_reasoning_is_its_own_kind(error: dict[str, Any]) -> None:
    found = refusal(400, {"error": error})
    assert (found.kind, found.retryable, found.overflow) == ("staleReasoning", False, False)
    assert error_from_event(json.dumps({"error": error}).encode()).kind == "staleReasoning"


@pytest.mark.parametrize(
    "message",
    [
        "Invalid 'input[3].encrypted': unknown field",
        "model 'rs_x' is unknown",
        "signature of the function is wrong",
        "thinking.budget_tokens must be at least 1024",
        "file msg.txt not found",
    ],
)
def test_other_bad_requests_are_not_about_reasoning(message: str) -> None:
    assert refusal(400, said(message)).kind == "invalid"


def test_declined_answer_is_a_filter() -> None:
    assert declined("acme", "no.").kind == "contentFilter"


def test_error_without_a_table_has_a_kind_too() -> None:
    assert ProviderError("x", retryable=True).kind == "network"
    assert ProviderError("x", overflow=True).kind == "overflow"
    assert ProviderError("x", quota=True).kind == "quota"
    assert ProviderError("x", status=401).kind == "auth"
    assert ProviderError("x").kind == "invalid"


@pytest.mark.parametrize(
    ("headers", "body", "id"),
    [
        ({"request-id": "req_1"}, said("x"), "req_1"),
        ({"x-request-id": "req_2"}, {**said("x"), "request_id": "other"}, "req_2"),
        ({"x-amzn-requestid": "aws-3"}, said("x"), "aws-3"),
        ({}, {**said("x"), "request_id": "req_4"}, "req_4"),
        ({}, said("x"), ""),
    ],
)
def test_request_id_is_kept(headers: dict[str, str], body: Any, id: str) -> None:
    assert refusal(500, body, headers).request_id == id
