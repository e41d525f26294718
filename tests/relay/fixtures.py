"""Output of agent CLIs as captured from real runs, and what it means."""
# ruff: noqa: E501

import json
from dataclasses import dataclass

TEXT = "word0 word1 word2"


@dataclass(frozen=True)
class Capture:
    kind: str
    stdout: str
    texts: list[str]
    session_id: str = ""
    stderr: str = ""
    exit: int = 0
    error: str = ""
    session: str = ""


def lines(*objects: object) -> str:
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in objects)


CLAUDE = {
    "duration_api_ms": 45,
    "stop_reason": "end_turn",
    "session_id": "5555-5",
    "total_cost_usd": 0.0012,
    "usage": {"input_tokens": 100, "cache_read_input_tokens": 0, "output_tokens": 10},
    "modelUsage": {"claude-opus-5-5": {"inputTokens": 200, "outputTokens": 20}},
    "is_error": False,
    "num_turns": 1,
    "subtype": "success",
    "result": f"{TEXT} ",
    "type": "result",
}
CODEX = (
    {"type": "thread.started", "thread_id": "01a1"},
    {
        "type": "item.completed",
        "item": {"id": "item_0", "type": "error", "message": "Model metadata missing"},
    },
    {"type": "turn.started"},
    {"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "First."}},
    {"type": "item.completed", "item": {"id": "item_2", "type": "agent_message", "text": f"{TEXT} "}},
    {"type": "turn.completed", "usage": {"input_tokens": 100, "cached_input_tokens": 5, "output_tokens": 10}},
)


def pi_message(text: str, **more: object) -> dict[str, object]:
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": text}] if text else [],
        "provider": "fake",
        "model": "fake-model",
        "usage": {"input": 100, "output": 10, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0.5}},
        "stopReason": "stop",
        **more,
    }
    return {"type": "message_end", "message": message}


PI = (
    {"type": "session", "version": 3, "id": "01a1", "cwd": "/"},
    {"type": "message_end", "message": {"role": "system", "content": "whole prompt"}},
    {"type": "message_end", "message": {"role": "user", "content": [{"type": "text", "text": "hi"}]}},
    pi_message(f"{TEXT} "),
    {"type": "agent_settled"},
)
OPENCODE = (
    {"type": "step_start", "timestamp": 5, "sessionID": "ses_e1", "part": {"type": "step-start"}},
    {"type": "text", "timestamp": 6, "sessionID": "ses_e1", "part": {"type": "text", "text": f"{TEXT} "}},
    {
        "type": "step_finish",
        "timestamp": 9,
        "sessionID": "ses_e1",
        "part": {"reason": "stop", "tokens": {"input": 100, "output": 10, "cache": {"read": 1}}, "cost": 0},
    },
)
GEMINI = {
    "session_id": "df18",
    "response": f"{TEXT} ",
    "stats": {"models": {"gemini-x": {"tokens": {"input": 100, "candidates": 10, "cached": 0}}}},
}
CAPTURES = (
    Capture("claude", json.dumps(CLAUDE), [TEXT], "5555-5"),
    Capture("claude", "warning: old node\n" + json.dumps(CLAUDE), [TEXT], "5555-5"),
    Capture("claude", "plain answer\n", ["plain answer"]),
    Capture("claude", json.dumps({**CLAUDE, "is_error": True, "result": "Credit is low"}), [], "5555-5", error="Credit is low."),
    Capture("claude", "", [], stderr="Error: Session ID 5 is already in use.", exit=1,
            error="Error: Session ID 5 is already in use.", session="in use"),
    Capture("claude", "", [], stderr="No conversation found with session ID: 5", exit=1,
            error="No conversation found with session ID: 5.", session="missing"),
    Capture("codex", lines(*CODEX), ["First.", TEXT], "01a1"),
    Capture("codex", "Reading stdin\n" + lines(*CODEX) + '{"type":"it', ["First.", TEXT], "01a1"),
    Capture("codex", "plain answer", ["plain answer"], "0199", stderr="session id: 0199\n"),
    Capture("codex", lines(CODEX[0], {"type": "error", "message": "Reconnecting... 1/5"},
                           {"type": "turn.failed", "error": {"message": "401 Unauthorized"}}),
            [], "01a1", exit=1, error="401 Unauthorized."),
    Capture("codex", "", [], stderr="Error: no rollout found for thread id 5", exit=1,
            error="Error: no rollout found for thread id 5.", session="missing"),
    Capture("pi", lines(*PI), [TEXT], "01a1"),
    Capture("pi", lines(*PI[:3], pi_message("", stopReason="error", errorMessage="401: no key")), [], "01a1",
            error="401: no key."),
    Capture("pi", "", [], stderr="No session found matching 5", exit=1, error="No session found matching 5.",
            session="missing"),
    Capture("tau", lines(*PI), [TEXT], "01a1"),
    Capture("tau", "", [], stderr='tau: No session has an id that starts with "x"; look', exit=2,
            error='tau: No session has an id that starts with "x"; look.', session="missing"),
    Capture("opencode", lines(*OPENCODE), [TEXT], "ses_e1"),
    Capture("opencode", lines({"type": "error", "sessionID": "ses_e1", "error":
            {"name": "APIError", "data": {"message": "Bad key", "statusCode": 401}}}), [], "ses_e1", exit=1, error="Bad key."),
    Capture("opencode", "", [], stderr="\x1b[91mError: \x1b[0mSession not found", exit=1,
            error="Error: Session not found.", session="missing"),
    Capture("gemini", json.dumps(GEMINI, indent=2), [TEXT], "df18"),
    Capture("gemini", "Loaded cached credentials.\n" + json.dumps(GEMINI, indent=2) + "\n", [TEXT], "df18"),
    Capture("gemini", "plain answer\n", ["plain answer"]),
    Capture("gemini", "", [], stderr="Error: [401] key\n    at Object.x (file.js:1)\n", exit=145, error="Error: [401] key."),
    Capture("gemini", "", [], stderr='Session ID "5" already exists', exit=42,
            error='Session ID "5" already exists.', session="in use"),
)  # fmt: skip
