"""Amazon's own library as the judge of our requests, signatures and frames."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any
from urllib.parse import quote

import msgspec
import pytest

from tau.ai.apis.bedrock_converse_stream import build_body
from tau.ai.apis.request import encode
from tau.ai.aws_event_stream import FrameSplitter
from tau.ai.aws_sigv4 import AwsKey, parse_key, region_of, sign
from tau.ai.model import Model, Price
from tests.ai.dialect_client import HELLO, message, model, talk
from tests.ai.wire.random_requests import random_request, text
from tests.support.cloud_validators import validate_bedrock
from tests.support.fake_answers import Answer, Call, Text, Thinking, Usage
from tests.support.fake_bedrock import Bedrock, encode_frame
from tests.support.fake_server import FakeServer

pytest.importorskip("botocore", reason="needs the extra `judges`")
pytestmark = pytest.mark.filterwarnings("ignore")

IDS = (
    "us.anthropic.claude-sonnet-4-5-v1:0",
    "openai.gpt-oss-120b-1:0",
    "us.amazon.nova-2-lite-v1:0",
    "arn:aws:bedrock:us-east-1:123456789012:application-inference-profile/a1b2",
)
SPEAKERS = [
    model("bedrock-converse-stream", id=id, input=("text", "image"), cost=Price(1, 2, 0.1)) for id in IDS
]
COUNTS = [50, pytest.param(2_000, marks=pytest.mark.soak)]


def operation() -> Any:
    import botocore.session

    return botocore.session.Session().get_service_model("bedrock-runtime").operation_model("ConverseStream")


def judge(shape: Any, body: bytes) -> str:
    """What botocore would refuse to send; empty if nothing."""
    from botocore.validate import ParamValidator

    report = ParamValidator().validate({"modelId": "m", **msgspec.json.decode(body)}, shape)
    return str(report.generate_report())


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("speaker", SPEAKERS, ids=IDS)
@pytest.mark.holds_loop
def test_random_requests_are_valid(speaker: Model, count: int) -> None:
    shape = operation().input_shape
    for seed in range(count):
        body = encode(build_body(speaker, random_request(Random(seed), speaker)))
        assert validate_bedrock(msgspec.json.decode(body)) == [], seed
        assert judge(shape, body) == "", seed


def _block(body: dict[str, Any], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(
        block[kind] for message in body["messages"] for block in message["content"] if kind in block
    )
    return found


MISTAKES: dict[str, Callable[[dict[str, Any]], object]] = {
    "call without its id": lambda body: _block(body, "toolUse").pop("toolUseId"),
    "result without content": lambda body: _block(body, "toolResult").pop("content"),
    "message without a role": lambda body: body["messages"][0].pop("role"),
    "content as text": lambda body: body["messages"][0].update(content="hi"),
    "two kinds in one block": lambda body: body["messages"][0]["content"].append(
        {"text": "a", "cachePoint": {"type": "default"}}
    ),
    "answer length as text": lambda body: body["inferenceConfig"].update(maxTokens="8k"),
    "no room for an answer": lambda body: body["inferenceConfig"].update(maxTokens=0),
    "no tools": lambda body: body["toolConfig"].update(tools=[]),
    "tool without a schema": lambda body: body["toolConfig"]["tools"][0]["toolSpec"].pop("inputSchema"),
    "field of another vendor": lambda body: body.update(max_tokens=5),
    "cache point without a type": lambda body: body["system"].append({"cachePoint": {}}),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_caught(mistake: str) -> None:
    shape = operation().input_shape
    bodies = (build_body(SPEAKERS[0], random_request(Random(seed), SPEAKERS[0])) for seed in range(200))
    body = next(body for body in bodies if "toolResult" in str(body) and "system" in body)
    plain = msgspec.json.decode(encode(body))
    assert judge(shape, encode(plain)) == ""
    MISTAKES[mistake](plain)
    assert judge(shape, encode(plain)) != ""


def test_signatures_equal_those_of_botocore(monkeypatch: pytest.MonkeyPatch) -> None:
    import botocore.auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    for seed in range(200):
        random = Random(seed)
        now = random.randrange(10**9, 2 * 10**9)
        monkeypatch.setattr(
            botocore.auth, "get_current_datetime", lambda *_, now=now: datetime.fromtimestamp(now, UTC)
        )
        id = random.choice((*IDS, "ü/../b", "a b~c", "%41"))
        query = "&".join(
            f"{random.choice('abz')}={quote(text(random).replace(chr(0xD800), ''), safe='')}"
            for _ in range(random.randint(0, 3))
        )
        region = random.choice(("us-east-1", "eu-central-1", "us-gov-west-1"))
        url = f"https://bedrock-runtime.{region}.amazonaws.com/model/{quote(id, safe='')}/converse-stream"
        url = f"{url}?{query}" if query else url
        headers = {"content-type": "application/json", "user-agent": "x", "x-team": f"a  b {seed} "}
        body = random.randbytes(random.randint(0, 300))
        key = AwsKey("AKIA" + "A" * 16, "se/cr+et" * 5, random.choice(("", "token+/=")))
        assert parse_key(key.joined()) == key
        request = AWSRequest("POST", url, headers=headers, data=body)
        credentials = Credentials(key.access_key_id, key.secret, key.session_token or None)
        botocore.auth.SigV4Auth(credentials, "bedrock", region).add_auth(request)
        host = url.split("/")[2]
        ours = sign(
            "POST", url, headers, body, key=key, region=region_of(host, "?"), service="bedrock", now=now
        )
        assert ours["authorization"] == request.headers["Authorization"], url


def test_botocore_reads_the_frames_that_we_read() -> None:
    from botocore.eventstream import EventStreamBuffer

    for seed in range(100):
        random = Random(seed)
        frames = [
            (
                {f":h{number}": "ä" * random.randint(0, 9) for number in range(random.randint(0, 3))},
                random.randbytes(random.randint(0, 50)),
            )
            for _ in range(random.randint(1, 4))
        ]
        data = b"".join(encode_frame(*frame) for frame in frames)
        buffer = EventStreamBuffer()
        buffer.add_data(data)
        assert [(event.headers, event.payload) for event in buffer] == frames
        assert FrameSplitter().feed(data) == frames


@pytest.mark.holds_loop
def test_botocore_reads_the_fake_servers_streams_as_we_do() -> None:
    import botocore.session

    scripted = Answer(
        (
            Thinking("Hm, yes.", signature="c2ln", deltas=2),
            Text("Grüße, \U0001f600.", deltas=3),
            Call("read", {"path": "a", "n": [1, None]}, id="c1", deltas=3),
        ),
        Usage(input=7, output=5, cache_read=3, cache_write=2),
    )
    speaker = SPEAKERS[0]
    with FakeServer() as server:
        server.script(scripted)
        client = botocore.session.Session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="AKIA" + "A" * 16,
            aws_secret_access_key="s" * 40,
        )
        answered = client.converse_stream(
            modelId=speaker.id, messages=[{"role": "user", "content": [{"text": "hi"}]}]
        )
        events = list(answered["stream"])
        client.close()
        ours = message(speaker, asyncio.run(talk(server.url, speaker, HELLO)))
        assert server.problems == []
        assert {request.model for request in server.requests} == {speaker.id}
    deltas = [event["contentBlockDelta"]["delta"] for event in events if "contentBlockDelta" in event]
    assert "".join(delta.get("text", "") for delta in deltas) == ours.text
    arguments = "".join(delta["toolUse"]["input"] for delta in deltas if "toolUse" in delta)
    assert msgspec.json.decode(arguments) == ours.tool_calls[0].arguments
    [usage] = [event["metadata"]["usage"] for event in events if "metadata" in event]
    assert (usage["inputTokens"], usage["outputTokens"]) == (ours.usage.input, ours.usage.output)
    assert usage["cacheReadInputTokens"] == ours.usage.cache_read
    assert [event["messageStop"]["stopReason"] for event in events if "messageStop" in event] == ["tool_use"]
    assert Bedrock.content_type == "application/vnd.amazon.eventstream"
