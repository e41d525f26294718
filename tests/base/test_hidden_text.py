"""Characters that hide or imitate text become visible; ordinary text of any script stays."""

import pytest

from tau.base.text import reveal, reveal_invisible, reveal_path


@pytest.mark.parametrize(
    "text",
    [
        "plain\n\tcode",
        "Grüße, 日本語, русский, العربية, עברית",
        "👩‍💻 👨‍👩‍👧 🏳️‍🌈 ❤️ 1️⃣ 👍🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇩🇪",
        "می‌خواهم",  # Persian: a non-joiner between letters
        "क्‍ष",  # Devanagari: a joiner after a virama
        "葛󠄀城",  # an ideographic variation
        "line\r\nends",
    ],
)
def test_readable_text_stays(text: str) -> None:
    assert reveal(text) == text
    assert reveal_invisible(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\u202eb", "a<U+202E>b"),
        ("a\u200bb\u200db\u200cb", "a<U+200B>b<U+200D>b<U+200C>b"),
        ("x\U000e0041\U000e0042", "x<U+E0041><U+E0042>"),
        ("\U0001f3f4\U000e0072\U000e006d\U000e007f", "\U0001f3f4<U+E0072><U+E006D><U+E007F>"),
        ("😀\ufe01\ufe02\U000e0101", "😀\ufe01<U+FE02><U+E0101>"),
        ("a\ufe0f", "a<U+FE0F>"),
        ("\ufeffa\u2066b\u2069\u061c\u200e\u200f\u2060\xad", None),
        ("ok\u3164\uffa0\u115f", "ok<U+3164><U+FFA0><U+115F>"),
        ("a\u2028b", "a<U+2028>b"),
    ],
)
def test_invisible_characters_become_visible(text: str, shown: str | None) -> None:
    if shown is not None:
        assert reveal(text) == reveal_invisible(text) == shown
    assert not any("\u200b" <= c <= "\u206f" for c in reveal(text))


def test_controls_become_visible_where_a_person_decides() -> None:
    text = "echo ok \x1b];touch P;\x07 ; echo\x08 fine\x9b2J\rx\udc80"
    assert reveal(text) == "echo ok <U+001B>];touch P;<U+0007> ; echo<U+0008> fine<U+009B>2J<U+000D>x<U+DC80>"
    assert reveal_invisible(text) == text


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("src/p\u0430ypal.py", "src/p<U+0430>ypal.py"),
        ("\u0440\u0430\u0443.py", "<U+0440><U+0430><U+0443>.py"),
        ("a\uff0f..\u2215b", "a<U+FF0F>..<U+2215>b"),
        ("\uff41bc", "<U+FF41>bc"),
        ("a\nb", "a<U+000A>b"),
        ("g\u03bfogle", "g<U+03BF>ogle"),
        ("документы/роса.txt", None),
        ("Grüße/naïve façade/日本語.md", None),
        ("ελληνικά/ναι.txt", None),
        ("CO₂ m².txt", None),
    ],
)
def test_imitated_letters_in_paths_become_visible(path: str, shown: str | None) -> None:
    assert reveal_path(path) == (path if shown is None else shown)


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        ("\u0600", "\u07ff", "\u200c"),  # scripts that need joiners
        ("\U00011000", "\U00011fff", "\u200d"),
        ("\U0001f000", "\U0001faff", "\u200d"),  # emoji
        ("\u3400", "\u9fff", "\U000e0100"),  # ideographs
        ("\U00020000", "\U0003ffff", "\U000e01ef"),
        ("\u1820", "\u18aa", "\u180b"),  # Mongolian letters
        ("\u1820", "\u18aa", "\u180f"),
    ],
)
def test_joiners_and_selectors_stay_between_the_characters_that_need_them(
    first: str, last: str, found: str
) -> None:
    assert reveal(f"{first}{found}{last}") == f"{first}{found}{last}"
    assert reveal(f"{last}{found}{first}") == f"{last}{found}{first}"
    for other in (chr(ord(first) - 1), chr(ord(last) + 1)):
        assert reveal(f"{other}{found}{first}") == f"{other}<U+{ord(found):04X}>{first}"


def test_other_variation_selectors_are_hidden_text() -> None:
    for selector in ("\U000e00ff", "\U000e01f0"):
        assert reveal(f"\u3400{selector}") == f"\u3400<U+{ord(selector):04X}>"


def test_colors_may_come_between_a_character_and_its_selector() -> None:
    for colors, stays in ((16, True), (17, False)):
        text = "葛" + "\x1b[0m" * colors + "\U000e0100"
        assert (reveal_invisible(text) == text) == stays


@pytest.mark.parametrize("latin", ["À", "ɏ", "Ḁ", "ỿ", "a"])
def test_letters_among_latin_ones_become_visible(latin: str) -> None:
    for other in "\u0370\u03ff\u1f00\u1ffc\u0400\u052f\u1c80\u0531\u0587\u13a0\u13fd\uab70\uabbf":
        assert reveal_path(latin + other) == f"{latin}<U+{ord(other):04X}>"


def test_tags_after_a_flag_make_it_no_flag() -> None:
    england = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"
    assert reveal(england) == england
    assert reveal(f"{england}\U000e0061").count("<U+") == 7
