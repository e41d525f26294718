"""The opencode CLI."""

from collections.abc import Sequence

from tau.relay.agents.reply import (
    AgentMeta,
    AgentReply,
    AgentUsage,
    clean,
    exit_error,
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
    flag,
    has_flag,
    program_index,
    with_identity,
    without_separator,
)


def build_args(argv: Sequence[str], body: str, turn: AgentTurn) -> Invocation:
    words = without_separator(argv)
    after = program_index(words, "opencode") + 1
    if "run" not in words[after:]:
        words.insert(after, "run")
    flags = flag(words, "--format", "json") if turn.format == "json" else []
    has_session = has_flag(words, "--session", "-s", "--continue", "-c")
    session = [] if turn.is_new or has_session or not turn.session_id else ["--session", turn.session_id]
    return carry(add_session(words, flags, session, turn), with_identity(body, turn), turn)


def parse(stdout: str, stderr: str, exit: int | None) -> AgentReply:
    texts: list[str] = []
    parts: list[str] = []
    session_id = error = reason = ""
    usage, cost, times = AgentUsage(), 0.0, []
    found = read_objects(stdout)
    for one in found:
        session_id = session_id or string(one, "sessionID")
        part = one.get("part")
        match one.get("type"):
            case "text":
                parts.append(string(part, "text"))
            case "step_start" | "step_finish" as kind:
                times.append(number(one, "timestamp"))
                if kind == "step_finish":
                    texts, parts = [*texts, "".join(parts)], []
                    reason = string(part, "reason")
                    cost += number(part, "cost")
                    usage = usage.plus(
                        usage_of(
                            mapping(part, "tokens"),
                            input="input",
                            output="output",
                            read="cache.read",
                            write="cache.write",
                        )
                    )
            case "error":
                detail = one.get("error")
                error = one_sentence(
                    [string(detail, "data", "message"), string(detail, "name"), "The agent failed."]
                )
    texts = [*texts, "".join(parts)] if found else plain_texts(stdout)
    meta = AgentMeta(
        session_id=session_id,
        stop_reason=reason,
        usage=usage if found else None,
        cost=cost if found else None,
        duration_ms=int(max(times) - min(times)) if times else 0,
    )
    return AgentReply(
        texts=[text for text in map(clean, texts) if text],
        meta=meta,
        error=error or exit_error(stderr, exit),
        session=session_problem(f"{stderr}\n{stdout}", missing="Session not found"),
    )
