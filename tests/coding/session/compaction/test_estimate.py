"""How full the context is: usage where a server counted, estimates for the rest, limits for every window."""

import pytest
from msgspec.structs import replace

from tau.agent.loop_owner import Setup
from tau.ai.apis.token_limits import ServerLimit, parse_server_limit
from tau.ai.wire import (
    AssistantMessage,
    Attachment,
    BashExecutionMessage,
    ImageContent,
    TextContent,
    ToolCall,
    Usage,
    UserMessage,
)
from tau.coding.session.compaction import meter as meters
from tau.coding.session.compaction.estimate import IMAGE_TOKENS, message_tokens, text_tokens
from tau.coding.session.compaction.meter import Meter
from tau.coding.session.compaction.trigger import (
    limit_tokens,
    threshold_tokens,
)
from tau.coding.session.entries import ContentReplacement, ContextEdit, LabelEntry
from tau.config.settings import CompactionSettings
from tests.coding.session.compaction.rig import Rig, call, model, says, step, user, words


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("def f(x):\n    return x + 1\n" * 100, 700, 1_200),
        ("The quick brown fox jumps over the lazy dog. " * 100, 900, 1_500),
        ("12345 67890 " * 100, 400, 1_200),
        ("这是一个中文句子" * 100, 800, 1_600),
        ("", 0, 0),
        ("\ud800", 1, 3),
    ],
)
def test_text_is_estimated_by_its_characters(text: str, low: int, high: int) -> None:
    assert low <= text_tokens(text) <= high


def test_pictures_attachments_and_hidden_commands_count() -> None:
    picture = ImageContent("x" * 100_000, "image/png")
    assert message_tokens(UserMessage([TextContent("look"), picture], 1)) < IMAGE_TOKENS + 20
    document = Attachment("1", "document", "a.txt", "text/plain", 9, "", extracted_text=words(500))
    assert message_tokens(UserMessage("see", 1, [document])) > 450
    ran = BashExecutionMessage("ls", words(500), 0, False, False, 1)
    assert message_tokens(ran) > 450
    assert message_tokens(replace(ran, exclude_from_context=True)) == 0
    assert message_tokens(says(call("1", "write", path="a", content=words(500)))) > 450


def test_without_usage_everything_is_estimated_including_prompt_and_tools() -> None:
    rig = Rig([user(words(1_000))], model=model())
    reading = Meter(rig.log).read(rig.setup())
    assert reading.tokens == reading.estimated == reading.frame + sum(reading.costs)
    assert reading.frame > text_tokens(rig.setup().system)


def test_latest_usage_counts_plus_an_estimate_of_later_messages() -> None:
    rig = Rig(
        [user("go"), says("x", used=5_000), *step("c", "bash", words(1_000), command="ls")], model=model()
    )
    reading = Meter(rig.log).read(rig.setup())
    assert reading.tokens == 5_000 + reading.costs[2] + reading.costs[3]
    assert 950 < reading.costs[3] < 1_150


def test_failed_and_aborted_answers_and_empty_usage_do_not_count() -> None:
    rig = Rig([user("go"), says("x", used=5_000)], model=model())
    meter = Meter(rig.log)
    for odd in (
        replace(says("y", error="no"), usage=Usage(input=90_000)),
        says("y", used=90_000, stop="aborted"),
        says("y"),
    ):
        rig.add(odd)
        assert meter.read(rig.setup()).tokens < 5_100


def test_all_four_kinds_of_tokens_are_in_the_window() -> None:
    rig = Rig([user("go"), replace(says("x"), usage=Usage(10, 20, 300, 4_000))], model=model())
    assert rig.compactor.usage().tokens == 4_330


def test_usage_from_before_an_edit_is_not_used() -> None:
    rig = Rig(
        [user("go"), *step("c", "bash", words(20_000), command="x"), says("ok", used=60_000)], model=model()
    )
    assert rig.compactor.usage().tokens == 60_000
    id = rig.log.context().items[2].id
    rig.log.append(ContextEdit(target_id=id, replacement=ContentReplacement([TextContent("gone")])))
    assert rig.compactor.usage().tokens < 1_000
    rig.add(user("more"), says("ok", used=777))
    assert rig.compactor.usage().tokens == 777


def test_reading_again_processes_only_new_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[object] = []

    def counting(message: object) -> int:
        looked.append(message)
        return 1

    monkeypatch.setattr(meters, "message_tokens", counting)
    rig = Rig([user(f"{n}") for n in range(50)], model=model())
    meter = Meter(rig.log)
    meter.read(rig.setup())
    meter.read(rig.setup())
    assert len(looked) == 50
    rig.add(user("new"))
    rig.log.append(LabelEntry(target_id=rig.log.leaf or "", label="x"))
    assert meter.read(rig.setup()).tokens > 51
    assert len(looked) == 51


def test_usage_includes_the_share_of_the_window() -> None:
    rig = Rig([user("go"), says("x", used=50_000)], model=model(200_000))
    usage = rig.compactor.usage()
    assert (usage.tokens, usage.window, usage.percent) == (50_000, 200_000, 25.0)


def test_tools_are_part_of_the_fixed_cost() -> None:
    from tau.coding.tools.registry import create_tools

    rig = Rig([user("go")], model=model())
    bare: Setup = rig.setup()
    with_tools = replace(bare, tools=create_tools(("read", "bash")))
    meter = Meter(rig.log)
    assert meter.read(with_tools).frame > meter.read(bare).frame + 300
    demo = replace(with_tools, model=replace(bare.model, demo=True))
    assert meter.read(bare).frame < meter.read(demo).frame < meter.read(with_tools).frame


@pytest.mark.parametrize(
    ("window", "settings", "threshold"),
    [
        (200_000, CompactionSettings(), 170_000),
        (100_000, CompactionSettings(), 83_616),
        (32_768, CompactionSettings(), 16_384),
        (8_192, CompactionSettings(), 4_096),
        (200_000, CompactionSettings(threshold_percent=50), 100_000),
        (200_000, CompactionSettings(threshold_percent=50, threshold_tokens=30_000), 30_000),
        (200_000, CompactionSettings(threshold_tokens=999_999), 199_999),
        (200_000, CompactionSettings(reserve_tokens=0), 170_000),
    ],
)
def test_thresholds(window: int, settings: CompactionSettings, threshold: int) -> None:
    assert threshold_tokens(settings, window) == threshold


def test_limit_leaves_room_for_a_large_prompt() -> None:
    assert limit_tokens(CompactionSettings(), 200_000, 10_000) == 170_000
    assert limit_tokens(CompactionSettings(), 8_192, 6_000) == 7_096
    assert limit_tokens(CompactionSettings(threshold_tokens=1_000), 200_000, 10_000) == 14_096


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("prompt is too long: 213462 tokens > 200000 maximum", ServerLimit(200_000, 213_462)),
        (
            "This model's maximum context length is 8,192 tokens. However, you requested 9000 tokens (8000 "
            "in the messages, 1000 in the completion).",
            ServerLimit(8_192, 8_000),
        ),
        (
            "the request exceeds the available context size (4096 tokens), try increasing it",
            ServerLimit(4_096),
        ),
        (
            "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input",
            ServerLimit(200_000, 190_000),
        ),
        (
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            ServerLimit(),
        ),
        ("Too large (413).", ServerLimit()),
        ("", ServerLimit()),
    ],
)
def test_window_size_is_parsed_from_server_errors(text: str, limit: ServerLimit) -> None:
    assert parse_server_limit(text) == limit


def test_huge_text_is_estimated_from_samples() -> None:
    block = "".join(f"{number} the quick brown füx jumps over the lazy dog\n" for number in range(10_000))
    assert text_tokens(block * 10) == pytest.approx(text_tokens(block) * 10, rel=0.05)
    call = AssistantMessage(
        [ToolCall("1", "write", {"content": block * 10})], "a", "p", "m", Usage(), "stop", 1
    )
    assert message_tokens(call) == pytest.approx(text_tokens(block) * 10, rel=0.05)
