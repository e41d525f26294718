"""Requests over a real socket: which key they carry, and what happens when it fails."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tau.ai import dialect as d
from tau.ai.apis import DIALECTS
from tau.ai.catalog import Catalog
from tau.ai.client import Client
from tau.ai.http import HttpTransport
from tau.ai.model import Compat
from tau.ai.wire import ImageContent, UserMessage
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tests.ai.dialect_client import HELLO, model
from tests.support.fake_answers import Answer, ErrorEvent, Scriptable, Status, Text, Usage
from tests.support.fake_server import FakeServer

LIMITED = Status(429, "Slow down", retry_after="20")
REFUSED = Status(401, "invalid x-api-key")
USUAL = "openai-completions"


class RequestOutcome:
    """The outcome of some requests with several keys."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.warnings: list[str] = []
        self.texts: list[str] = []
        self.errors: list[ProviderError] = []


def ask(
    folder: Path, script: list[Scriptable], *, keys: Any = ("A", "B"), api: str = USUAL, times: int = 1
) -> RequestOutcome:
    """`keys` as in `auth.json`: one, or several."""
    entries = [{"type": "api_key", "key": key} for key in ([keys] if isinstance(keys, str) else keys)]
    auth = AuthFile(folder / "auth.json")
    auth.path.write_text(json.dumps({"acme": entries}))
    asked = RequestOutcome()

    async def main(url: str) -> None:
        http = HttpTransport({})
        credentials = KeyCredentials(Catalog({}, []), auth, LocalRunner(shell="/bin/sh"), {})
        client = Client(http, credentials)
        client.warn = asked.warnings.append
        for _ in range(times):
            text = ""
            try:
                async with aclosing(client.stream(model(api, base_url=url), HELLO)) as deltas:
                    async for delta in deltas:
                        text += delta.text if isinstance(delta, d.TextPiece) else ""
            except ProviderError as error:
                asked.errors.append(error)
            asked.texts.append(text)
        await http.close()

    with FakeServer() as server:
        server.script(*script)
        asyncio.run(main(server.url))
        asked.keys += [request.key for request in server.requests]
    return asked


@pytest.mark.parametrize("api", DIALECTS)
@pytest.mark.parametrize(
    "fault",
    [
        LIMITED,
        REFUSED,
        Status(403, "not allowed"),
        Status(402, "pay"),
        Status(400, "Your credit balance is too low."),
        Status(429, "You exceeded your quota", kind="insufficient_quota"),
    ],
    ids=lambda fault: f"{fault.status} {fault.message}",
)
def test_next_key_is_used_at_once_and_kept(tmp_path: Path, api: str, fault: Status) -> None:
    asked = ask(tmp_path, [fault, "one", "two"], api=api, times=2)
    assert asked.keys == ["A", "B", "B"]
    assert asked.texts == ["one", "two"]
    assert asked.errors == []
    [warning] = asked.warnings
    assert warning.startswith("acme ") and "another one from auth.json" in warning


@pytest.mark.parametrize("fault", [Status(503, "busy"), Status(404, "no such model"), Status(400, "bad")])
def test_other_failures_are_not_blamed_on_the_key(tmp_path: Path, fault: Status) -> None:
    asked = ask(tmp_path, [fault, "never"])
    assert asked.keys == ["A"]
    assert (len(asked.errors), asked.warnings) == (1, [])


def test_when_all_keys_are_limited_the_error_says_when_the_first_is_free(tmp_path: Path) -> None:
    slower = Status(429, "Slow down", retry_after="900")
    asked = ask(tmp_path, [LIMITED, slower], keys=("A", "B"))
    [error] = asked.errors
    assert asked.keys == ["A", "B"]
    assert error.retryable and not error.quota
    assert error.retry_after is not None and 15 < error.retry_after <= 21


def test_when_all_keys_are_rejected_the_last_error_is_raised(tmp_path: Path) -> None:
    asked = ask(tmp_path, [REFUSED], keys=("A", "B", "C"))
    assert asked.keys == ["A", "B", "C"]
    [error] = asked.errors
    assert (error.status, error.retryable) == (401, False)


def test_single_limited_key_waits_as_the_server_says(tmp_path: Path) -> None:
    asked = ask(tmp_path, [LIMITED], keys="A")
    [error] = asked.errors
    assert (asked.keys, asked.warnings, error.retry_after) == (["A"], [], 20)


def test_command_that_keeps_printing_new_keys_runs_only_once_more(tmp_path: Path) -> None:
    count = tmp_path / "count"
    asked = ask(tmp_path, [REFUSED], keys=f"!echo x >> {count}; echo key-$(wc -l < {count})")
    assert asked.keys == ["key-1", "key-2"]
    assert len(asked.errors) == 1


@pytest.mark.parametrize("api", DIALECTS)
def test_rate_limit_in_mid_stream_leaves_the_other_key_for_the_next_attempt(tmp_path: Path, api: str) -> None:
    asked = ask(
        tmp_path, [ErrorEvent(kind="rate_limit_error", message="Too fast"), "whole"], api=api, times=2
    )
    assert asked.keys == ["A", "B"]
    assert asked.texts[1] == "whole"
    [error] = asked.errors
    assert (error.retryable, error.retry_after) == (True, None)


def test_no_key_is_ever_shown(tmp_path: Path) -> None:
    keys = ("secret-one-A", "secret-two-B")
    asked = ask(tmp_path, [Status(401, f"bad key {keys[0]}"), Status(401, f"bad key {keys[1]}")], keys=keys)
    assert "secret" not in str([asked.warnings, asked.errors])
    assert asked.keys == list(keys)


def test_sixteen_keys_are_tried_after_the_first(tmp_path: Path) -> None:
    asked = ask(tmp_path, [REFUSED], keys=[f"key{number}" for number in range(30)])
    assert len(asked.keys) == 17
    assert len(asked.errors) == 1


def test_request_that_asks_for_too_much_does_not_use_up_the_keys(tmp_path: Path) -> None:
    message = "This request requires more credits, or fewer max_tokens. You can only afford 4000."
    asked = ask(tmp_path, [Status(402, message)])
    assert (asked.keys, asked.warnings) == (["A"], [])
    assert [(error.quota, error.answer_limit) for error in asked.errors] == [(True, 4_000)]


def warnings(
    *requests: d.Request, read: int | Sequence[int], cache_write: int = 0, api: str = USUAL
) -> list[str]:
    """The warnings when a local server reports having read this many tokens of each."""
    counts = [read] * len(requests) if isinstance(read, int) else read
    reported: list[str] = []

    async def main(url: str) -> None:
        http = HttpTransport({})
        credentials = KeyCredentials(Catalog({}, []), AuthFile(Path("none.json")), LocalRunner(), {})
        client = Client(http, credentials)
        client.warn_of_context = reported.append
        for request in requests:
            async with aclosing(client.stream(model(api, base_url=url), request)) as deltas:
                async for _ in deltas:
                    pass
            reported.append("|")
        await http.close()

    with FakeServer() as server:
        usages = [Usage(input=count, cache_write=cache_write) for count in counts]
        server.script(*[Answer((Text("x"),), usage) for usage in usages])
        asyncio.run(main(server.url))
    return ["warned" if "dropped the start" in text else text for text in reported]


def long_request(messages: int, extra: Any = None) -> d.Request:
    history = [UserMessage("x" * 20_000 if number == 0 else "and", number) for number in range(messages)]
    return d.Request(system="", messages=[*history, *([extra] if extra else [])], tools=[], max_tokens=9)


def test_local_server_that_read_less_than_sent_is_reported() -> None:
    assert warnings(long_request(1), read=1_000) == ["warned", "|"]
    assert warnings(long_request(1), read=4_900) == ["|"]


def test_check_repeats_when_the_conversation_has_doubled() -> None:
    requests = [long_request(count) for count in (1, 1, 2, 3, 4)]
    assert warnings(*requests, read=[4_900, 1_000, 4_900, 1_000, 1_000]) == [
        "|",
        "|",
        "|",
        "|",
        "warned",
        "|",
    ]


def test_dropped_start_is_reported_once_not_each_time_the_conversation_doubles() -> None:
    requests = [long_request(count) for count in (1, 1, 2, 3, 4)]
    assert warnings(*requests, read=1_000) == ["warned", "|", "|", "|", "|", "|"]


def test_prompt_written_to_the_cache_was_not_dropped() -> None:
    for api in DIALECTS:
        assert warnings(long_request(1), read=10, cache_write=4_900, api=api) == ["|"]


def test_prompt_with_an_image_is_not_checked() -> None:
    image = UserMessage([ImageContent("iVBORw0KGgo=", "image/png")], 9)
    assert warnings(long_request(1, image), read=1_000) == ["|"]


def test_affinity_header_has_the_sessions_id(tmp_path: Path) -> None:
    async def main() -> None:
        with FakeServer() as server:
            server.script("ok")
            http = HttpTransport({})
            keys = KeyCredentials(Catalog({}, []), AuthFile(tmp_path / "auth.json"), LocalRunner(), {})
            routed = model(
                USUAL, base_url=f"{server.url}/v1", compat=Compat(affinity_header="x-session-affinity")
            )
            try:
                async with aclosing(
                    Client(http, keys).stream(routed, replace(HELLO, cache_key="session-1"))
                ) as deltas:
                    assert [delta async for delta in deltas]
            finally:
                await http.close()
            assert server.requests[0].headers["x-session-affinity"] == "session-1"

    asyncio.run(main())
