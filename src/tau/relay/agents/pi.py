"""The pi coding agent, and the events that tau has in common with it."""

from collections.abc import Iterable, Sequence
from typing import Any

from tau.relay.agents.reply import (
    AgentMeta,
    AgentReply,
    AgentUsage,
    clean,
    exit_error,
    items,
    number,
    one_sentence,
    plain_texts,
    read_objects,
    session_problem,
    string,
    usage_of,
)
from tau.relay.agents.turn import (
    AgentTurn,
    Invocation,
    add_session,
    carry,
    flag,
    has_flag,
    with_identity,
    without_separator,
)

SESSION_FLAGS = ("--session", "--session-id", "--continue", "-c", "--resume", "-r", "--no-session")


def build_args(argv: Sequence[str], body: str, turn: AgentTurn) -> Invocation:
    words = without_separator(argv)
    flags = flag(words, "-p", None, "--print")
    flags += flag(words, "--mode", "json") if turn.format == "json" else []
    flags += flag(words, "--thinking", turn.thinking) if turn.thinking else []
    return carry(add_session(words, flags, _session(words, turn), turn), with_identity(body, turn), turn)


def rpc_args(argv: Sequence[str], turn: AgentTurn) -> list[str]:
    words = without_separator(argv)
    flags = [
        *flag(words, "--mode", "rpc"),
        *(flag(words, "--thinking", turn.thinking) if turn.thinking else []),
    ]
    return add_session(words, flags, _session(words, turn), turn)


def _session(words: Sequence[str], turn: AgentTurn) -> list[str]:
    return [] if has_flag(words, *SESSION_FLAGS) or not turn.session_id else ["--session-id", turn.session_id]


def parse(stdout: str, stderr: str, exit: int | None) -> AgentReply:
    found = read_objects(stdout)
    reply = read_events(found)
    texts = reply.texts if found else plain_texts(stdout)
    missing = session_problem(stderr, missing="No session (found matching|has an id)")
    return AgentReply(
        texts=texts, meta=reply.meta, error=reply.error or exit_error(stderr, exit), session=missing
    )


def read_events(events: Iterable[dict[str, Any]]) -> AgentReply:
    """The assistant messages among events, in order; the last one's failure is the error."""
    texts: list[str] = []
    session_id = error = ""
    last: dict[str, Any] = {}
    usage, cost = AgentUsage(), 0.0
    for event in events:
        if event.get("type") == "session":
            session_id = string(event, "id")
        message = event.get("message")
        if event.get("type") not in ("message", "message_end") or string(message, "role") != "assistant":
            continue
        last = message if isinstance(message, dict) else {}
        blocks = [one for one in items(last.get("content")) if string(one, "type") == "text"]
        text = clean("\n".join(string(one, "text") for one in blocks))
        if text and texts[-1:] != [text]:
            texts.append(text)
        usage = usage.plus(
            usage_of(last.get("usage"), input="input", output="output", read="cacheRead", write="cacheWrite")
        )
        cost += number(last, "usage", "cost", "total")
        failed = last.get("stopReason") == "error"
        error = one_sentence([string(last, "errorMessage"), "The model request failed."]) if failed else ""
    meta = AgentMeta(
        model=string(last, "model"),
        provider=string(last, "provider"),
        session_id=session_id,
        stop_reason=string(last, "stopReason"),
        usage=usage if last else None,
        cost=cost if last else None,
    )
    return AgentReply(texts=texts, meta=meta, error=error)
