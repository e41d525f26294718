"""Requests over a real socket: which key they carry, and what happens when it fails."""

import asyncio
import json
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from tau.ai import dialect as d
from tau.ai.catalog import Catalog
from tau.ai.client import Client
from tau.ai.http import HttpTransport
from tau.ai.wire import ImageContent, UserMessage
from tau.base.errors import ProviderError
from tau.base.run import LocalRunner
from tau.config.auth_file import AuthFile
from tau.config.credentials import KeyCredentials
from tests.ai.talk import HELLO, model
from tests.support.fake_answers import Answer, ErrorEvent, Scriptable, Status, Text, Usage
from tests.support.fake_server import FakeServer

LIMITED = Status(429, "Slow down", retry_after="20")
REFUSED = Status(401, "invalid x-api-key")
DIALECTS = ("openai-completions", "anthropic-messages")


class Asked:
    """What came of some requests with several keys."""

    def __init__(self) -> None:
        self.keys: list[str] = []
        self.warnings: list[str] = []
        self.texts: list[str] = []
        self.errors: list[ProviderError] = []


def ask(
    folder: Path, script: list[Scriptable], *, keys: Any = ("A", "B"), api: str = DIALECTS[0], times: int = 1
) -> Asked:
    """`keys` as they stand in `auth.json`: one, or several."""
    entries = [{"type": "api_key", "key": key} for key in ([keys] if isinstance(keys, str) else keys)]
    auth = AuthFile(folder / "auth.json")
    auth.path.write_text(json.dumps({"acme": entries}))
    asked = Asked()

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
        for request in server.requests:
            sent = request.headers.get("x-api-key") or request.headers.get("authorization", "")
            asked.keys.append(sent.removeprefix("Bearer "))
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
def test_the_next_key_is_used_at_once_and_kept(tmp_path: Path, api: str, fault: Status) -> None:
    asked = ask(tmp_path, [fault, "one", "two"], api=api, times=2)
    assert asked.keys == ["A", "B", "B"]
    assert asked.texts == ["one", "two"]
    assert asked.errors == []
    [warning] = asked.warnings
    assert warning.startswith("acme ") and "another one from auth.json" in warning


@pytest.mark.parametrize("fault", [Status(503, "busy"), Status(404, "no such model"), Status(400, "bad")])
def test_other_failures_are_not_the_keys(tmp_path: Path, fault: Status) -> None:
    asked = ask(tmp_path, [fault, "never"])
    assert asked.keys == ["A"]
    assert (len(asked.errors), asked.warnings) == (1, [])


def test_when_all_keys_rest_the_error_says_when_the_first_is_free_again(tmp_path: Path) -> None:
    slower = Status(429, "Slow down", retry_after="900")
    asked = ask(tmp_path, [LIMITED, slower], keys=("A", "B"))
    [error] = asked.errors
    assert asked.keys == ["A", "B"]
    assert error.retryable and not error.quota
    assert error.retry_after is not None and 15 < error.retry_after <= 21


def test_when_all_keys_are_refused_the_last_refusal_stands(tmp_path: Path) -> None:
    asked = ask(tmp_path, [REFUSED], keys=("A", "B", "C"))
    assert asked.keys == ["A", "B", "C"]
    [error] = asked.errors
    assert (error.status, error.retryable) == (401, False)


def test_a_single_key_that_is_limited_waits_as_the_server_says(tmp_path: Path) -> None:
    asked = ask(tmp_path, [LIMITED], keys="A")
    [error] = asked.errors
    assert (asked.keys, asked.warnings, error.retry_after) == (["A"], [], 20)


def test_a_command_that_prints_ever_new_keys_is_asked_once_more_only(tmp_path: Path) -> None:
    count = tmp_path / "count"
    asked = ask(tmp_path, [REFUSED], keys=f"!echo x >> {count}; echo key-$(wc -l < {count})")
    assert asked.keys == ["key-1", "key-2"]
    assert len(asked.errors) == 1


@pytest.mark.parametrize("api", DIALECTS)
def test_a_limit_in_the_middle_of_an_answer_leaves_the_other_key_for_the_next_try(
    tmp_path: Path, api: str
) -> None:
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


def warnings(*requests: d.Request, read: int) -> list[str]:
    """What the user is told when a server on this machine says that it read so many tokens of each."""
    told: list[str] = []

    async def main(url: str) -> None:
        http = HttpTransport({})
        credentials = KeyCredentials(Catalog({}, []), AuthFile(Path("none.json")), LocalRunner(), {})
        client = Client(http, credentials)
        client.warn = told.append
        for request in requests:
            async with aclosing(client.stream(model(DIALECTS[0], base_url=url), request)) as deltas:
                async for _ in deltas:
                    pass
            told.append("|")
        await http.close()

    with FakeServer() as server:
        server.script(*[Answer((Text("x"),), Usage(input=read)) for _ in requests])
        asyncio.run(main(server.url))
    return ["warned" if "dropped the start" in text else text for text in told]


def long_request(messages: int, extra: Any = None) -> d.Request:
    history = [UserMessage("x" * 20_000 if number == 0 else "and", number) for number in range(messages)]
    return d.Request(system="", messages=[*history, *([extra] if extra else [])], tools=[], max_tokens=9)


def test_a_server_on_this_machine_that_reads_less_than_it_was_sent_is_told() -> None:
    assert warnings(long_request(1), read=1_000) == ["warned", "|"]
    assert warnings(long_request(1), read=4_900) == ["|"]


def test_the_comparison_comes_again_when_the_conversation_has_doubled() -> None:
    requests = [long_request(count) for count in (1, 1, 2, 3, 4)]
    assert warnings(*requests, read=1_000) == ["warned", "|", "|", "warned", "|", "|", "warned", "|"]


def test_nothing_is_said_about_a_prompt_with_an_image() -> None:
    image = UserMessage([ImageContent("iVBORw0KGgo=", "image/png")], 9)
    assert warnings(long_request(1, image), read=1_000) == ["|"]
