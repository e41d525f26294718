"""For any conversation and any summarizer: pairs stay together, it fits, it shrinks, it ends."""

from typing import Any

from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from tau.agent.events import CompactionEnd
from tau.ai.model import Model
from tau.ai.wire import (
    AppMessage,
    BashExecutionMessage,
    CustomMessage,
    ImageContent,
    TextContent,
    ThinkingContent,
    ToolResultMessage,
    UserMessage,
)
from tau.base.errors import ProviderError
from tau.coding.session.compaction.estimate import message_tokens
from tau.coding.session.compaction.plan import find_cut, valid_starts
from tau.coding.session.compaction.summary import SummaryRequest, build_request
from tests.coding.session.compaction.rig import (
    GOOD,
    Rig,
    Summarizer,
    call,
    model,
    request_tokens,
    says,
    sent_tokens,
    user,
    words,
)
from tests.support.next_request import problems
from tests.support.soak import examples

PICTURE = ImageContent("aGVsbG8=", "image/png")
sizes = st.sampled_from([1, 5, 40, 300, 2_000, 9_000, 40_000])
texts = st.one_of(
    sizes.map(words),
    st.text(st.characters(exclude_categories=()), max_size=40).map(lambda text: text or "x"),
    sizes.map(lambda size: "0123 " * size),
)
paths = st.integers(0, 40).map(lambda number: f"src/m{number}.py")


@st.composite
def turns(draw: st.DrawFn) -> list[AppMessage]:
    """One user message, and what the agent does about it."""
    kind = draw(st.sampled_from(["user", "user", "user", "bash", "custom", "picture"]))
    first: AppMessage
    match kind:
        case "user":
            first = user(draw(texts))
        case "bash":
            first = BashExecutionMessage("make", draw(texts), 0, False, False, 1)
        case "custom":
            first = CustomMessage("note", draw(texts), True, 1)
        case _:
            first = UserMessage([TextContent("look"), PICTURE, PICTURE], 1)
    messages = [first]
    for number in range(draw(st.integers(0, 5))):
        messages += draw(steps(number))
    if draw(st.booleans()):
        messages.append(says(draw(texts), stop=draw(st.sampled_from(["stop", "length", "aborted"]))))
    return messages


@st.composite
def steps(draw: st.DrawFn, number: int) -> list[AppMessage]:
    """An answer with calls, and results for most of them."""
    calls = []
    for place in range(draw(st.integers(1, 3))):
        name = draw(st.sampled_from(["read", "write", "edit", "bash", "search"]))
        arguments: dict[str, Any] = {"path": draw(paths)}
        if name == "write":
            arguments["content"] = draw(texts)
        if name == "bash":
            arguments = {"command": draw(texts)}
        calls.append(
            call(f"c{draw(st.integers(0, 3)) if draw(st.booleans()) else number}-{place}", name, **arguments)
        )
    thoughts = [ThinkingContent(draw(texts))] if draw(st.booleans()) else []
    messages: list[AppMessage] = [says(*thoughts, "Let me see.", *calls, stop="toolUse")]
    for made in calls:
        if draw(st.integers(0, 9)):
            content: list[Any] = [TextContent(draw(texts))]
            content += [PICTURE] * draw(st.sampled_from([0, 0, 0, 1, 4]))
            messages.append(ToolResultMessage(made.id, made.name, content, draw(st.booleans()), 1))
    return messages


conversations = st.lists(turns(), min_size=1, max_size=12).map(
    lambda made: [m for turn in made for m in turn]
)
behaviours = st.sampled_from(
    [
        [GOOD],
        [""],
        ["I am sorry, but no."],
        [f"## Goal\n{words(30_000)}"],
        [says(GOOD, stop="length")],
        [ProviderError("Overloaded.", retryable=True)],
        [ProviderError("Too long.", overflow=True), GOOD],
        [ProviderError("No.", status=400)],
    ]
)
windows = st.sampled_from([1_500, 4_096, 8_192, 32_768, 128_000])
large = examples(12, suppress_health_check=list(HealthCheck))


def modified(messages: list[AppMessage]) -> set[str]:
    """Paths of successful writes and edits."""
    found: set[str] = set()
    waiting: dict[str, list[Any]] = {}
    failed: set[int] = set()
    made: list[Any] = []
    for message in messages:
        for one in getattr(message, "tool_calls", []):
            waiting.setdefault(one.id, []).append(one)
            made.append(one)
        if isinstance(message, ToolResultMessage) and waiting.get(message.tool_call_id):
            answered = waiting[message.tool_call_id].pop()
            if message.is_error:
                failed.add(id(answered))
    for one in made:
        if one.name in ("write", "edit") and id(one) not in failed:
            found.add(one.arguments["path"])
    return found


def hold(messages: list[AppMessage], answers: list[Any], window: int, options: dict[str, Any]) -> None:
    summarizer = Summarizer(*answers)
    rig = Rig(model=model(window, min(4_096, window // 4)), complete=summarizer, **options)
    for start in range(0, len(messages), 9):
        rig.add(*messages[start : start + 9])
        before, asked, ended = rig.estimated, len(summarizer.requests), len(rig.events_of(CompactionEnd))
        smaller = rig.make_room()
        rig.check()
        assert len(summarizer.requests) - asked <= 3
        for request in summarizer.requests[asked:]:
            assert request_tokens(request) + request.max_tokens <= max(window, 1_500) + 400
        if smaller:
            assert rig.estimated < before
            assert rig.estimated <= rig.limit or fixed(rig)
            assert sent_tokens(rig) <= rig.limit + made_up(rig) or fixed(rig)
            assert not rig.make_room()
        elif len(rig.events_of(CompactionEnd)) == ended:
            assert rig.estimated <= rig.limit or rig.events_of(CompactionEnd)
    check_files(rig, messages)


def fixed(rig: Rig) -> bool:
    """Whether the last message cannot be shortened: a user command, or one with many parts."""
    messages = rig.log.messages()
    return isinstance(messages[-1], BashExecutionMessage) or len(messages) * 100 > rig.limit - 500


def made_up(rig: Rig) -> int:
    """The placeholder for results that calls never had."""
    return 30 * sum(len(getattr(message, "tool_calls", [])) for message in rig.log.messages())


def check_files(rig: Rig, messages: list[AppMessage]) -> None:
    compaction = rig.log.context().compaction
    if compaction is None:
        return
    kept = {item.id for item in rig.log.context().items}
    branch = [node.id for node in rig.log.branch() if node.type == "message"]
    gone = messages[: next((place for place, id in enumerate(branch) if id in kept), len(messages))]
    details: Any = compaction.details
    assert modified(gone) - modified(messages[len(gone) :]) <= set(details["modifiedFiles"])
    if "more; the session" not in rig.summary and "{" not in rig.summary:
        assert set(details["modifiedFiles"]) <= set(rig.summary.splitlines())


@given(conversations, behaviours, windows, st.sampled_from(["context-full", "shake", "handoff"]))
@large
def test_any_conversation_fits_any_window(
    messages: list[AppMessage], answers: list[Any], window: int, strategy: str
) -> None:
    hold(messages, answers, window, {"strategy": strategy})


@given(conversations, behaviours, windows)
@large
def test_overflows_always_end(messages: list[AppMessage], answers: list[Any], window: int) -> None:
    summarizer = Summarizer(*answers)
    rig = Rig(messages, model=model(window, window // 4), complete=summarizer)
    for _ in range(20):
        rig.add(says(error="The context is too long."))
        before = rig.estimated
        if not rig.make_room("overflow"):
            break
        rig.check()
        assert rig.estimated < before
    else:
        raise AssertionError("it never gave up")
    assert len(summarizer.requests) <= 3


@given(conversations, st.integers(0, 60_000))
@large
def test_cut_never_separates_a_call_from_its_result(messages: list[AppMessage], keep: int) -> None:
    valid = valid_starts(messages)
    costs = [message_tokens(message) for message in messages]
    cut = find_cut(messages, costs, keep, valid)
    assert 0 <= cut.turn_start <= cut.first_kept < len(messages)
    gone, kept = messages[: cut.first_kept], messages[cut.first_kept :]
    assert problems(kept) == []
    open_before = waiting(gone)
    answered = sum(isinstance(message, ToolResultMessage) for message in kept)
    assert waiting(messages) == open_before + waiting(kept)
    if cut.first_kept:
        assert valid[cut.first_kept]
        if sum(costs[cut.first_kept :]) > keep:  # only what belongs together
            assert not any(valid[cut.first_kept + 1 :])
    assert answered <= len(kept)


def waiting(messages: list[AppMessage]) -> int:
    """Calls without a result, as `sendable` pairs them."""
    open_calls: dict[str, int] = {}
    for message in messages:
        for one in getattr(message, "tool_calls", []):
            open_calls[one.id] = open_calls.get(one.id, 0) + 1
        if isinstance(message, ToolResultMessage) and open_calls.get(message.tool_call_id):
            open_calls[message.tool_call_id] -= 1
    return sum(open_calls.values())


@given(conversations, windows, texts, texts, st.booleans(), st.sampled_from(["summary", "turn", "handoff"]))
@large
def test_summary_request_always_fits(
    messages: list[AppMessage], window: int, previous: str, focus: str, reduced: bool, kind: Any
) -> None:
    asked: Model = model(window, 8_192)
    wish = SummaryRequest(kind=kind, messages=messages, previous=previous, focus=focus[:200], reduced=reduced)
    request = build_request(wish, asked, window)
    assert problems(list(request.messages)) == []
    assert request_tokens(request) + request.max_tokens <= max(window, 1_700)
