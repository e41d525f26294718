"""Which rules match a text: the same ones however it is split, in bounded time whatever the pattern."""

from hypothesis import given
from hypothesis import strategies as st

from tau.coding.rules.patterns import MAX_TIMEOUTS, RulePatterns, TextWindow
from tau.coding.rules.rule import RuleFile, make_rule

CONDITIONS = [
    *(r"foo$", r"^\s*bar\b", r"\bfoo\b", "a.*b", r"(?i)FOO\n", r"o{2,}", r"(?s)b.*\n.*a"),
    *(r"foo(?!\nbar)", r"(?<!x)bar", r"(\w)\1", "ä", r"\Afoo", r"bar\z"),
]
RULES = [make_rule(f"rule{n}", "", {"condition": text, "scope": "text"}) for n, text in enumerate(CONDITIONS)]
PATTERNS = RulePatterns(RULES)


def names(rules: list[RuleFile]) -> set[str]:
    return {rule.name for rule in rules}


@given(
    st.lists(st.sampled_from(["foo", "bar", "\n", " ", "x", "a", "b", "o", "FOO", "ä", "\ud800", "z" * 1200]))
)
def test_same_rules_match_however_the_text_is_split(pieces: list[str]) -> None:
    text = "".join(pieces)
    expected = names(PATTERNS.search([text], RULES)[0])
    for split in (pieces, list(text), [text]):
        window = TextWindow(PATTERNS.early("text", ""))
        streamed = {name for piece in split for name in names(window.feed(piece))}
        assert streamed <= expected
        assert streamed | names(PATTERNS.search([window.text], RULES)[0]) == expected


def test_match_that_more_text_cannot_undo_is_found_at_once() -> None:
    window = TextWindow(PATTERNS.early("text", ""))
    assert [names(window.feed(piece)) for piece in ("fo", "o", "\n")][-1] >= {"rule0", "rule2"}


def test_exponential_pattern_is_linear() -> None:
    rule = make_rule("slow", "", {"condition": "(a+)+$", "scope": "text"})
    window = TextWindow(RulePatterns([rule]).early("text", ""))
    assert [window.feed("a" * 100_000 + "!")] == [[]]


def test_slow_lookaround_is_turned_off_with_a_notice() -> None:
    rule = make_rule("slow", "", {"condition": r"(?=(a+)+$)b|(a+)+\2$"})
    patterns = RulePatterns([rule])
    notices = [patterns.search(["a" * 5_000 + "!"], [rule])[1] for _ in range(MAX_TIMEOUTS + 1)]
    assert [len(notice) for notice in notices] == [0] * (MAX_TIMEOUTS - 1) + [1, 0]
    assert "slow" in notices[MAX_TIMEOUTS - 1][0]


def test_invalid_conditions_are_named_and_the_others_work() -> None:
    rules = [
        make_rule("half", "", {"condition": ["((", "fine"]}),
        make_rule("unbalanced", "", {"condition": "a)(b"}),
        make_rule("long", "", {"condition": "x" * 3_000}),
    ]
    patterns = RulePatterns(rules)
    assert patterns.problems.keys() == {"half", "unbalanced", "long"} and patterns.rules == {"half"}
    assert names(patterns.search(["fine"], rules)[0]) == {"half"}
