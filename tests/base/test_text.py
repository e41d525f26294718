"""Lossless decoding, and text without control sequences."""

import codecs

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tau.base import text as text_module
from tau.base.text import (
    DecodedText,
    NotText,
    clean_line,
    decode,
    decode_escaped,
    encode,
    is_binary,
    plain,
    sentence,
    shortened,
    show_escaped,
)

MARKS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}
LINES = st.lists(st.tuples(st.text(max_size=8), st.sampled_from(["\n", "\r\n", "\r", ""])), max_size=8).map(
    lambda parts: "".join(text + end for text, end in parts)
)


@given(LINES, st.sampled_from([None, *MARKS]))
def test_text_in_any_encoding_round_trips_byte_for_byte(text: str, marked: str | None) -> None:
    data = text.encode() if marked is None else MARKS[marked] + text.encode(marked)
    assert encode(decode(data).text, decode(data)) == data


@given(st.binary(max_size=40), st.sampled_from([b"", *MARKS.values()]))
@example(b"\x00\x00a\x00", codecs.BOM_UTF16_LE)  # the mark of UTF-32, but not its length
@example(b"", codecs.BOM_UTF32_LE)
@example(b"\xed\xa0\x80", b"")  # a lone surrogate
def test_any_bytes_round_trip_or_are_refused(data: bytes, mark: bytes) -> None:
    try:
        decoded = decode(mark + data)
    except NotText as error:
        assert isinstance(error, UnicodeDecodeError)
        assert str(error).startswith("Not valid UTF-")
        return
    assert encode(decoded.text, decoded) == mark + data


@pytest.mark.parametrize("encoding", MARKS)
def test_byte_order_mark_sets_the_encoding_and_is_not_part_of_the_text(encoding: str) -> None:
    data = MARKS[encoding] + "grün 😀\r\n".encode(encoding)
    assert decode(data) == DecodedText(text="grün 😀\r\n", encoding=encoding, bom=MARKS[encoding])


def test_utf_16_starting_with_a_zero_is_not_mistaken_for_utf_32() -> None:
    data = codecs.BOM_UTF16_LE + "\0a".encode("utf-16-le")
    assert (decode(data).text, decode(data).encoding) == ("\0a", "utf-16-le")
    assert decode(codecs.BOM_UTF32_LE + "ab".encode("utf-32-le")).encoding == "utf-32-le"


@given(st.one_of(st.binary(max_size=40), st.text(max_size=20).map(str.encode)), st.integers(1, 5))
def test_blocks_decode_as_the_whole(data: bytes, block: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_module, "_BLOCK", block)
        try:
            found: object = decode(data)
        except NotText as error:
            found = (error.start, error.end, error.reason)
        escaped = decode_escaped(data)
        shown = show_escaped(escaped.text)
    try:
        whole: object = decode(data)
    except NotText as error:
        whole = (error.start, error.end, error.reason)
    assert found == whole
    assert escaped == decode_escaped(data) and shown == show_escaped(escaped.text)


def test_byte_order_mark_inside_the_text_belongs_to_it() -> None:
    data = "\ufeff\ufeffx".encode()
    assert decode(data).text == "\ufeffx"
    assert encode("y", decode(data)) == "\ufeffy".encode()


def test_invalid_byte_is_reported_with_its_offset() -> None:
    with pytest.raises(NotText) as caught:
        decode(b"ok\nstill ok\ncaf\xe9\n")
    assert str(caught.value) == (
        "Not valid UTF-8 text: byte 0xE9 at offset 15 (line 3): invalid continuation byte"
    )
    with pytest.raises(NotText, match="UTF-16-LE text: byte 0x61 at offset 2"):
        decode(codecs.BOM_UTF16_LE + b"a")


@pytest.mark.parametrize(
    ("data", "binary"),
    [
        (b"", False),
        (b"text\n", False),
        (b"caf\xe9", False),
        (b"\x7fELF\x00", True),
        (b"x" * 8191 + b"\0", True),
        (b"x" * 8192 + b"\0", False),
        (codecs.BOM_UTF16_LE + "hi".encode("utf-16-le"), False),
        (codecs.BOM_UTF32_BE + "hi".encode("utf-32-be"), False),
        (codecs.BOM_UTF32_LE + "hi".encode("utf-32-le")[:-1], False),
        (codecs.BOM_UTF8 + b"a\0", True),
    ],
)
def test_zero_byte_near_the_start_means_binary(data: bytes, binary: bool) -> None:
    assert is_binary(data) is binary


@pytest.mark.parametrize(
    ("text", "shown"),
    [("", ""), ("12345678", "12345678"), ("123456789", "1234567…"), ("1234567 9", "1234567…")],
)
def test_long_text_is_cut_with_an_ellipsis(text: str, shown: str) -> None:
    assert shortened(text, 8) == shown


@pytest.mark.parametrize(
    ("text", "expected"),
    [("It broke", "It broke."), ("It broke.", "It broke."), ("Why?", "Why?"), ("It bro…", "It bro…")],
)
def test_sentence_has_one_full_stop(text: str, expected: str) -> None:
    assert sentence(text) == expected


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("é 漢字 😀 👩\u200d👩\u200d👧 עברית", "é 漢字 😀 👩\u200d👩\u200d👧 עברית"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b[?2004h\x1b[>4;1m\x1b[<u\x1b[1 q\x1b[38:2::1:2:3mx", "x"),
        ("\x9b31mred", "red"),
        ("a\x1b]0;title\x07b", "ab"),
        ("a\x1b]52;c;c2VjcmV0\x1b\\b", "ab"),
        ("a\x9d0;title\x9cb", "ab"),
        ("a\x1bP1$r0m\x1b\\b\x1b_Gf=100;AAAA\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e", "abcde"),
        ("\x1bc\x1b7\x1b(B\x1b#8x\x1b", "x"),
        ("over\rwrite\b\b\x7f\x00\x0b\x0c", "overwrite"),
        ("a\r\nb", "a\nb"),
        ("unfinished \x1b]0;rm -rf /", "unfinished 0;rm -rf /"),
        ("unfinished \x1b]0;rm -rf /\nnext\x07", "unfinished 0;rm -rf /\nnext"),
        ("cut \x1b[31", "cut 31"),
        ("nested \x1b\x1b[31m[31mx", "nested [31mx"),
        ("\u202egnp.exe\u202c x", "<U+202E>gnp.exe<U+202C> x"),
        ("file\udcff", "file\ufffd"),
    ],
)
def test_control_sequences_are_removed(text: str, shown: str) -> None:
    assert plain(text) == shown


HOSTILE = st.text(
    st.sampled_from("\x1b\x9b\x9d\x90\x9c\x07[]P_^X\\;?0m@ \n\tab\x00\r\x7f\x85\u202e\ud800é")
    | st.characters()
)


@given(HOSTILE)
def test_no_control_character_survives_and_the_rest_is_stable(text: str) -> None:
    shown = plain(text)
    bad = {*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e"} - {"\n", "\t"}
    assert not bad & set(shown)
    assert plain(shown) == shown
    assert shown.encode().decode() == shown


@pytest.mark.parametrize("start", ["\x9d", "\x1b]", "\x1b[", "\x9b0;", "\x90\x1b"])
def test_thousands_of_unfinished_sequences_take_linear_time(start: str) -> None:
    assert plain(start * 200_000 + "\nend").endswith("\nend")


@given(HOSTILE)
def test_line_has_no_line_endings(text: str) -> None:
    line = clean_line(text)
    assert "\n" not in line and "\t" not in line
    assert line == line.strip()


def test_line_keeps_its_words_apart() -> None:
    assert clean_line(" one\n\ttwo \x1b[1m three\r\n") == "one two three"
