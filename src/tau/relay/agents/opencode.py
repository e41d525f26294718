"""The opencode CLI."""

from collections.abc import Sequence

from tau.relay.agents import invocation, output


def build_args(argv: Sequence[str], body: str, turn: invocation.AgentTurn) -> invocation.Invocation:
    words = invocation.without_separator(argv)
    after = invocation.program_index(words, "opencode") + 1
    if "run" not in words[after:]:
        words.insert(after, "run")
    flags = invocation.flag(words, "--format", "json") if turn.format == "json" else []
    has_session = invocation.has_flag(words, "--session", "-s", "--continue", "-c")
    session = [] if turn.is_new or has_session or not turn.session_id else ["--session", turn.session_id]
    return invocation.carry(
        invocation.add_session(words, flags, session, turn), invocation.with_identity(body, turn), turn
    )


def parse(stdout: str, stderr: str, exit: int | None) -> output.AgentReply:
    texts: list[str] = []
    parts: list[str] = []
    session_id = error = reason = ""
    usage, cost, times = output.AgentUsage(), 0.0, []
    found = output.read_objects(stdout)
    for one in found:
        session_id = session_id or output.string(one, "sessionID")
        part = one.get("part")
        match one.get("type"):
            case "text":
                parts.append(output.string(part, "text"))
            case "step_start" | "step_finish" as kind:
                times.append(output.number(one, "timestamp"))
                if kind == "step_finish":
                    texts, parts = [*texts, "".join(parts)], []
                    reason = output.string(part, "reason")
                    cost += output.number(part, "cost")
                    usage = usage.plus(
                        output.usage_of(
                            output.mapping(part, "tokens"),
                            input="input",
                            output="output",
                            read="cache.read",
                            write="cache.write",
                        )
                    )
            case "error":
                detail = one.get("error")
                error = output.one_sentence(
                    [
                        output.string(detail, "data", "message"),
                        output.string(detail, "name"),
                        "The agent failed.",
                    ]
                )
    texts = [*texts, "".join(parts)] if found else output.plain_texts(stdout)
    meta = output.AgentMeta(
        session_id=session_id,
        stop_reason=reason,
        usage=usage if found else None,
        cost=cost if found else None,
        duration_ms=int(max(times) - min(times)) if times else 0,
    )
    return output.AgentReply(
        texts=[text for text in map(output.clean, texts) if text],
        meta=meta,
        error=error or output.exit_error(stderr, exit),
        session=output.session_problem(f"{stderr}\n{stdout}", missing="Session not found"),
    )
