"""The gemini CLI."""

from collections.abc import Sequence

from tau.relay.agents import invocation, output


def build_args(argv: Sequence[str], body: str, turn: invocation.AgentTurn) -> invocation.Invocation:
    words = invocation.without_separator(argv)
    flags = invocation.flag(words, "--output-format", turn.format, "-o") if turn.format else []
    session = ["--session-id" if turn.is_new else "--resume", turn.session_id] if turn.session_id else []
    if invocation.has_flag(words, "--session-id", "--resume", "-r"):
        session = []
    full = invocation.add_session(words, flags, session, turn)
    data = invocation.escape_files(invocation.with_identity(body, turn)).encode("utf-8", "replace")
    if turn.prompt_via == "arg" and len(data) < invocation.MAX_ARGUMENT_BYTES:
        return invocation.Invocation([*full, f"--prompt={data.decode()}"], b"")  # it rejects "-- text"
    return invocation.Invocation(full, data)


def parse(stdout: str, stderr: str, exit: int | None) -> output.AgentReply:
    found = output.read_objects(stdout)
    pieces: list[str] = []
    session_id = model = error = ""
    usage = None
    for one in found:
        session_id = session_id or output.string(one, "session_id")
        if isinstance(one.get("response"), str):
            pieces = [output.string(one, "response")]
        elif one.get("type") == "message" and output.string(one, "role") in ("assistant", "model"):
            pieces.append(output.string(one, "content"))
        models = output.mapping(one, "stats", "models")
        for name, stats in models.items():
            model = model or name
            counts = output.usage_of(
                output.mapping(stats, "tokens"), input="input", output="candidates", read="cached"
            )
            usage = counts if usage is None else usage.plus(counts)
        if "error" in one:
            error = output.one_sentence(
                [output.string(one, "error", "message"), output.string(one, "error"), "The agent failed."]
            )
    text = output.clean("".join(pieces))
    return output.AgentReply(
        texts=([text] if text else []) if found else output.plain_texts(stdout) if not exit else [],
        meta=output.AgentMeta(
            model=model,
            provider="google" if model else "",
            session_id=session_id,
            usage=usage or (output.AgentUsage() if found else None),
        ),
        error=error or output.exit_error(stderr, exit),
        session=output.session_problem(
            stderr, "Session ID .* already exists", "Invalid session identifier|No previous sessions found"
        ),
    )
