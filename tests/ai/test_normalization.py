"""Whatever a history went through, the request is valid and extends the previous one."""

from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.ai import normalization
from tau.ai.apis import anthropic_body, openai_body
from tau.ai.dialect import Request, ToolSpec
from tau.ai.images import MAX_IMAGE_CHARS
from tau.ai.model import Compat, Model
from tau.ai.normalization import HistoryNormalizer, clean, cleaned, normalize_history, ran_text
from tau.ai.wire import (
    AppMessage,
    AssistantContent,
    AssistantMessage,
    Attachment,
    BashExecutionMessage,
    BranchSummaryMessage,
    CompactionSummaryMessage,
    CustomMessage,
    ImageContent,
    Message,
    StopReason,
    TextContent,
    ThinkingContent,
    ToolCall,
    ToolResultMessage,
    Usage,
    UserContent,
    UserMessage,
    without_signature,
)
from tests.support.validators import validate_anthropic, validate_openai

CLAUDE = Model(
    id="claude",
    name="Claude",
    api="anthropic-messages",
    provider="anthropic",
    base_url="https://a",
    reasoning=True,
    input=("text", "image"),
    max_tokens=64_000,
)
GPT = Model(
    id="gpt",
    name="GPT",
    api="openai-completions",
    provider="openai",
    base_url="https://o",
    reasoning=True,
    input=("text", "image"),
)
BLIND = Model(
    id="blind",
    name="Blind",
    api="openai-completions",
    provider="local",
    base_url="http://l",
    compat=Compat(requires_tool_result_name=True, thinking_field="reasoning_content"),
)
MODELS = (CLAUDE, GPT, BLIND)


def user(content: str | list[UserContent] = "hi", at: int = 1) -> UserMessage:
    return UserMessage(content, at)


def assistant(
    *content: AssistantContent, stop: StopReason = "stop", model: Model = CLAUDE, at: int = 2
) -> AssistantMessage:
    return AssistantMessage(list(content), model.api, model.provider, model.id, Usage(), stop, at)


def call(id: str = "c1", name: str = "read", **arguments: Any) -> ToolCall:
    return ToolCall(id, name, arguments)


def result(id: str = "c1", text: str = "done", *, name: str = "read", at: int = 3) -> ToolResultMessage:
    return ToolResultMessage(id, name, [TextContent(text)], False, at)


def texts(messages: Sequence[Message]) -> list[str]:
    """A history in short: role and text."""
    lines = []
    for message in messages:
        match message:
            case UserMessage():
                lines.append(f"user: {message.content if isinstance(message.content, str) else 'parts'}")
            case AssistantMessage():
                lines.append(f"assistant: {message.text}{[c.name for c in message.tool_calls] or ''}")
            case ToolResultMessage():
                lines.append(
                    "result: " + "".join(p.text for p in message.content if isinstance(p, TextContent))
                )
    return lines


def test_plain_conversation_is_unchanged() -> None:
    messages: list[AppMessage] = [
        user("read a"),
        assistant(ThinkingContent("hm", "sig"), TextContent("Reading."), call(path="a"), stop="toolUse"),
        result(),
        assistant(TextContent("It says done.")),
        user("thanks"),
    ]
    assert normalize_history(messages, CLAUDE) == messages


def test_call_without_a_result_gets_one() -> None:
    aborted = normalize_history([user(), assistant(call(), stop="aborted"), user("go on")], CLAUDE)
    assert texts(aborted) == [
        "user: hi",
        "assistant: ['read']",
        f"result: {normalization.NOT_RUN}",
        "user: go on",
    ]
    assert isinstance(aborted[2], ToolResultMessage)
    assert aborted[2].is_error
    killed = normalize_history([user(), assistant(call(), stop="toolUse")], CLAUDE)
    assert texts(killed)[2] == f"result: {normalization.UNRECORDED}"


def test_misplaced_result_moves_after_its_call() -> None:
    messages = [
        user(),
        assistant(call("a"), call("b"), stop="toolUse"),
        user("steer"),
        result("b", "B"),
        assistant(TextContent("ok")),
        result("a", "A"),
    ]
    assert texts(normalize_history(messages, CLAUDE)) == [
        "user: hi",
        "assistant: ['read', 'read']",
        "result: A",
        "result: B",
        "user: steer",
        "assistant: ok",
    ]


def test_orphaned_and_duplicate_results_are_dropped() -> None:
    messages = [
        result("lost"),
        user(),
        assistant(call()),
        result(text="first"),
        result(text="second"),
        result("x"),
    ]
    assert texts(normalize_history(messages, CLAUDE)) == ["user: hi", "assistant: ['read']", "result: first"]


def test_same_id_in_two_answers_is_made_unique() -> None:
    """Some servers count their calls from 0 in every answer."""
    messages = [
        user(),
        assistant(call("call_0"), stop="toolUse"),
        result("call_0", "one"),
        assistant(call("call_0"), stop="toolUse"),
        result("call_0", "two"),
    ]
    for model in MODELS:
        sent = normalize_history(messages, model)
        assert texts(sent)[2] == "result: one"
        assert texts(sent)[4] == "result: two"
        ids = [c.id for m in sent if isinstance(m, AssistantMessage) for c in m.tool_calls]
        assert len(set(ids)) == 2
        assert ids == [m.tool_call_id for m in sent if isinstance(m, ToolResultMessage)]


def test_same_id_twice_in_one_answer_is_made_unique() -> None:
    messages = [user(), assistant(call("x"), call("x")), result("x", "one"), result("x", "two")]
    assert texts(normalize_history(messages, CLAUDE))[2:] == ["result: one", "result: two"]


def test_text_of_an_aborted_answer_is_kept() -> None:
    aborted = assistant(ThinkingContent("unsigned"), TextContent("Half a sen"), stop="aborted")
    assert normalize_history([user(), aborted], CLAUDE) == [
        user(),
        assistant(TextContent("Half a sen"), stop="aborted"),
    ]
    signed = assistant(ThinkingContent("signed", "s"), TextContent("Half"), stop="aborted")
    assert normalize_history([user(), signed], CLAUDE) == [user(), signed]


def test_failed_answer_is_kept_only_if_the_conversation_continues_from_it() -> None:
    failed = assistant(TextContent("Half"), stop="error")
    assert texts(normalize_history([user(), failed], CLAUDE)) == ["user: hi"]
    retried = normalize_history([user(), failed, assistant(TextContent("Whole"))], CLAUDE)
    assert texts(retried) == ["user: hi", "assistant: Whole"]
    reported = normalize_history([user(), failed, user("go on")], CLAUDE)
    assert texts(reported) == ["user: hi", "assistant: Half", "user: go on"]


def test_unsent_message_does_not_continue_from_a_failed_answer() -> None:
    failed = assistant(TextContent("Half"), stop="error")
    hidden = ran("x", exclude_from_context=True)
    summary = CompactionSummaryMessage("before", 3, 3)
    for unsent in (user("  "), hidden, result("other")):
        assert texts(normalize_history([user(), failed, unsent], CLAUDE)) == ["user: hi"]
    for sent in (ran("x"), CustomMessage("note", "said", True, 3), summary):
        assert "assistant: Half" in texts(normalize_history([user(), failed, sent], CLAUDE))
    called = assistant(call("c"), stop="error")
    assert len(normalize_history([user(), called, result("c")], CLAUDE)) == 3


def test_custom_messages_and_summaries_are_sent_as_user_messages() -> None:
    note = CustomMessage("note", "said", True, 3)
    assert normalize_history([note], CLAUDE) == [UserMessage("said", 3)]
    assert normalize_history([ran("x", exclude_from_context=True)], CLAUDE) == []
    [compacted, left] = normalize_history(
        [CompactionSummaryMessage("all of it", 3, 4), BranchSummaryMessage("a way", "id", 5)], CLAUDE
    )
    assert "Summary of the conversation so far" in str(compacted.content)
    assert "all of it" in str(compacted.content)
    assert "Summary of another branch that was abandoned" in str(left.content)
    assert "a way" in str(left.content)


def test_history_without_a_first_user_message_gets_one() -> None:
    assert texts(normalize_history([assistant(TextContent("Yes."))], CLAUDE)) == [
        f"user: {normalization.NO_BEGINNING}",
        "assistant: Yes.",
    ]


@pytest.mark.parametrize(
    "empty",
    [
        assistant(stop="error"),
        assistant(TextContent(" \n"), stop="aborted"),
        assistant(ThinkingContent("only thoughts", "sig")),
        assistant(ThinkingContent("half a thought"), stop="aborted"),
    ],
)
def test_empty_answer_is_dropped(empty: AssistantMessage) -> None:
    assert texts(normalize_history([user("a"), empty, user("b")], CLAUDE)) == ["user: a", "user: b"]


def test_only_the_model_that_thought_gets_its_thinking_back() -> None:
    message = assistant(ThinkingContent("deep", "sig"), TextContent("yes", "text-sig"), model=CLAUDE)
    assert normalize_history([user(), message], CLAUDE) == [user(), message]
    other = msgspec.structs.replace(CLAUDE, id="claude-2")
    elsewhere = msgspec.structs.replace(CLAUDE, provider="router")
    for model in (GPT, other, elsewhere):
        _, sent = normalize_history([user(), message], model)
        assert isinstance(sent, AssistantMessage)
        assert sent.content == [TextContent("yes")]


def test_call_signature_stays_with_its_model() -> None:
    signed = ToolCall("c1", "read", {}, "thought")
    for model, kept in ((CLAUDE, "thought"), (GPT, msgspec.UNSET)):
        sent = normalize_history([user(), assistant(signed)], model)[1]
        assert isinstance(sent, AssistantMessage)
        assert sent.tool_calls[0].thought_signature == kept


@pytest.mark.parametrize("id", ["functions.read:0", "call|abc/+=", "", "x" * 70, "ünï", "a\ud800"])
@pytest.mark.parametrize("origin", [CLAUDE, GPT])
def test_ids_a_server_would_reject_are_renamed_with_their_results(id: str, origin: Model) -> None:
    sent = normalize_history([user(), assistant(call(id), model=origin), result(id)], CLAUDE)[1:]
    assert isinstance(sent[0], AssistantMessage)
    assert isinstance(sent[1], ToolResultMessage)
    name = sent[0].tool_calls[0].id
    assert name == sent[1].tool_call_id
    assert 0 < len(name) <= 64
    assert name.replace("_", "").replace("-", "").isalnum()
    assert name.isascii()
    assert sent == normalize_history([user(), assistant(call(id), model=origin), result(id)], CLAUDE)[1:]


def test_ids_of_the_same_server_are_kept() -> None:
    """A model that names its calls in its own way is trained to see these names again."""
    sent = normalize_history(
        [user(), assistant(call("functions.read:0"), model=GPT), result("functions.read:0")], GPT
    )[1:]
    assert isinstance(sent[0], AssistantMessage)
    assert sent[0].tool_calls[0].id == "functions.read:0"


def test_ids_of_another_server_take_the_strictest_form() -> None:
    sent = normalize_history(
        [user(), assistant(call("toolu_01AbC"), model=CLAUDE), result("toolu_01AbC")], BLIND
    )[1:]
    assert isinstance(sent[0], AssistantMessage)
    assert len(sent[0].tool_calls[0].id) == 9
    assert sent[0].tool_calls[0].id.isalnum()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("read", "read"),
        ("", "unknown"),
        ("functions.bash", "functions_bash"),
        ("a b\u2028", "a_b_"),
        ("x" * 80, "x" * 64),
    ],
)
def test_tool_name_servers_reject_is_changed(name: str, expected: str) -> None:
    sent = normalize_history([user(), assistant(call("c", name)), result("c", name=name)], CLAUDE)[1:]
    assert isinstance(sent[0], AssistantMessage)
    assert isinstance(sent[1], ToolResultMessage)
    assert sent[0].tool_calls[0].name == sent[1].tool_name == expected


def test_blank_message_is_dropped() -> None:
    blank: list[AppMessage] = [user(""), user(" \n\t"), user([]), user([TextContent("  ")])]
    assert normalize_history(blank, CLAUDE) == []
    assert normalize_history([user([TextContent(""), TextContent("x")])], CLAUDE) == [
        user([TextContent("x")])
    ]


PNG = ImageContent("aGk=", "image/png")


def test_images_are_sent_only_to_models_that_accept_them() -> None:
    messages = [
        user([TextContent("look"), PNG]),
        assistant(call()),
        ToolResultMessage("c1", "read", [PNG], False, 3),
    ]
    seen = normalize_history(messages, CLAUDE)
    assert seen[0] == messages[0]
    assert seen[2] == messages[2]
    blind = normalize_history(messages, BLIND)
    note = TextContent("[image omitted: this model has no vision]")
    assert blind[0] == user([TextContent("look"), note])
    assert isinstance(blind[2], ToolResultMessage)
    assert blind[2].content == [note]


@pytest.mark.parametrize(
    ("image", "words"),
    [
        (ImageContent("aGk=", "image/bmp"), "image/bmp"),
        (ImageContent("", "image/png"), "broken"),
        (ImageContent("é", "image/png"), "broken"),
        (ImageContent("a" * (MAX_IMAGE_CHARS + 1), "image/png"), "too large"),
    ],
)
def test_unsendable_image_does_not_poison_the_history(image: ImageContent, words: str) -> None:
    (sent,) = normalize_history([user([image])], CLAUDE)
    assert isinstance(sent, UserMessage)
    assert isinstance(sent.content[0], TextContent)
    assert words in sent.content[0].text


def test_attachments_are_sent_as_images_and_text() -> None:
    message = UserMessage(
        "see these",
        1,
        [
            Attachment("1", "image", "a.png", "image/png", 2, "aGk="),
            Attachment("2", "document", "b.pdf", "application/pdf", 2, "aGk=", "the words"),
            Attachment("3", "document", "c.pdf", "application/pdf", 2, "aGk="),
        ],
    )
    (sent,) = normalize_history([message], CLAUDE)
    assert sent == user(
        [
            TextContent("see these"),
            PNG,
            TextContent("[b.pdf]\nthe words"),
            TextContent("[c.pdf is attached, but unreadable]"),
        ]
    )


def test_empty_result_says_so() -> None:
    sent = normalize_history(
        [user(), assistant(call()), ToolResultMessage("c1", "read", [], False, 3)], CLAUDE
    )[1:]
    assert isinstance(sent[1], ToolResultMessage)
    assert sent[1].content == [TextContent("(no output)")]


def ran(output: str = "", **more: Any) -> BashExecutionMessage:
    fields: dict[str, Any] = {"exit_code": 0, "cancelled": False, "truncated": False, **more}
    return BashExecutionMessage("ls", output, timestamp=5, **fields)


def test_user_command_is_sent_to_the_model() -> None:
    assert ran_text(ran("a\nb\n")) == "Ran `ls`\n```\na\nb\n```"
    assert ran_text(ran()) == "Ran `ls`\n```\n(no output)\n```"
    assert ran_text(ran("x", exit_code=2)) == "Ran `ls`\n```\nx\n```\nExit code 2."
    assert ran_text(ran("x", exit_code=None, cancelled=True)).endswith("```\nCancelled by the user.")
    assert ran_text(ran("x", exit_code=None)).endswith("```\nKilled.")
    assert ran_text(ran("x", truncated=True)).endswith("```\nOutput truncated.")
    assert ran_text(ran("x", truncated=True, full_output_path="/tmp/o")).endswith("truncated; all: /tmp/o")
    assert ran_text(ran("a ``` b")) == "Ran `ls`\n````\na ``` b\n````"
    assert normalize_history([ran("x")], CLAUDE) == [UserMessage("Ran `ls`\n```\nx\n```", 5)]


def test_lone_surrogates_are_replaced() -> None:
    assert clean("a\ud83d!") == "a\ufffd!"
    assert clean("\ud83d\ude00") == "\U0001f600"
    assert clean("grün") == "grün"
    value = {"a": ["x\udc00", {"b\ud800": None}], "c": 1}
    assert cleaned(value) == {"a": ["x\ufffd", {"b\ufffd": None}], "c": 1}
    same = {"a": ["x", {"b": None}]}
    assert cleaned(same) is same
    assert cleaned({"\ud800": None}) == {"\ufffd": None}
    messages = [user("\ud800"), assistant(TextContent("\ud800"), call(path="\ud800")), result(text="\ud800")]
    assert b"\xef\xbf\xbd" in msgspec.json.encode(normalize_history(messages, CLAUDE))


IDS = st.sampled_from(["a", "b", "call_0", "functions.read:0", "x" * 70, "", "é\ud800"])
WORDS = st.sampled_from(["", " ", "hello", "two\nlines", "\ud83d", "é"])
IMAGES = st.sampled_from([PNG, ImageContent("", "image/png"), ImageContent("aGk=", "image/tiff")])
PARTS: st.SearchStrategy[list[UserContent]] = st.lists(st.builds(TextContent, WORDS) | IMAGES, max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
CALLS = st.builds(
    ToolCall, IDS, st.sampled_from(["read", "", "a.b"]), st.dictionaries(WORDS, JSON, max_size=2)
)
THOUGHTS = st.builds(ThinkingContent, WORDS, st.sampled_from(["", "sig"])) | st.just(
    ThinkingContent("", "secret", True)
)
ANSWERS = st.builds(
    lambda content, model, stop: assistant(*content, model=model, stop=stop),
    st.lists(st.builds(TextContent, WORDS) | THOUGHTS | CALLS, max_size=4),
    st.sampled_from(MODELS),
    st.sampled_from(["stop", "length", "toolUse", "error", "aborted"]),
)
RESULTS = st.builds(ToolResultMessage, IDS, st.just("read"), PARTS, st.booleans(), st.just(3))
COMMANDS = st.builds(ran, WORDS)
HISTORIES = st.lists(
    st.builds(UserMessage, WORDS | PARTS, st.just(1)) | ANSWERS | RESULTS | COMMANDS, max_size=12
)


def body(model: Model, messages: list[Message]) -> dict[str, Any]:
    request = Request(
        system="be good",
        messages=messages,
        tools=[ToolSpec("read", "reads", {"type": "object", "properties": {}})],
        max_tokens=1000,
        thinking="low",
    )
    build = anthropic_body.build_body if model.api == "anthropic-messages" else openai_body.build_body
    decoded: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(build(model, request)))
    return decoded


@given(HISTORIES, st.sampled_from(MODELS))
def test_any_history_makes_a_valid_request(messages: list[AppMessage], model: Model) -> None:
    sent = normalize_history([*messages, user("go on")], model)
    validate = validate_anthropic if model.api == "anthropic-messages" else validate_openai
    assert validate(body(model, sent)) == []


@given(HISTORIES, st.sampled_from(MODELS))
def test_normalization_is_idempotent(messages: list[AppMessage], model: Model) -> None:
    once = normalize_history(messages, model)
    twice = normalize_history(once, model)
    assert texts(twice) == texts(once)


@given(HISTORIES, st.integers(0, 12), st.sampled_from(MODELS))
def test_longer_history_starts_with_the_shorter_one(
    messages: list[AppMessage], cut: int, model: Model
) -> None:
    """Missing results may arrive; everything else stays."""
    before = normalize_history(messages[:cut], model)
    after = normalize_history(messages, model)
    assert len(after) >= len(before)
    for old, new in zip(before, after, strict=False):
        if isinstance(old, ToolResultMessage):
            assert isinstance(new, ToolResultMessage)
            assert new.tool_call_id == old.tool_call_id
            if old.content not in (
                [TextContent(normalization.UNRECORDED)],
                [TextContent(normalization.NOT_RUN)],
            ):
                assert new == old
        else:
            assert new == old


@given(HISTORIES, st.sampled_from(MODELS))
def test_growing_history_is_sent_as_if_it_were_normalized_again(
    messages: list[AppMessage], model: Model
) -> None:
    normalizer = HistoryNormalizer()
    for size in range(len(messages) + 1):
        expected = normalize_history(messages[:size], model)
        assert normalizer.normalize(messages[:size], model) == expected


def test_replaced_message_is_sent_with_its_new_text() -> None:
    normalizer = HistoryNormalizer()
    messages: list[AppMessage] = [
        user("old"),
        assistant(TextContent("one")),
        user("two"),
        assistant(TextContent("x")),
    ]
    normalizer.normalize(messages, CLAUDE)
    messages[0] = user("new")
    assert normalizer.normalize(messages, CLAUDE) == normalize_history(messages, CLAUDE)
    assert normalizer.normalize(messages[:1], GPT) == normalize_history(messages[:1], GPT)


def test_settled_messages_are_normalized_once() -> None:
    normalizer = HistoryNormalizer()
    surrogate = ToolCall("a", "bash", {"command": "\ud800"})
    messages: list[AppMessage] = [user("go"), assistant(surrogate), result("a"), assistant(TextContent("x"))]
    first = normalizer.normalize(messages, CLAUDE)
    assert normalizer.normalize([*messages, user("more")], CLAUDE)[1] is first[1]


@pytest.mark.parametrize(
    ("part", "plain"),
    (
        (ThinkingContent("Hm.", "sealed"), ThinkingContent("Hm.")),
        (ThinkingContent("Hm.", "sealed", True), None),
        (ThinkingContent(" \n", "sealed"), None),
        (TextContent("Yes.", "sealed"), TextContent("Yes.")),
    ),
    ids=("thought", "redacted", "blank", "text"),
)
def test_part_without_its_signature_is_what_any_server_takes(
    part: AssistantContent, plain: AssistantContent | None
) -> None:
    assert without_signature(part) == plain
