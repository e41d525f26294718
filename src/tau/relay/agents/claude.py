"""Claude Code."""

from collections.abc import Sequence

from tau.relay.agents import invocation, output


def build_args(argv: Sequence[str], body: str, turn: invocation.AgentTurn) -> invocation.Invocation:
    words = invocation.without_separator(argv)
    flags = invocation.flag(words, "--output-format", turn.format) if turn.format else []
    flags += invocation.flag(words, "-p", None, "--print")
    session = ["--session-id" if turn.is_new else "--resume", turn.session_id] if turn.session_id else []
    if invocation.has_flag(words, "--continue", "-c", "-r", "--resume", "--session-id"):
        session = []
    return invocation.carry(
        invocation.add_session(words, flags, session, turn),
        invocation.escape_files(invocation.with_identity(body, turn)),
        turn,
    )


def parse(stdout: str, stderr: str, exit: int | None) -> output.AgentReply:
    found = output.read_objects(stdout)
    results = [one for one in found if one.get("type") == "result"]
    results = results or [one for one in found if _text(one) is not None][:1] or [{}]
    result = results[-1]
    text = _text(result) if result else None
    problem = output.session_problem(
        f"{stderr}\n{stdout}", r"Session ID \S+ is already in use", "No conversation found"
    )
    meta = _meta(result)
    if result.get("is_error") is True:
        error = output.one_sentence(
            [
                text or "",
                *map(str, output.items(result.get("errors"))),
                output.string(result, "subtype"),
                "The agent failed.",
            ]
        )
        return output.AgentReply(meta=meta, error=error, session=problem)
    texts = [output.clean(text)] if text is not None else [] if found else output.plain_texts(stdout)
    if exit and not found:
        return output.AgentReply(meta=meta, error=output.exit_error(stderr, exit, *texts), session=problem)
    return output.AgentReply(
        texts=[one for one in texts if one], meta=meta, error=output.exit_error(stderr, exit), session=problem
    )


def _text(value: object, depth: int = 0) -> str | None:
    """The text of an answer in any of the shapes that versions used."""
    if not isinstance(value, dict) or depth > 4:
        return None
    for key in ("result", "text", "completion", "output"):
        if isinstance(value.get(key), str):
            return str(value[key])
    for one in (
        value.get("message"),
        *output.items(value.get("messages")),
        *output.items(value.get("content")),
    ):
        if (text := _text(one, depth + 1)) is not None:
            return text
    return None


def _meta(result: dict[str, object]) -> output.AgentMeta:
    usage = output.usage_of(
        result.get("usage"),
        input="input_tokens",
        output="output_tokens",
        read="cache_read_input_tokens",
        write="cache_creation_input_tokens",
    )
    models = output.mapping(result, "modelUsage")
    counted = sum(
        output.number(one, "inputTokens") + output.number(one, "outputTokens") for one in models.values()
    )
    cost = result.get("total_cost_usd")
    return output.AgentMeta(
        model=", ".join(map(str, models)),
        provider="anthropic" if models else "",
        session_id=output.string(result, "session_id"),
        stop_reason=output.string(result, "stop_reason") or output.string(result, "subtype"),
        usage=usage if "usage" in result else None,
        cost=output.number(result, "total_cost_usd") if isinstance(cost, int | float) else None,
        # Newer versions report the cost of the session; then the models have more tokens than the run.
        cost_is_sum=counted > usage.input + usage.output,
        duration_ms=int(output.number(result, "duration_ms")),
    )
