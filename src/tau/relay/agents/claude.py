"""Claude Code."""

from collections.abc import Sequence
from typing import Any

from tau.relay.agents.reply import (
    AgentMeta,
    AgentReply,
    clean,
    exit_error,
    items,
    mapping,
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
    escape_files,
    flag,
    has_flag,
    with_identity,
    without_separator,
)


def build_args(argv: Sequence[str], body: str, turn: AgentTurn) -> Invocation:
    words = without_separator(argv)
    flags = flag(words, "--output-format", turn.format) if turn.format else []
    flags += flag(words, "-p", None, "--print")
    session = ["--session-id" if turn.is_new else "--resume", turn.session_id] if turn.session_id else []
    if has_flag(words, "--continue", "-c", "-r", "--resume", "--session-id"):
        session = []
    return carry(add_session(words, flags, session, turn), escape_files(with_identity(body, turn)), turn)


def parse(stdout: str, stderr: str, exit: int | None) -> AgentReply:
    found = read_objects(stdout)
    results = [one for one in found if one.get("type") == "result"]
    results = results or [one for one in found if _text(one) is not None][:1] or [{}]
    result = results[-1]
    text = _text(result) if result else None
    problem = session_problem(
        f"{stderr}\n{stdout}", r"Session ID \S+ is already in use", "No conversation found"
    )
    meta = _meta(result)
    if result.get("is_error") is True:
        error = one_sentence(
            [
                text or "",
                *map(str, items(result.get("errors"))),
                string(result, "subtype"),
                "The agent failed.",
            ]
        )
        return AgentReply(meta=meta, error=error, session=problem)
    texts = [clean(text)] if text is not None else [] if found else plain_texts(stdout)
    if exit and not found:
        return AgentReply(meta=meta, error=exit_error(stderr, exit, *texts), session=problem)
    return AgentReply(
        texts=[one for one in texts if one], meta=meta, error=exit_error(stderr, exit), session=problem
    )


def _text(value: Any, depth: int = 0) -> str | None:
    """The text of an answer in any of the shapes that versions used."""
    if not isinstance(value, dict) or depth > 4:
        return None
    for key in ("result", "text", "completion", "output"):
        if isinstance(value.get(key), str):
            return str(value[key])
    for one in (value.get("message"), *items(value.get("messages")), *items(value.get("content"))):
        if (text := _text(one, depth + 1)) is not None:
            return text
    return None


def _meta(result: dict[str, Any]) -> AgentMeta:
    usage = usage_of(
        result.get("usage"),
        input="input_tokens",
        output="output_tokens",
        read="cache_read_input_tokens",
        write="cache_creation_input_tokens",
    )
    models = mapping(result, "modelUsage")
    counted = sum(number(one, "inputTokens") + number(one, "outputTokens") for one in models.values())
    cost = result.get("total_cost_usd")
    return AgentMeta(
        model=", ".join(map(str, models)),
        provider="anthropic" if models else "",
        session_id=string(result, "session_id"),
        stop_reason=string(result, "stop_reason") or string(result, "subtype"),
        usage=usage if "usage" in result else None,
        cost=number(result, "total_cost_usd") if isinstance(cost, int | float) else None,
        # Newer versions report the cost of the session; then the models have more tokens than the run.
        cost_is_sum=counted > usage.input + usage.output,
        duration_ms=int(number(result, "duration_ms")),
    )
