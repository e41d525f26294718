"""The gemini CLI."""

from collections.abc import Sequence

from tau.relay.agents.reply import (
    AgentMeta,
    AgentReply,
    AgentUsage,
    clean,
    exit_error,
    mapping,
    one_sentence,
    plain_texts,
    read_objects,
    session_problem,
    string,
    usage_of,
)
from tau.relay.agents.turn import (
    MAX_ARGUMENT_BYTES,
    AgentTurn,
    Invocation,
    add_session,
    escape_files,
    flag,
    has_flag,
    with_identity,
    without_separator,
)


def build_args(argv: Sequence[str], body: str, turn: AgentTurn) -> Invocation:
    words = without_separator(argv)
    flags = flag(words, "--output-format", turn.format, "-o") if turn.format else []
    session = ["--session-id" if turn.is_new else "--resume", turn.session_id] if turn.session_id else []
    if has_flag(words, "--session-id", "--resume", "-r"):
        session = []
    full = add_session(words, flags, session, turn)
    data = escape_files(with_identity(body, turn)).encode("utf-8", "replace")
    if turn.prompt_via == "arg" and len(data) < MAX_ARGUMENT_BYTES:
        return Invocation([*full, f"--prompt={data.decode()}"], b"")  # it rejects "-- text"
    return Invocation(full, data)


def parse(stdout: str, stderr: str, exit: int | None) -> AgentReply:
    found = read_objects(stdout)
    pieces: list[str] = []
    session_id = model = error = ""
    usage = None
    for one in found:
        session_id = session_id or string(one, "session_id")
        if isinstance(one.get("response"), str):
            pieces = [string(one, "response")]
        elif one.get("type") == "message" and string(one, "role") in ("assistant", "model"):
            pieces.append(string(one, "content"))
        models = mapping(one, "stats", "models")
        for name, stats in models.items():
            model = model or name
            counts = usage_of(mapping(stats, "tokens"), input="input", output="candidates", read="cached")
            usage = counts if usage is None else usage.plus(counts)
        if "error" in one:
            error = one_sentence([string(one, "error", "message"), string(one, "error"), "The agent failed."])
    text = clean("".join(pieces))
    return AgentReply(
        texts=([text] if text else []) if found else plain_texts(stdout) if not exit else [],
        meta=AgentMeta(
            model=model,
            provider="google" if model else "",
            session_id=session_id,
            usage=usage or (AgentUsage() if found else None),
        ),
        error=error or exit_error(stderr, exit),
        session=session_problem(
            stderr, "Session ID .* already exists", "Invalid session identifier|No previous sessions found"
        ),
    )
