"""Fuzzy matching: what matches, what comes first, and that narrowing is consistent."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.tui.widgets.fuzzy import MAX_TEXT_CHARS, Ranker, rank, score


def best(query: str, *texts: str) -> list[str]:
    return [texts[match.place] for match in rank(query, texts)]


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("read", "read", "reader"),
        ("read", "reader.py", "thread.py"),
        ("read", "src/read.py", "src/thread.py"),
        ("sel", "tui/select_list.py", "selection/tui/listing.py"),
        ("sl", "select_list.py", "src/hello.py"),
        ("tsl", "tests/test_select_list.py", "docs/catslow.txt"),
        ("gb", "getBranch", "grabber"),
        ("list", "widgets/select_list.py", "widgets/realistic.py"),
        ("width", "text/width.py", "tests/text/test_width.py"),
        ("tui/w", "src/tui/widgets.py", "src/tui_view/a.py"),
        ("agent loop", "agent/loop.py", "agent/loo.py/p"),
        ("md", "README.md", "made.txt"),
        ("2", "gpt-2", "gpt-32-long-name"),
    ],
)
def test_likelier_text_comes_first(query: str, better: str, worse: str) -> None:
    assert best(query, worse, better)[0] == better


def test_letters_must_be_in_order() -> None:
    assert score("abc", "a_b_c") is not None
    assert score("abc", "acb") is None
    assert score("abc", "ab") is None


def test_positions_are_those_of_the_matched_letters() -> None:
    found = score("tsl", "test_select_list")
    assert found is not None
    assert found[1] == (0, 5, 12)
    found = score("loop", "src/agent/loop.py")
    assert found is not None
    assert found[1] == (10, 11, 12, 13)


def test_all_words_must_match_in_any_order() -> None:
    found = score("loop agent", "src/agent/loop.py")
    assert found is not None
    assert "".join("src/agent/loop.py"[at] for at in found[1]) == "agentloop"
    assert score("loop missing", "src/agent/loop.py") is None


def test_capital_letters_match_exactly() -> None:
    assert best("Read", "read.py", "README", "Reader") == ["Reader"]
    assert best("read", "README", "Reader", "read.py")[0] == "read.py"
    assert len(best("read", "README", "Reader", "read.py")) == 3


def test_empty_query_matches_everything_in_order() -> None:
    assert best("", "b", "a") == ["b", "a"]
    assert best("  ", "b", "a") == ["b", "a"]
    assert score("", "text") == (0, ())


def test_equal_texts_keep_their_order() -> None:
    matches = rank("ab", ["xab", "yab", "zab"])
    assert [match.place for match in matches] == [0, 1, 2]


def test_letters_that_grow_when_lowercased_keep_the_positions() -> None:
    found = score("bul", "İstanbul")
    assert found is not None
    assert found[1] == (5, 6, 7)


def test_text_beyond_the_limit_is_not_searched() -> None:
    assert score("end", "x" * MAX_TEXT_CHARS + "end") is None
    assert score("x" * 5_000, "x" * 5_000) is not None


@given(st.text("abAB/_. ", max_size=6), st.lists(st.text("abAB/_.-é", max_size=12), max_size=12))
def test_ranking_follows_the_scores(query: str, texts: list[str]) -> None:
    scored = [(found, place) for place, text in enumerate(texts) if (found := score(query, text))]
    expected = [place for found, place in sorted(scored, key=lambda pair: (-pair[0][0], pair[1]))]
    assert [match.place for match in rank(query, texts)] == expected
    for found, place in scored:
        text = texts[place]
        assert list(found[1]) == sorted(set(found[1]))
        assert all(0 <= at < len(text) for at in found[1])
        letters = sorted("".join(query.split()).lower())
        meant = sorted(text[at].lower() for at in found[1])
        assert set(meant) == set(letters)


def test_narrowing_letter_by_letter_equals_a_single_query() -> None:
    chance = random.Random(7)
    words = ["select", "list", "tree", "Tab", "wide_text", "a", "b2"]
    texts = ["/".join(chance.choices(words, k=chance.randint(1, 4))) for _ in range(400)]
    ranker = Ranker(texts)
    for query in ("s", "se", "sel", "sel t", "sel tr", "sel", "selT", "x", "", "wt", "wtb"):
        assert ranker.best(query, 400) == rank(query, texts, 400), query
        assert sorted(ranker.order(query)) == sorted(match.place for match in rank(query, texts, 400))


def test_comparison_of_very_many_items_is_limited_and_plain_hits_stay() -> None:
    texts = [f"some/long/folder/name/scatter{n}_e_l.py" for n in range(3_000)] + ["sel.py", "a/sel/b.py"]
    ranker = Ranker(texts, max_scored=10)
    assert [texts[match.place] for match in ranker.best("sel", 3)][:2] == ["sel.py", "a/sel/b.py"]
    assert len(ranker.order("sel")) == len(texts)
    assert [texts[place] for place in ranker.order("sel")[:2]] == ["sel.py", "a/sel/b.py"]
