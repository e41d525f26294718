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
