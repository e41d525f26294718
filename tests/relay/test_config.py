"""relay.json: all problems at once, with paths and allowed values."""

from pathlib import Path

import pytest

from tau.relay.config import (
    InvalidRelayConfig,
    config_schema,
    migrate,
    new_config,
    parse_config,
)
from tools.docs_relay import describe_config

PATH = Path("/relay.json")


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidRelayConfig) as caught:
        parse_config(text.encode(), PATH)
    return caught.value.problems


def test_defaults_are_those_of_the_documents() -> None:
    config = parse_config(b"{inbound: {reply: {agent: {kind: 'tau'}}}}", PATH)
    reply = config.inbound.reply
    assert (reply.timeout_seconds, reply.media_max_mb, reply.typing_interval_seconds) == (600, 5, 8)
    assert (reply.heartbeat_minutes, reply.session.idle_minutes, reply.session.reset_triggers) == (
        30,
        60,
        ("/new",),
    )
    reconnect = config.web.reconnect
    assert (reconnect.initial_ms, reconnect.max_ms, reconnect.factor, reconnect.jitter) == (
        2000,
        30000,
        1.8,
        0.25,
    )
    assert config.inbound.allow_from == ()


def test_all_problems_are_reported_at_once() -> None:
    found = problems("""{
      // a comment
      inbound: { allowform: ["*"], timestampPrefix: "Mars/Phobos", reply: {
        agent: { kind: "cursor" }, claudeOutputFormat: "json", timeoutSeconds: 0,
        session: { scope: "room" }, command: ["sh", "{{Body}}", "{{Body}}"],
      } },
      web: { reconnect: [] }, logging: { level: "loud" }, projects: { a: 1, b: "blog" },
    }""")
    assert found == [
        "inbound.allowform: unknown key. Did you mean inbound.allowFrom?",
        'inbound.reply.agent.kind: must be one of claude, codex, pi, opencode, gemini, tau, not "cursor".',
        "inbound.reply.claudeOutputFormat: was replaced; use inbound.reply.agent.format.",
        "inbound.reply.timeoutSeconds: must be a whole number from 1, not 0.",
        'inbound.reply.session.scope: must be one of per-sender, global, not "room".',
        "web.reconnect: must be an object, not [].",
        'logging.level: must be one of silent, fatal, error, warn, info, debug, trace, not "loud".',
        "projects.a: must be text, not 1.",
        "inbound.reply.command: {{Body}} is only allowed in the last element of command.",
        'inbound.timestampPrefix: unknown time zone "Mars/Phobos".',
        'projects.b: must be an absolute path or start with ~/, not "blog".',
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not valid JSON5, see line 1: unclosed 'object' starting."),
        ("{a: 1,\n b: [1 2]}", 'see line 2: expected \'comma\' or "]", found "2".'),
        ("[]", "must contain one object"),
        ("{}", "inbound.reply.agent.kind: required"),
        ("{inbound: {reply: {agent: {}}}}", "inbound.reply.agent.kind: required"),
        ("{inbound: {reply: {agent: {kind: 'pi'}, mode: 'text'}}}", "reply.text: required"),
        (
            "{inbound: {reply: {agent: {kind: 'pi'}, command: ['a', '{{Body}}', 'b']}}}",
            "only allowed in the last",
        ),
        (
            "{inbound: {reply: {agent: {kind: 'pi'}}, groupChat: {mentionPatterns: ['(']}}}",
            "mentionPatterns[0]",
        ),
        ("{inbound: {reply: {agent: {kind: 'pi'}}, timestampPrefix: 'X/Y'}}", "unknown time zone"),
        ("{inbound: {reply: {agent: {kind: 'pi'}}}, web: {reconnect: {maxMs: 1}}}", "web.reconnect.maxMs"),
        (
            "{inbound: {reply: {agent: {kind: 'pi'}}}, projects: {a: 'x'}}",
            "projects.a: must be an absolute path",
        ),
    ],
)
def test_a_bad_config_names_the_key(text: str, problem: str) -> None:
    assert problem in "\n".join(problems(text))


def test_the_new_config_is_valid_and_admits_only_the_console() -> None:
    assert parse_config(new_config().encode(), PATH).inbound.allow_from == ("console:you",)


def test_an_old_config_is_converted() -> None:
    old = {
        "inbound": {
            "reply": {"mode": "command", "command": ["claude", "{{Body}}"], "claudeOutputFormat": "text"}
        }
    }
    new = migrate(old)
    assert new["inbound"]["reply"]["agent"] == {"kind": "claude", "format": "text"}
    assert new["inbound"]["allowFrom"] == ["*"]


def test_schema_and_table_have_every_key() -> None:
    keys = [one.key for one in describe_config()]
    assert len(keys) == len(set(keys)) > 40
    assert config_schema()["additionalProperties"] is False
