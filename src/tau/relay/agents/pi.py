"""The pi coding agent, and the events that tau has in common with it."""

from collections.abc import Iterable, Sequence
from typing import Any

from tau.relay.agents import invocation, output

SESSION_FLAGS = ("--session", "--session-id", "--continue", "-c", "--resume", "-r", "--no-session")


def build_args(argv: Sequence[str], body: str, turn: invocation.AgentTurn) -> invocation.Invocation:
    words = invocation.without_separator(argv)
    flags = invocation.flag(words, "-p", None, "--print")
    flags += invocation.flag(words, "--mode", "json") if turn.format == "json" else []
    flags += invocation.flag(words, "--thinking", turn.thinking) if turn.thinking else []
    return invocation.carry(
        invocation.add_session(words, flags, _session(words, turn), turn),
        invocation.with_identity(body, turn),
        turn,
    )


def rpc_args(argv: Sequence[str], turn: invocation.AgentTurn) -> list[str]:
    words = invocation.without_separator(argv)
    flags = [
        *invocation.flag(words, "--mode", "rpc"),
        *(invocation.flag(words, "--thinking", turn.thinking) if turn.thinking else []),
    ]
    return invocation.add_session(words, flags, _session(words, turn), turn)


def _session(words: Sequence[str], turn: invocation.AgentTurn) -> list[str]:
    return (
        []
        if invocation.has_flag(words, *SESSION_FLAGS) or not turn.session_id
        else ["--session-id", turn.session_id]
    )


def parse(stdout: str, stderr: str, exit: int | None) -> output.AgentReply:
    found = output.read_objects(stdout)
    reply = read_events(found)
    texts = reply.texts if found else output.plain_texts(stdout)
    missing = output.session_problem(stderr, missing="No session (found matching|has an id)")
    return output.AgentReply(
        texts=texts, meta=reply.meta, error=reply.error or output.exit_error(stderr, exit), session=missing
    )


def read_events(events: Iterable[dict[str, Any]]) -> output.AgentReply:
    """The assistant messages among events, in order; the last one's failure is the error."""
    texts: list[str] = []
    session_id = error = ""
    last: dict[str, Any] = {}
    usage, cost = output.AgentUsage(), 0.0
    for event in events:
        if event.get("type") == "session":
            session_id = output.string(event, "id")
        message = event.get("message")
        if (
            event.get("type") not in ("message", "message_end")
            or output.string(message, "role") != "assistant"
        ):
            continue
        last = message if isinstance(message, dict) else {}
        blocks = [one for one in output.items(last.get("content")) if output.string(one, "type") == "text"]
        text = output.clean("\n".join(output.string(one, "text") for one in blocks))
        if text and texts[-1:] != [text]:
            texts.append(text)
        usage = usage.plus(
            output.usage_of(
                last.get("usage"), input="input", output="output", read="cacheRead", write="cacheWrite"
            )
        )
        cost += output.number(last, "usage", "cost", "total")
        failed = last.get("stopReason") == "error"
        error = (
            output.one_sentence([output.string(last, "errorMessage"), "The model request failed."])
            if failed
            else ""
        )
    meta = output.AgentMeta(
        model=output.string(last, "model"),
        provider=output.string(last, "provider"),
        session_id=session_id,
        stop_reason=output.string(last, "stopReason"),
        usage=usage if last else None,
        cost=cost if last else None,
    )
    return output.AgentReply(texts=texts, meta=meta, error=error)
