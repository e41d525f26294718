"""Automatic and manual compaction: when it runs, what it writes and reports, and that it ends."""

from typing import Any

import pytest
from msgspec.structs import replace

from tau.agent.events import Compacted, CompactionEnd, CompactionStart, Notice
from tau.agent.hooks import Hooks
from tau.ai.normalization import normalize_history
from tau.ai.wire import (
    AppMessage,
    BashExecutionMessage,
    CompactionSummaryMessage,
    ThinkingContent,
    ToolResultMessage,
    Usage,
    UserMessage,
    text_of,
)
from tau.base.errors import ProviderError, TauError
from tau.coding.session.compaction.meter import Meter
from tau.coding.session.compaction.shake import protected_from
from tau.coding.session.context import ContextItem
from tau.coding.session.entries import UsageEntry
from tests.coding.session.compaction.rig import (
    GOOD,
    SYSTEM,
    Rig,
    Summarizer,
    call,
    model,
    result,
    run,
    says,
    sent_tokens,
    step,
    user,
    words,
)


def long_session(turns: int = 12, tokens: int = 8_000) -> list[AppMessage]:
    messages: list[AppMessage] = []
    for turn in range(turns):
        messages.append(user(f"Request {turn}: please change module {turn}."))
        messages += step(f"r{turn}", "read", words(tokens), path=f"src/read_{turn}.py")
        messages += step(f"w{turn}", "write", "ok", path=f"src/changed_{turn}.py", content="x")
        messages.append(says(f"Module {turn} is changed."))
    return messages


def test_nothing_happens_below_the_threshold() -> None:
    rig = Rig(long_session(4), model=model())
    assert not rig.make_room()
    assert rig.events == [] and rig.summarizer.requests == []


def test_above_the_threshold_older_messages_become_a_summary() -> None:
    rig = Rig([*long_session(), user("And now the last one.")], model=model(100_000))
    before = rig.estimated
    assert rig.make_room()
    rig.check()
    assert rig.estimated < before and rig.estimated <= rig.limit
    items = rig.log.context().items
    assert isinstance(items[0].message, CompactionSummaryMessage)
    assert items[-1].message == user("And now the last one.")
    assert GOOD in rig.summary
    [start] = rig.events_of(CompactionStart)
    [end] = rig.events_of(CompactionEnd)
    [reported] = rig.events_of(Compacted)
    assert (start.reason, start.action) == ("threshold", "context-full")
    assert end.result is not None and not end.aborted and not end.will_retry
    assert reported.summary == end.result.summary == rig.summary and reported.auto is True
    assert not rig.make_room()  # it fits now


def test_summary_names_every_file_changed_across_compactions() -> None:
    rig = Rig(model=model(60_000))
    changed: list[str] = []
    for round in range(4):
        for turn in range(30):
            path = f"src/{round}/file_{turn}.py"
            changed.append(path)
            rig.add(user("next"), *step(f"c{round}{turn}", "write", "ok", path=path, content=words(1_800)))
        rig.make_room()
        rig.check()
    assert len(rig.events_of(Compacted)) >= 3
    kept = {
        call.arguments["path"]
        for message in rig.log.messages()
        for call in getattr(message, "tool_calls", [])
        if call.name == "write"
    }
    lines = rig.summary.splitlines()
    assert [path for path in changed if path not in kept and path not in lines] == []
    details: Any = rig.log.context().compaction.details  # type: ignore[union-attr]
    assert set(details["modifiedFiles"]) | kept == set(changed)


def test_second_compaction_updates_the_first_summary() -> None:
    rig = Rig(long_session(), model=model(100_000))
    assert rig.make_room()
    first = rig.summary
    rig.add(*long_session())
    assert rig.make_room()
    rig.check()
    text = rig.summarizer.text(-1)
    assert "<notes>" in text and GOOD in text and "modified-files" not in text
    assert len(first.split("<modified-files>")) == len(rig.summary.split("<modified-files>")) == 2


def test_turn_larger_than_the_budget_is_summarized_in_two_parts() -> None:
    turn: list[AppMessage] = [user("Do all of it.")]
    for number in range(40):
        turn += step(f"c{number}", "bash", words(2_000), command=f"make {number}")
    rig = Rig([*long_session(3), *turn], model=model(100_000))
    assert rig.make_room()
    rig.check()
    assert len(rig.summarizer.requests) == 2
    both = rig.summarizer.text(0) + rig.summarizer.text(1)
    assert "start of one long turn" in both and "Request 0" in both and "Do all of it." in both
    assert "## Start of the current turn" in rig.summary


@pytest.mark.parametrize("answers", (["", GOOD], [GOOD, ""]), ids=("first", "second"))
def test_part_without_a_summary_is_asked_for_again_in_one_request(answers: list[str]) -> None:
    turn: list[AppMessage] = [user("Do all of it.")]
    for number in range(40):
        turn += step(f"c{number}", "bash", words(2_000), command=f"make {number}")
    summarizer = Summarizer(*answers, GOOD)
    rig = Rig([*long_session(3), *turn], model=model(100_000), complete=summarizer)
    assert rig.make_room()
    rig.check()
    assert len(summarizer.requests) == 3 and GOOD in rig.summary


def test_lone_first_turn_is_summarized_in_one_part() -> None:
    turn: list[AppMessage] = [user("Do all of it.")]
    for number in range(60):
        turn += step(f"c{number}", "bash", words(2_000), command=f"make {number}")
    rig = Rig(turn, model=model(100_000))
    assert rig.make_room()
    rig.check()
    assert len(rig.summarizer.requests) == 1


@pytest.mark.parametrize(
    ("answers", "most_requests"),
    [
        ([ProviderError("Overloaded.", retryable=True)], 2),
        ([ProviderError("Too long.", overflow=True)], 2),
        ([ProviderError("No.", status=401)], 1),
        ([TauError("There is no key.")], 1),
        ([ValueError("broken")], 1),
        ([""], 2),
        (["I cannot help with that."], 2),
        ([says("## Goal\nhalf", stop="aborted")], 2),
        ([says("", error="failed")], 2),
        ([f"## Goal\n{words(60_000)}"], 2),
    ],
)
def test_without_a_usable_summary_the_context_is_cut_to_fit(answers: list[Any], most_requests: int) -> None:
    summarizer = Summarizer(*answers)
    rig = Rig([*long_session(), user("Last.")], model=model(100_000), complete=summarizer)
    assert rig.make_room()
    rig.check()
    assert 1 <= len(summarizer.requests) <= most_requests
    assert rig.estimated <= rig.limit
    assert "Request 0" in rig.summary and "src/changed_0.py" in rig.summary.splitlines()
    assert rig.log.messages()[-1] == user("Last.")


def test_second_attempt_sends_a_smaller_request() -> None:
    summarizer = Summarizer("no headings", GOOD)
    rig = Rig(long_session(), model=model(100_000), complete=summarizer)
    assert rig.make_room()
    assert GOOD in rig.summary
    assert len(summarizer.text(1)) < len(summarizer.text(0)) / 2


def test_truncated_summary_is_requested_again_and_then_accepted() -> None:
    summarizer = Summarizer(says(GOOD, stop="length"))
    rig = Rig(long_session(), model=model(100_000), complete=summarizer)
    assert rig.make_room()
    assert len(summarizer.requests) == 2 and GOOD in rig.summary


def test_giant_tool_result_is_shortened_in_context_and_whole_in_the_log() -> None:
    text = "BEGIN " + words(60_000) + " END"
    rig = Rig([user("Look."), *step("c", "bash", text, command="cat big")], model=model(32_000))
    assert rig.make_room()
    rig.check()
    assert rig.estimated <= rig.limit and rig.summarizer.requests == []
    shown = rig.log.messages()[-1]
    assert isinstance(shown, ToolResultMessage)
    seen = text_of(shown.content)
    assert seen.startswith("BEGIN") and seen.endswith("END") and "omitted here" in seen
    nodes = [node for node in rig.log.nodes() if node.type == "message"]
    kept: Any = rig.log.decode(nodes[-1])
    assert kept.message.content[0].text == text
    assert not rig.make_room()


def test_giant_result_names_its_artifact() -> None:
    details = {"meta": {"truncation": {"artifactId": "7"}}}
    big = result("c", "bash", words(40_000), details=details)
    rig = Rig([user("Look."), step("c", "bash", "", command="x")[0], big], model=model(32_000))
    assert rig.make_room()
    assert "artifact://7" in str(rig.log.messages()[-1])


def test_giant_prompt_is_shortened_in_context() -> None:
    rig = Rig([*long_session(2, 500), user("Fix this:\n" + words(50_000) + "\nthe end")], model=model(32_000))
    assert rig.make_room()
    rig.check()
    last = rig.log.messages()[-1]
    assert isinstance(last, UserMessage) and isinstance(last.content, str)
    assert last.content.startswith("Fix this:") and last.content.endswith("the end")
    assert rig.estimated <= rig.limit


def test_many_results_of_one_answer_shrink_together_and_keep_their_calls() -> None:
    calls = [step(f"c{number}", "bash", words(20_000), command="x") for number in range(8)]
    answer = says(*[pair[0].content[0] for pair in calls], stop="toolUse")  # type: ignore[union-attr]
    rig = Rig([user("Go."), answer, *[pair[1] for pair in calls]], model=model(64_000))
    assert rig.make_room()
    rig.check()
    assert rig.estimated <= rig.limit
    assert len(rig.log.messages()) == 10


@pytest.mark.parametrize("window", [2_048, 4_096, 8_192, 16_384, 32_768])
def test_small_windows_are_respected(window: int) -> None:
    rig = Rig(model=model(window, 512))
    for turn in range(12):
        rig.add(user(f"Request {turn}"), *step(f"c{turn}", "bash", words(window // 9), command="ls"))
        rig.make_room()
        rig.check()
        assert sent_tokens(rig) <= rig.limit
    assert rig.events_of(Compacted)


def test_prompt_that_fills_the_window_alone_is_reported_once_without_a_request() -> None:
    rig = Rig(model=model(500, 100))
    rig.setup = lambda: _large_setup(rig)  # type: ignore[method-assign]
    rig.compactor._setup = rig.setup
    for turn in range(5):
        rig.add(user(f"Request {turn} {words(200)}"), says("ok"))
        assert not rig.make_room()
        assert not rig.make_room("overflow")
    rig.check()
    assert rig.summarizer.requests == []
    [notice] = rig.events_of(Notice)
    assert "The prompt and the tools alone take" in notice.message


def _large_setup(rig: Rig) -> Any:
    return replace(Rig.setup(rig), system=words(2_000))


def test_overflow_shrinks_even_if_the_estimate_fits() -> None:
    rig = Rig([*long_session(3), user("Go on.")], model=model(1_000_000))
    before = rig.estimated
    assert rig.make_room("overflow")
    rig.check()
    assert rig.estimated < before * 0.6
    [end] = rig.events_of(CompactionEnd)
    assert end.will_retry


def test_repeated_overflows_shrink_each_time_and_end() -> None:
    rig = Rig([*long_session(), user("Go on.")], model=model(1_000_000))
    sizes: list[int] = []
    for _ in range(30):
        rig.add(says(error="Context length exceeded."))
        before = rig.estimated
        if not rig.make_room("overflow"):
            break
        rig.check()
        sizes.append(rig.estimated)
        assert rig.estimated < before
    else:
        raise AssertionError("it never gave up")
    assert 3 <= len(sizes) <= 10 and len(rig.summarizer.requests) <= 2
    assert sizes[-1] < 2_000


OVERFLOW = "faux answered 400: prompt is too long: 205012 tokens > 200000 maximum"
UNSENT: dict[str, AppMessage] = {
    "empty failed answer": says(error=OVERFLOW),
    "failed answer with text": says("Let me", error=OVERFLOW),
    "failed answer with a call": says(call("cut", "read", path="a"), error=OVERFLOW),
    "only thinking": says(ThinkingContent("Hm, so"), stop="length"),
    "blank answer": says(" ", stop="aborted"),
    "hidden command": BashExecutionMessage("make", "ok", 0, False, False, 1, exclude_from_context=True),
}


@pytest.mark.parametrize("summary", [GOOD, ProviderError("No.")])
@pytest.mark.parametrize("unsent", UNSENT.values(), ids=list(UNSENT))
@pytest.mark.parametrize(
    "asked",
    [
        [user(f"QUESTION {words(30_000)} END?")],
        [user("QUESTION, END?")],
        [
            says(call("c9", "bash", command="QUESTION"), stop="toolUse"),
            result("c9", "bash", words(90_000) + "END"),
        ],
    ],
    ids=["long prompt", "prompt", "results"],
)
def test_after_an_overflow_the_model_still_sees_what_was_asked(
    asked: list[AppMessage], unsent: AppMessage, summary: Any
) -> None:
    failed = says(error=OVERFLOW)
    rig = Rig([*long_session(), *asked, failed, unsent], model=model(), complete=Summarizer(summary))
    assert rig.make_room("overflow")
    rig.check()
    sent = str(normalize_history(rig.log.messages(), rig.model)[-2 if len(asked) == 2 else -1 :])
    assert "QUESTION" in sent and "END" in sent
    assert "Let me" not in sent


def test_lone_prompt_larger_than_the_window_is_shortened_not_dropped() -> None:
    rig = Rig([user(f"QUESTION {words(300_000)} END?"), says(error=OVERFLOW)], model=model())
    assert rig.make_room("overflow")
    rig.check()
    [sent] = normalize_history(rig.log.messages(), rig.model)
    assert "QUESTION" in str(sent) and "END?" in str(sent)
    assert sent_tokens(rig) < 200_000


def test_window_stated_by_the_server_is_used() -> None:
    error = "faux answered 400: This model's maximum context length is 16384 tokens. However, you requested"
    rig = Rig([*long_session(), user("Go on."), says(error=error)], model=model(1_000_000))
    assert rig.make_room("overflow")
    rig.check()
    assert rig.compactor.usage().window == 16_384
    assert rig.estimated <= 8_192


def test_answer_cut_off_by_a_full_window_triggers_compaction() -> None:
    full = says("so", used=95_000, stop="length")
    rig = Rig([*long_session(), full], model=model(100_000))
    assert rig.make_room("incomplete")
    rig.check()
    assert rig.estimated <= rig.limit


@pytest.mark.parametrize(
    ("stop", "usage"),
    [
        pytest.param("length", Usage(input=10_000, output=8_192), id="output limit, short prompt"),
        pytest.param("length", Usage(input=100_000 - 8_192, output=8_192), id="output limit, just fits"),
        pytest.param("length", Usage(), id="not counted"),
        pytest.param("stop", Usage(input=95_000), id="not cut off"),
    ],
)
def test_answer_that_did_not_fill_the_window_does_not_trigger_compaction(stop: str, usage: Usage) -> None:
    last = replace(says("so", stop=stop), usage=usage)
    rig = Rig([*long_session(), last], model=model(100_000))
    assert not rig.make_room("incomplete")
    assert rig.events == []


def test_usage_from_before_a_compaction_does_not_start_another() -> None:
    rig = Rig([*long_session(), says("done", used=99_000), user("more")], model=model(100_000))
    assert rig.make_room()
    assert not rig.make_room()
    assert rig.compactor.usage().tokens < 60_000
    rig.add(says("fine", used=30_000))
    assert rig.compactor.usage().tokens == 30_000


class Refusing(Hooks):
    async def before_compact(self, messages: list[AppMessage], **_: Any) -> bool:
        assert messages
        return False


class Broken(Hooks):
    async def before_compact(self, messages: list[AppMessage], **_: Any) -> bool:
        raise ValueError("a mistake")


def test_hook_may_refuse_except_on_overflow() -> None:
    rig = Rig(long_session(), model=model(100_000), hooks=Refusing())
    assert not rig.make_room()
    [end] = rig.events_of(CompactionEnd)
    assert end.skipped is True and rig.summary == ""
    with pytest.raises(TauError, match="hook refused"):
        rig.compact()
    assert rig.make_room("overflow")
    rig.check()
    assert rig.summary and rig.summarizer.requests == []


def test_broken_hook_does_not_stop_the_compaction() -> None:
    rig = Rig(long_session(), model=model(100_000), hooks=Broken())
    assert rig.make_room()
    rig.check()


def test_disabled_compaction_runs_only_on_request() -> None:
    rig = Rig(long_session(), model=model(100_000))
    rig.compactor.enabled = False
    assert not rig.make_room() and not rig.make_room("overflow")
    assert rig.compact().summary


def test_strategy_off_compacts_only_on_overflow() -> None:
    rig = Rig(long_session(), model=model(100_000), strategy="off")
    assert not rig.make_room()
    assert rig.make_room("overflow")
    [start] = rig.events_of(CompactionStart)
    assert start.action == "context-full"


def test_shake_drops_heavy_output_without_a_model() -> None:
    rig = Rig(long_session(), model=model(100_000), strategy="shake")
    items: list[ContextItem] = list(rig.log.context().items)
    assert rig.make_room()
    rig.check()
    assert rig.summarizer.requests == [] and rig.summary == ""
    assert rig.estimated <= rig.limit * 0.8
    assert [item.id for item in rig.log.context().items] == [item.id for item in items]
    [end] = rig.events_of(CompactionEnd)
    assert end.action == "shake" and end.result is None


def test_insufficient_shake_falls_back_to_a_summary() -> None:
    messages = [message for turn in range(200) for message in (user(words(500)), says("ok"))]
    rig = Rig(messages, model=model(100_000), strategy="shake")
    assert rig.make_room()
    rig.check()
    assert GOOD in rig.summary and rig.estimated <= rig.limit


def test_user_can_shake_everything() -> None:
    rig = Rig(long_session(2), model=model())
    before = rig.estimated
    saved = rig.compactor.shake()
    rig.check()
    assert rig.estimated == before - saved < before / 4
    with pytest.raises(TauError, match="no large tool output"):
        rig.compactor.shake()


def test_automatic_handoff_replaces_the_context_with_its_document(tmp_path: Any) -> None:
    rig = Rig(
        long_session(), model=model(100_000), strategy="handoff", handoff_save_to_disk=True, folder=tmp_path
    )
    assert rig.make_room()
    rig.check()
    assert "new session" in rig.summarizer.text()
    [path] = tmp_path.glob("*/handoff-*.md")
    assert path.read_text() == rig.summary
    rig.log.close()


def test_handoff_leaves_the_conversation_alone_and_records_its_cost(tmp_path: Any) -> None:
    rig = Rig(long_session(), model=model(), folder=tmp_path, handoff_save_to_disk=True)
    before, reported = rig.log.leaf, rig.log.messages()
    made = run(rig.compactor.handoff("the tests", rig.abort))
    assert rig.log.messages() == reported and rig.events == []
    *_, (node, noted) = rig.log.entries()
    assert node.parent_id == before and isinstance(noted, UsageEntry) and noted.kind == "handoff"
    assert made.document.startswith(GOOD) and "src/changed_11.py" in made.document
    assert made.path is not None and made.path.read_text() == made.document
    assert made.document in made.prompt
    assert "the tests" in rig.summarizer.text()
    rig.log.close()


def test_handoff_without_a_document_is_an_error() -> None:
    rig = Rig(long_session(), model=model(), complete=Summarizer("no"))
    with pytest.raises(TauError, match="returned no summary"):
        run(rig.compactor.handoff("", rig.abort))


def test_manual_compaction_keeps_at_most_a_third_of_a_short_conversation() -> None:
    rig = Rig([user(words(1_000)) for _ in range(12)], model=model())
    rig.setup = lambda: replace(Rig.setup(rig), system=words(30_000))  # type: ignore[method-assign]
    rig.compactor._setup = rig.setup
    rig.compact()
    assert [isinstance(one, UserMessage) for one in rig.log.messages()] == [False, *[True] * 4]


def test_manual_compaction_uses_the_focus() -> None:
    rig = Rig(long_session(2), model=model())
    done = rig.compact(" the lexer ")
    rig.check()
    assert "the lexer" in rig.summarizer.text()
    assert done.summary == rig.summary and done.tokens_before > 0
    [reported] = rig.events_of(Compacted)
    assert reported.auto is not True and rig.events_of(CompactionStart) == []


@pytest.mark.parametrize("counted", [0, 300, 60_000])
def test_tokens_before_and_after_use_the_same_measure_whatever_the_server_counts(counted: int) -> None:
    rig = Rig([*long_session(2), says("That is all.", used=counted)], model=model())
    reading = Meter(rig.log).read(rig.setup())
    done = rig.compact()
    after = Meter(rig.log).read(rig.setup())
    assert done.tokens_before == reading.tokens and (not counted or reading.tokens == counted)
    assert done.tokens_after < done.tokens_before
    share = after.estimated / reading.estimated
    assert abs(done.tokens_after - done.tokens_before * share) <= 1 + done.tokens_after * 0.05
    [reported] = rig.events_of(Compacted)
    assert (reported.tokens_before, reported.tokens_after) == (done.tokens_before, done.tokens_after)


def test_empty_or_short_conversation_is_not_compacted() -> None:
    rig = Rig(model=model())
    with pytest.raises(TauError, match="nothing to compact"):
        rig.compact()
    rig.add(user("hello"), says("hi"))
    with pytest.raises(TauError, match="nothing to compact"):
        rig.compact()
    assert rig.summarizer.requests == []


def test_failed_manual_compaction_changes_nothing_while_there_is_room() -> None:
    rig = Rig(long_session(3), model=model(), complete=Summarizer(ProviderError("Down.", retryable=True)))
    leaf = rig.log.leaf
    with pytest.raises(TauError, match=r"No summary could be made: Down\."):
        rig.compact()
    assert rig.log.leaf == leaf and not rig.compactor.running


def test_two_compactions_do_not_run_at_once() -> None:
    rig = Rig(long_session(), model=model(100_000), complete=Summarizer(None))

    async def main() -> None:
        import asyncio

        first = asyncio.ensure_future(rig.compactor.make_room(rig.abort))
        await asyncio.sleep(0.01)
        assert rig.compactor.running
        with pytest.raises(TauError, match="already running"):
            await rig.compactor.compact("", rig.abort)
        assert not await rig.compactor.make_room(rig.abort)
        rig.abort.abort()
        assert not await first

    run(main())
    rig.check()


def test_idle_compaction_waits_for_a_long_conversation_and_never_cuts_blindly() -> None:
    rig = Rig(long_session(), model=model(), idle_enabled=True, idle_threshold_tokens=150_000)
    assert not run(rig.compactor.idle(rig.abort))
    failing = Rig(
        long_session(),
        model=model(),
        idle_enabled=True,
        idle_threshold_tokens=50_000,
        complete=Summarizer("no"),
    )
    assert not run(failing.compactor.idle(failing.abort))
    failing.check()
    assert failing.summary == "" and failing.events_of(Notice) == []
    assert not run(failing.compactor.idle(failing.abort))  # the same is not tried twice
    assert len(failing.events_of(CompactionStart)) == 1
    rig = Rig(long_session(), model=model(), idle_enabled=True, idle_threshold_tokens=50_000)
    assert run(rig.compactor.idle(rig.abort))
    [start] = rig.events_of(CompactionStart)
    assert start.reason == "idle" and rig.summary


def test_system_prompt_is_not_part_of_any_summary_request() -> None:
    rig = Rig(long_session(), model=model(100_000))
    assert rig.make_room()
    for request in rig.summarizer.requests:
        assert "RULE-7" not in request.system + str(request.messages)
        assert request.tools == []
    assert "RULE-7" not in rig.summary and rig.setup().system == SYSTEM


def test_session_that_moved_to_another_branch_is_left_alone() -> None:
    rig = Rig(long_session(), model=model(100_000))
    root = next(iter(rig.log.nodes())).id

    async def moving(model: Any, request: Any) -> Any:
        rig.log.move(root)
        return says(GOOD)

    rig.compactor._complete = moving
    assert not rig.make_room()
    rig.check()
    assert rig.summary == "" and rig.log.leaf == root


def test_shake_protects_just_the_newest_tokens() -> None:
    messages = [UserMessage(content="x", timestamp=n) for n in range(6)]
    assert protected_from(messages, [10] * 6, 30) == 3
    assert protected_from(messages, [10] * 6, 31) == 2
