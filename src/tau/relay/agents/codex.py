"""The codex CLI."""

import re
from collections.abc import Sequence

from tau.relay.agents.reply import (
    AgentMeta,
    AgentReply,
    clean,
    exit_error,
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
    carry,
    flag,
    program_index,
    with_identity,
    without_separator,
)

BYPASSES = ("-s", "--full-auto", "--dangerously-bypass-approvals-and-sandbox", "--yolo")


def build_args(argv: Sequence[str], body: str, turn: AgentTurn) -> Invocation:
    words = without_separator(argv)
    after = program_index(words, "codex") + 1
    if not {"exec", "e"} & set(words[after:]):
        words.insert(after, "exec")
    flags = flag(words, "--json") if turn.format != "text" else []
    flags += flag(words, "--skip-git-repo-check")
    flags += flag(words, "--sandbox", "read-only", *BYPASSES)
    session = [] if turn.is_new or not turn.session_id or "resume" in words else ["resume", turn.session_id]
    if turn.session_args is not None:
        session = list(turn.session_args)
    # "resume ID" is a subcommand: its argument is the prompt, so it follows the flags.
    return carry([*words, *flags, *session], with_identity(body, turn), turn, dash=True)


def parse(stdout: str, stderr: str, exit: int | None) -> AgentReply:
    texts: list[str] = []
    session_id = error = last_error = ""
    usage = None
    found = read_objects(stdout)
    for one in found:
        item = one.get("item")
        match one.get("type"):
            case "thread.started":
                session_id = string(one, "thread_id")
            case "item.completed" if string(item, "type") == "agent_message":
                texts.append(clean(string(item, "text")))
            case "turn.completed":
                usage = usage_of(
                    one.get("usage"), input="input_tokens", output="output_tokens", read="cached_input_tokens"
                )
                error = ""
            case "turn.failed":
                error = one_sentence([string(one, "error", "message"), "The turn failed."])
            case "error":
                last_error = string(one, "message")
    if usage is not None:  # cached tokens are part of the input
        usage = type(usage)(max(0, usage.input - usage.cache_read), usage.output, usage.cache_read)
    if not found:
        texts = plain_texts(stdout)
        match_id = re.search(r"^session id: (\S+)", stderr, re.MULTILINE)
        session_id = match_id[1] if match_id else ""
    meta = AgentMeta(session_id=session_id, usage=usage, usage_is_sum=True)
    return AgentReply(
        texts=[text for text in texts if text],
        meta=meta,
        error=error or exit_error(stderr, exit, *([last_error] if last_error else [])),
        session=session_problem(stderr, missing="no rollout found|[Nn]o saved session found"),
    )
