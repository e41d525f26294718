"""The codex CLI."""

import re
from collections.abc import Sequence

from tau.relay.agents import invocation, output

BYPASSES = ("-s", "--full-auto", "--dangerously-bypass-approvals-and-sandbox", "--yolo")


def build_args(argv: Sequence[str], body: str, turn: invocation.AgentTurn) -> invocation.Invocation:
    words = invocation.without_separator(argv)
    after = invocation.program_index(words, "codex") + 1
    if not {"exec", "e"} & set(words[after:]):
        words.insert(after, "exec")
    flags = invocation.flag(words, "--json") if turn.format != "text" else []
    flags += invocation.flag(words, "--skip-git-repo-check")
    flags += invocation.flag(words, "--sandbox", "read-only", *BYPASSES)
    session = [] if turn.is_new or not turn.session_id or "resume" in words else ["resume", turn.session_id]
    if turn.session_args is not None:
        session = list(turn.session_args)
    # "resume ID" is a subcommand: its argument is the prompt, so it follows the flags.
    return invocation.carry([*words, *flags, *session], invocation.with_identity(body, turn), turn, dash=True)


def parse(stdout: str, stderr: str, exit: int | None) -> output.AgentReply:
    texts: list[str] = []
    session_id = error = last_error = ""
    usage = None
    found = output.read_objects(stdout)
    for one in found:
        item = one.get("item")
        match one.get("type"):
            case "thread.started":
                session_id = output.string(one, "thread_id")
            case "item.completed" if output.string(item, "type") == "agent_message":
                texts.append(output.clean(output.string(item, "text")))
            case "turn.completed":
                usage = output.usage_of(
                    one.get("usage"), input="input_tokens", output="output_tokens", read="cached_input_tokens"
                )
                error = ""
            case "turn.failed":
                error = output.one_sentence([output.string(one, "error", "message"), "The turn failed."])
            case "error":
                last_error = output.string(one, "message")
    if usage is not None:  # cached tokens are part of the input
        usage = type(usage)(max(0, usage.input - usage.cache_read), usage.output, usage.cache_read)
    if not found:
        texts = output.plain_texts(stdout)
        match_id = re.search(r"^session id: (\S+)", stderr, re.MULTILINE)
        session_id = match_id[1] if match_id else ""
    meta = output.AgentMeta(session_id=session_id, usage=usage, usage_is_sum=True)
    return output.AgentReply(
        texts=[text for text in texts if text],
        meta=meta,
        error=error or output.exit_error(stderr, exit, *([last_error] if last_error else [])),
        session=output.session_problem(stderr, missing="no rollout found|[Nn]o saved session found"),
    )
