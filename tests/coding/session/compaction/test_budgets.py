"""How a window is divided, and the exact sizes at which a compaction decides differently."""

from collections.abc import Sequence

import pytest
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from tau.agent.events import Notice
from tau.ai.wire import AppMessage, Attachment, BashExecutionMessage, ImageContent, UserMessage
from tau.coding.output import OutputMeta, Truncation
from tau.coding.session.compaction.estimate import frame_tokens, message_tokens, summary_tokens, text_tokens
from tau.coding.session.compaction.meter import Meter
from tau.coding.session.compaction.plan import (
    CompactionPlan,
    ContextView,
    CutPoint,
    TokenBudget,
    find_cut,
    for_digest,
    for_summary,
    make_plan,
    valid_starts,
)
from tau.coding.session.compaction.shake import shake_messages
from tau.coding.session.compaction.trigger import CompactionTrigger
from tau.coding.session.compaction.truncation import artifact_of, cut_text, fit, shortened
from tau.config.settings import CompactionSettings
from tests.coding.session.compaction.rig import GOOD, Rig, call, model, result, run, says, step, user, words


def letters(tokens: int) -> str:
    """A text of exactly this many estimated tokens, for multiples of ten."""
    return "a" * (tokens * 7 // 2)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("a" * 35, 10),
        ("a" * 36, 11),
        ("7" * 15, 10),
        ("7" * 16, 11),
        ("é" * 42, 37),
        ("中" * 42, 62),
        ("", 0),
    ],
)
def test_letters_digits_and_other_scripts_weigh_differently(text: str, tokens: int) -> None:
    assert text_tokens(text) == tokens


def test_each_kind_of_message_has_its_overhead() -> None:
    ten = letters(10)
    image = ImageContent("aaaa", "image/png")
    picture = Attachment("1", "image", "a.png", "image/png", 9, "")
    document = Attachment("1", "document", "a.txt", "text/plain", 9, "", extracted_text=ten)
    sizes = {
        "user": message_tokens(user(ten)),
        "image": message_tokens(UserMessage([image], 1)),
        "attached image": message_tokens(UserMessage(ten, 1, [picture])),
        "attached document": message_tokens(UserMessage(ten, 1, [document])),
        "command": message_tokens(BashExecutionMessage(ten, ten, 0, False, False, 1)),
        "call": message_tokens(says(call("1", "bash"))),
        "result": message_tokens(result("1", "bash", ten)),
        "summary": summary_tokens(ten),
        "system prompt": frame_tokens(ten, []),
    }
    assert sizes == {
        "user": 14,
        "image": 1_204,
        "attached image": 1_214,
        "attached document": 44,
        "command": 44,
        "call": 13,
        "result": 22,
        "summary": 44,
        "system prompt": 14,
    }


@pytest.mark.parametrize(("used", "ratio"), [(1, 0.5), (10_000_000, 4.0)])
def test_ratio_of_real_to_estimated_tokens_is_bounded(used: int, ratio: float) -> None:
    rig = Rig([user(words(1_000)), says("ok", used=used)], model=model())
    assert Meter(rig.log).read(rig.setup()).ratio == ratio


def test_room_is_divided_between_summary_files_and_newest_messages() -> None:
    assert for_summary(100_000, 1_000, 20_000, 10_000) == TokenBudget(100_000, 8_000, 1_000, 20_000)
    assert for_summary(10_000, 5_000, 20_000, 10_000) == TokenBudget(10_000, 2_100, 3_000, 4_000)
    assert for_digest(100_000, 1_000) == TokenBudget(100_000, 3_000, 1_000, 71_000)
    assert for_digest(4_000, 5_000) == TokenBudget(4_000, 700, 1_200, 1_100)


def planned(costs: list[int], messages: list[AppMessage], shares: TokenBudget) -> CompactionPlan:
    return make_plan(ContextView(messages, costs), shares, 0)


def test_less_than_400_tokens_are_not_cut_if_the_rest_can_be_shortened() -> None:
    messages: list[AppMessage] = [user("a"), user("b")]
    roomy = TokenBudget(2_000, 100, 0, 500)
    assert planned([399, 500], messages, roomy).cut == CutPoint(0, 0)
    assert planned([400, 500], messages, roomy).cut == CutPoint(1, 1)
    assert planned([399, 500], messages, replace(roomy, room=1_058)).cut == CutPoint(0, 0)
    assert planned([399, 500], messages, replace(roomy, room=1_057)).cut == CutPoint(1, 1)


def test_kept_messages_leave_room_for_a_summary_a_quarter_longer_than_requested() -> None:
    messages: list[AppMessage] = [user("a"), user(words(3_000))]
    shares = TokenBudget(1_000, 100, 50, 900)
    assert planned([400, 825], messages, shares) == CompactionPlan(CutPoint(1, 1), {}, 825)
    assert list(planned([400, 826], messages, shares).edits) == [1]


def test_context_shrinks_by_half_after_each_overflow_until_the_ninth() -> None:
    rig = Rig([user(words(10_000)), says("ok", used=10_000)], model=model(1_000_000))
    reading = replace(Meter(rig.log).read(rig.setup()), frame=100, estimated=10_100, tokens=10_100, ratio=1.0)
    trigger = CompactionTrigger(CompactionSettings(threshold_percent=100))
    targets = [trigger.find_target("overflow", rig.setup(), reading) for _ in range(9)]
    assert [target and target.limit for target in targets] == [
        *(100 + 10_000 // 2**number for number in range(1, 9)),
        None,
    ]
    assert [target is not None and target.ask_model for target in targets] == [True, *[False] * 8]
    newer = replace(reading, counted=says("an answer", used=10_000))
    after_an_answer = trigger.find_target("overflow", rig.setup(), newer)
    assert after_an_answer is not None and after_an_answer.limit == 5_100


@pytest.mark.parametrize(("requested", "ratio"), [(60_000, 6.0), (60_001, 1.0)])
def test_count_of_a_server_is_believed_up_to_six_times_the_estimate(requested: int, ratio: float) -> None:
    error = f"prompt is too long: {requested} tokens > 50000 maximum"
    rig = Rig([user(words(100)), says(error=error)], model=model())
    reading = replace(Meter(rig.log).read(rig.setup()), frame=100, estimated=10_000, tokens=10_000)
    target = CompactionTrigger(CompactionSettings()).find_target("overflow", rig.setup(), reading)
    assert target is not None and target.ratio == ratio


def test_failed_compaction_is_retried_once_the_context_has_grown_by_a_tenth() -> None:
    rig = Rig([user(words(100))], model=model(50_000))
    trigger = CompactionTrigger(CompactionSettings())
    reading = replace(Meter(rig.log).read(rig.setup()), tokens=50_000)
    target = trigger.find_target("threshold", rig.setup(), reading)
    assert target is not None and trigger.record_failure(rig.model, reading, target)
    for tokens, due in ((50_000, False), (55_000, False), (55_001, True)):
        again = trigger.find_target("threshold", rig.setup(), replace(reading, tokens=tokens))
        assert (again is not None) == due


@pytest.mark.parametrize(("room", "possible"), [(255, False), (256, True)])
def test_conversation_needs_256_tokens_besides_prompt_and_tools(room: int, possible: bool) -> None:
    frame = Meter(Rig(model=model()).log).read(Rig(model=model()).setup()).frame
    rig = Rig([user(words(2_000)), says("ok")], model=model(frame + room))
    rig.make_room()
    reported = any("The prompt and the tools alone take" in one.message for one in rig.events_of(Notice))
    assert reported != possible


@pytest.mark.parametrize(("room", "requests"), [(499, 0), (500, 1)])
def test_model_is_asked_only_for_a_summary_of_150_tokens_or_more(room: int, requests: int) -> None:
    frame = Meter(Rig(model=model()).log).read(Rig(model=model()).setup()).frame
    messages = [message for turn in range(40) for message in (user(words(50)), says("ok"))]
    rig = Rig(messages, model=model(frame + 2 * room), threshold_tokens=1)
    rig.make_room()
    assert bool(rig.summarizer.requests) == bool(requests)


@pytest.mark.parametrize(("filled", "summarized"), [(0.78, False), (0.82, True)])
def test_shake_suffices_if_it_leaves_a_fifth_of_the_limit_free(filled: float, summarized: bool) -> None:
    rig = Rig(model=model(100_000), strategy="shake")
    size = int((rig.limit * filled - rig.estimated) / 100)
    rig.add(*step("a", "bash", words(40_000), command="make"))
    rig.add(*(user(letters(size - 4)) for _ in range(100)))
    assert rig.make_room()
    assert bool(rig.summary) == summarized


def shaken(
    messages: Sequence[AppMessage], costs: Sequence[int], protected: int = 0, saved: int = 1
) -> list[int]:
    return sorted(shake_messages(messages, costs, protected_tokens=protected, min_saved_tokens=saved))


def test_shake_drops_results_of_200_tokens_and_shortens_blocks_of_2000_to_400() -> None:
    messages = [*step("a", "bash", "output", command="x"), user(words(3_000)), user("next"), says("ok")]
    assert shaken(messages, [1, 199, 1_999, 1, 1]) == []
    assert shaken(messages, [1, 200, 2_000, 1, 1]) == [1, 2]
    lighter = shake_messages(messages, [1, 1, 2_000, 1, 1], protected_tokens=0, min_saved_tokens=1)
    assert lighter == {2: shortened(messages[2], 400)}


def test_automatic_shake_saves_4000_tokens_and_spares_the_newest_16000() -> None:
    messages = [*step("a", "bash", "output", command="x"), user("next"), says("ok")]
    note = message_tokens(shake_messages(messages, [1, 9_000, 1, 1], protected_tokens=0)[1])
    assert list(shake_messages(messages, [1, 4_000 + note, 16_000, 1])) == [1]
    assert not shake_messages(messages, [1, 3_999 + note, 16_000, 1])
    assert not shake_messages(messages, [1, 9_000, 15_998, 1])
    assert list(shake_messages(messages, [1, 9_000, 15_999, 1])) == [1]


def test_text_loses_its_middle_and_the_room_of_the_note() -> None:
    cut = cut_text("a" * 3_500, 140)
    assert cut == f"{'a' * 210}\n[… 3150 characters omitted here to save space …]\n{'a' * 140}"


def test_no_message_is_shortened_below_64_tokens() -> None:
    long = user(words(5_000))
    assert shortened(long, 0) == shortened(long, 64) != shortened(long, 65)
    fitted = fit([long, long], [message_tokens(long)] * 2, 0)
    assert fitted.changed == {0: shortened(long, 64), 1: shortened(long, 64)}


def test_handoff_takes_a_quarter_of_the_window_and_at_most_8192_tokens() -> None:
    for window, tokens in ((200_000, 8_192), (16_000, 4_000)):
        rig = Rig([user("go"), says(GOOD)], model=model(window, max_tokens=50_000))
        run(rig.compactor.handoff("", rig.abort))
        assert rig.summarizer.requests[0].max_tokens == tokens


def test_turn_is_kept_whole_if_splitting_the_one_before_keeps_little_more() -> None:
    messages: list[AppMessage] = [user("a"), says("b"), user("c")]
    for answer, cut in ((100, CutPoint(2, 2)), (101, CutPoint(1, 0))):
        assert find_cut(messages, [500, answer, 100], 201, valid_starts(messages)) == cut


def test_shortened_result_says_where_its_full_output_is_before_and_after_a_restart() -> None:
    class Details(Struct):
        meta: OutputMeta

    shown = Truncation(
        kept="head", ranges=[(1, 2)], total_lines=9, total_bytes=90, shown_bytes=20, artifact_id="7"
    )
    details = Details(OutputMeta(truncation=shown))
    assert artifact_of(details) == artifact_of(to_builtins(details)) == "; full output: artifact://7"
    assert artifact_of(None) == artifact_of("text") == ""
