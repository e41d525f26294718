"""The agent CLIs: command lines and output."""

import re
import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.relay.agents import AGENTS
from tau.relay.agents.invocation import IDENTITY, AgentTurn
from tau.relay.agents.output import AgentUsage
from tests.relay.fixtures import CAPTURES, CODEX, Capture, lines
from tests.support.soak import examples

KINDS = tuple(AGENTS)
NAMES = {"tau": "tau"}
BODIES = ("--version", "@/etc/passwd", "/cost", "{{SessionId}}", "x\0y", "\u202eabc", "ö" * 100_000, "-x")


def turn(**fields: object) -> AgentTurn:
    return AgentTurn(**{"session_id": "S", "identity_prefix": "", **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "is_new", "argv"),
    [
        ("claude", True, "claude --session-id S --output-format json -p"),
        ("claude", False, "claude --resume S --output-format json -p"),
        ("codex", True, "codex exec --json --skip-git-repo-check --sandbox read-only -"),
        ("codex", False, "codex exec --json --skip-git-repo-check --sandbox read-only resume S -"),
        ("pi", True, "pi --session-id S -p --mode json"),
        ("pi", False, "pi --session-id S -p --mode json"),
        ("opencode", True, "opencode run --format json"),
        ("opencode", False, "opencode run --session S --format json"),
        ("gemini", True, "gemini --session-id S --output-format json"),
        ("gemini", False, "gemini --resume S --output-format json"),
        ("tau", True, "tau --mode json"),
        ("tau", False, "tau --resume S --mode json"),
    ],
)
def test_command_lines_are_those_that_work_with_the_real_programs(kind: str, is_new: bool, argv: str) -> None:
    invocation = AGENTS[kind].build_args([kind], "hi", turn(is_new=is_new, format="json"))
    assert " ".join(invocation.argv) == argv
    assert invocation.stdin == b"hi"


@pytest.mark.parametrize("kind", KINDS)
def test_flags_of_the_user_are_not_doubled(kind: str) -> None:
    once = AGENTS[kind].build_args([kind], "hi", turn(format="json"))
    dash = once.argv[-1] == "-"
    again = AGENTS[kind].build_args(once.argv[:-1] if dash else once.argv, "hi", turn(format="json"))
    assert sorted(again.argv) == sorted(once.argv)


def test_a_flag_with_an_equals_sign_counts() -> None:
    argv = AGENTS["codex"].build_args(["codex", "--sandbox=workspace-write"], "hi", turn()).argv
    assert "--sandbox" not in argv


@pytest.mark.parametrize(
    "program", [["npx", "codex"], ["/opt/bin/codex"], ["npx", "-y", "@openai/codex@0.166"]]
)
def test_exec_follows_the_program_however_it_is_started(program: list[str]) -> None:
    argv = AGENTS["codex"].build_args(program, "hi", turn()).argv
    assert argv[: len(program) + 1] == [*program, "exec"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("body", BODIES)
def test_chat_text_never_becomes_an_option_or_a_command(kind: str, body: str) -> None:
    for via in ("stdin", "arg"):
        invocation = AGENTS[kind].build_args([kind], body, turn(prompt_via=via, format="json"))
        before = (
            invocation.argv[: invocation.argv.index("--")] if "--" in invocation.argv else invocation.argv
        )
        assert body not in before
        text = invocation.stdin.decode() or invocation.argv[-1].removeprefix("--prompt=")
        assert text[:1] not in ("/", "@", "!")
        assert text.strip().replace("\\@", "@") == body.replace("\0", "\ufffd")
        if kind in ("claude", "gemini"):
            assert not re.search(r"(?<!\\)@", text)


@pytest.mark.parametrize("kind", KINDS)
def test_identity_goes_out_once_if_wanted(kind: str) -> None:
    build = AGENTS[kind].build_args
    first = build([kind], "hi", turn(identity_prefix=None, send_system_once=True))
    later = build([kind], "hi", turn(identity_prefix=None, send_system_once=True, system_sent=True))
    assert first.stdin.decode() == f"{IDENTITY}\n\nhi"
    assert later.stdin == b"hi"
    assert build([kind], "hi", turn(identity_prefix="I am", system_sent=True)).stdin == b"I am\n\nhi"


def test_session_arguments_can_be_replaced() -> None:
    given_args = turn(session_args=("--my", "S"), session_args_first=False, format="json")
    assert AGENTS["claude"].build_args(["claude"], "x", given_args).argv[-2:] == ["--my", "S"]


@pytest.mark.parametrize("capture", CAPTURES)
def test_captured_output_is_understood(capture: Capture) -> None:
    reply = AGENTS[capture.kind].parse(capture.stdout, capture.stderr, capture.exit)
    assert (reply.texts, reply.error, reply.session) == (capture.texts, capture.error, capture.session)
    assert reply.meta.session_id == capture.session_id


@pytest.mark.parametrize("capture", CAPTURES)
def test_output_cut_anywhere_gives_a_part_of_the_texts(capture: Capture) -> None:
    for cut in range(len(capture.stdout)):
        piece = capture.stdout[:cut]
        reply = AGENTS[capture.kind].parse(piece, "", None)
        if "{" in piece:
            assert (
                reply.texts == capture.texts[: len(reply.texts)]
                or reply.texts == [piece.split("{")[0].strip()]
                or "{" in reply.texts[0]
            )
            assert not any(text.startswith("{") for text in reply.texts)


@pytest.mark.parametrize("kind", ["claude", "codex", "pi", "opencode", "gemini"])
def test_output_of_a_real_run_is_understood_whole_and_cut(kind: str) -> None:
    output = (Path(__file__).parent / "captures" / f"{kind}.out").read_text()
    reply = AGENTS[kind].parse(output, "", 0)
    assert (reply.texts, reply.error, reply.session) == (["word0 word1"], "", "")
    assert reply.meta.session_id
    assert reply.meta.usage is not None
    for cut in range(len(output)):
        assert AGENTS[kind].parse(output[:cut], "", None).texts in ([], reply.texts)


JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["type", "message", "item", "part", "text", "usage", "result", "error", "content",
                             "response", "stats", "models", "role", "tokens", "session_id", "is_error"])
            | st.text(string.ascii_letters, max_size=5),
            inner | st.sampled_from(["message_end", "text", "item.completed", "result", "assistant", "error",
                                     "step_finish", "turn.failed", "agent_message", "turn.completed"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@examples(60)
@given(
    kind=st.sampled_from(KINDS),
    objects=st.lists(JSON, max_size=4),
    noise=st.text(max_size=20),
    exit=st.sampled_from([None, 0, 1]),
)
def test_parsers_never_raise(kind: str, objects: list[object], noise: str, exit: int | None) -> None:
    AGENTS[kind].parse(noise + "\n" + lines(*objects), noise, exit)
    AGENTS[kind].parse(noise, lines(*objects), exit)


def test_cached_tokens_of_codex_are_not_counted_twice() -> None:
    reply = AGENTS["codex"].parse(lines(*CODEX), "", 0)
    assert reply.meta.usage == AgentUsage(95, 10, 5)
    assert reply.meta.usage_is_sum
