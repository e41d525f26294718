"""Every encoding of every key yields its canonical name."""

import pytest

from tau.tui.input.key import Key
from tau.tui.input.key_parser import parse_key
from tau.tui.input.names import NAMED_KEYS, normalize_key

ESC = "\x1b"

TYPED = [
    ("a", "a", "a"),
    ("A", "A", "A"),
    (" ", "space", " "),
    ("é", "é", "é"),
    ("字", "字", "字"),
    ("👍", "👍", "👍"),
    ("+", "+", "+"),
    ("\u0301", "\u0301", "\u0301"),
    # kitty, all keys reported as escape codes, with and without the text
    (f"{ESC}[97;;97u", "a", "a"),
    (f"{ESC}[97u", "a", "a"),
    (f"{ESC}[97:65;2;65u", "A", "A"),
    (f"{ESC}[97:65;2u", "A", "A"),
    (f"{ESC}[97;2u", "A", "A"),
    (f"{ESC}[97;65u", "A", "A"),  # caps lock
    (f"{ESC}[97;66u", "a", "a"),  # caps lock and shift
    (f"{ESC}[97;129u", "a", "a"),  # num lock
    (f"{ESC}[49:33;2;33u", "!", "!"),
    (f"{ESC}[1089;;1089u", "с", "с"),
    (f"{ESC}[0;;229u", "å", "å"),
    (f"{ESC}[0;;128077:127997u", "👍🏽", "👍🏽"),
    (f"{ESC}[32u", "space", " "),
    (f"{ESC}[32;2u", "space", " "),
    # the keypad
    (f"{ESC}[57400u", "1", "1"),
    (f"{ESC}[57413u", "+", "+"),
    (f"{ESC}[57409;129u", ".", "."),
    (f"{ESC}Oq", "1", "1"),
    (f"{ESC}Ok", "+", "+"),
    # modifyOtherKeys
    (f"{ESC}[27;2;65~", "A", "A"),
    (f"{ESC}[27;2;33~", "!", "!"),
    (f"{ESC}[27;2;32~", "space", " "),
]

NAMED = [
    ("\r", "enter"),
    ("\n", "ctrl+j"),
    ("\t", "tab"),
    ("\x7f", "backspace"),
    ("\x08", "ctrl+backspace"),
    ("\x00", "ctrl+space"),
    ("\x01", "ctrl+a"),
    ("\x03", "ctrl+c"),
    ("\x1a", "ctrl+z"),
    ("\x1b", "escape"),
    ("\x1c", "ctrl+\\"),
    ("\x1d", "ctrl+]"),
    ("\x1e", "ctrl+^"),
    ("\x1f", "ctrl+-"),
    # escape as alt
    (f"{ESC}a", "alt+a"),
    (f"{ESC}A", "alt+shift+a"),
    (f"{ESC}P", "alt+shift+p"),
    (f"{ESC}O", "alt+shift+o"),
    (f"{ESC}[", "alt+["),
    (f"{ESC}]", "alt+]"),
    (f"{ESC}_", "alt+_"),
    (f"{ESC}<", "alt+<"),
    (f"{ESC}+", "alt++"),
    (f"{ESC}é", "alt+é"),
    (f"{ESC} ", "alt+space"),
    (f"{ESC}\r", "alt+enter"),
    (f"{ESC}\n", "ctrl+alt+j"),
    (f"{ESC}\t", "alt+tab"),
    (f"{ESC}\x7f", "alt+backspace"),
    (f"{ESC}\x03", "ctrl+alt+c"),
    (f"{ESC}\x1d", "ctrl+alt+]"),
    (f"{ESC}{ESC}", "alt+escape"),
    (f"{ESC}{ESC}[A", "alt+up"),
    (f"{ESC}{ESC}OD", "alt+left"),
    (f"{ESC}{ESC}[3~", "alt+delete"),
    # cursor keys, in both modes
    (f"{ESC}[A", "up"),
    (f"{ESC}[B", "down"),
    (f"{ESC}[C", "right"),
    (f"{ESC}[D", "left"),
    (f"{ESC}OA", "up"),
    (f"{ESC}OH", "home"),
    (f"{ESC}OF", "end"),
    (f"{ESC}[H", "home"),
    (f"{ESC}[F", "end"),
    (f"{ESC}[E", "clear"),
    (f"{ESC}[Z", "shift+tab"),
    (f"{ESC}[1;2Z", "shift+tab"),
    (f"{ESC}OM", "enter"),
    # editing keys
    (f"{ESC}[1~", "home"),
    (f"{ESC}[2~", "insert"),
    (f"{ESC}[3~", "delete"),
    (f"{ESC}[4~", "end"),
    (f"{ESC}[5~", "pageUp"),
    (f"{ESC}[6~", "pageDown"),
    (f"{ESC}[7~", "home"),
    (f"{ESC}[8~", "end"),
    # function keys: xterm, vt, Linux, SCO
    (f"{ESC}OP", "f1"),
    (f"{ESC}OS", "f4"),
    (f"{ESC}[P", "f1"),
    (f"{ESC}[11~", "f1"),
    (f"{ESC}[15~", "f5"),
    (f"{ESC}[17~", "f6"),
    (f"{ESC}[21~", "f10"),
    (f"{ESC}[24~", "f12"),
    (f"{ESC}[34~", "f20"),
    (f"{ESC}[[A", "f1"),
    (f"{ESC}[[E", "f5"),
    (f"{ESC}[L", "insert"),
    (f"{ESC}[G", "pageDown"),
    (f"{ESC}[T", "f8"),
    # modified
    (f"{ESC}[1;5C", "ctrl+right"),
    (f"{ESC}[1;3D", "alt+left"),
    (f"{ESC}[1;2A", "shift+up"),
    (f"{ESC}[1;6H", "ctrl+shift+home"),
    (f"{ESC}[1;8F", "ctrl+alt+shift+end"),
    (f"{ESC}[1;9C", "super+right"),
    (f"{ESC}[1;5P", "ctrl+f1"),
    (f"{ESC}[1;2R", "shift+f3"),
    (f"{ESC}[3;5~", "ctrl+delete"),
    (f"{ESC}[15;3~", "alt+f5"),
    (f"{ESC}[5C", "ctrl+right"),
    (f"{ESC}O5P", "ctrl+f1"),
    (f"{ESC}O1;5Q", "ctrl+f2"),
    # rxvt
    (f"{ESC}[a", "shift+up"),
    (f"{ESC}[d", "shift+left"),
    (f"{ESC}Oa", "ctrl+up"),
    (f"{ESC}Oc", "ctrl+right"),
    (f"{ESC}[3^", "ctrl+delete"),
    (f"{ESC}[3$", "shift+delete"),
    (f"{ESC}[3@", "ctrl+shift+delete"),
    (f"{ESC}[7^", "ctrl+home"),
    # kitty
    (f"{ESC}[27u", "escape"),
    (f"{ESC}[13;2u", "shift+enter"),
    (f"{ESC}[13;5u", "ctrl+enter"),
    (f"{ESC}[9;2u", "shift+tab"),
    (f"{ESC}[127;5u", "ctrl+backspace"),
    (f"{ESC}[127;2u", "shift+backspace"),
    (f"{ESC}[127;11u", "alt+super+backspace"),
    (f"{ESC}[32;5u", "ctrl+space"),
    (f"{ESC}[99;5u", "ctrl+c"),
    (f"{ESC}[104;5u", "ctrl+h"),
    (f"{ESC}[112:80;6u", "ctrl+shift+p"),
    (f"{ESC}[112;6u", "ctrl+shift+p"),
    (f"{ESC}[93;5u", "ctrl+]"),
    (f"{ESC}[45;5u", "ctrl+-"),
    (f"{ESC}[45:95;6u", "ctrl+_"),
    (f"{ESC}[47:63;4u", "alt+?"),
    (f"{ESC}[99;69u", "ctrl+c"),  # caps lock
    (f"{ESC}[99;133u", "ctrl+c"),  # num lock
    (f"{ESC}[1089::99;5u", "ctrl+c"),  # the key of c on a Cyrillic layout
    (f"{ESC}[1079:1047:112;6u", "ctrl+shift+p"),
    (f"{ESC}[99::105;5u", "ctrl+c"),  # Dvorak: the layout counts
    (f"{ESC}[97;33u", "alt+a"),  # meta
    (f"{ESC}[97;17u", "super+a"),  # hyper
    (f"{ESC}[57414u", "enter"),
    (f"{ESC}[57414;5u", "ctrl+enter"),
    (f"{ESC}[57419u", "up"),
    (f"{ESC}[57426;5u", "ctrl+delete"),
    (f"{ESC}[57400;5u", "ctrl+1"),
    (f"{ESC}[57376u", "f13"),
    (f"{ESC}[57398u", "f35"),
    (f"{ESC}[57363u", "menu"),
    (f"{ESC}[1;1:1A", "up"),
    # modifyOtherKeys
    (f"{ESC}[27;2;13~", "shift+enter"),
    (f"{ESC}[27;3;13~", "alt+enter"),
    (f"{ESC}[27;5;9~", "ctrl+tab"),
    (f"{ESC}[27;5;99~", "ctrl+c"),
    (f"{ESC}[27;6;80~", "ctrl+shift+p"),
    (f"{ESC}[27;5;45~", "ctrl+-"),
    (f"{ESC}[27;6;95~", "ctrl+_"),
    (f"{ESC}[27;5;127~", "ctrl+backspace"),
    (f"{ESC}[27;5;8~", "ctrl+backspace"),
    (f"{ESC}[27;5;32~", "ctrl+space"),
    (f"{ESC}[27;5;27~", "ctrl+escape"),
]

UNKNOWN = [
    f"{ESC}[57428u",  # media
    f"{ESC}[57441;2u",  # shift alone
    f"{ESC}[57358u",  # caps lock
    f"{ESC}[99999999999999999999u",
    f"{ESC}[55296;5u",  # half of a character
    f"{ESC}[55296u",
    f"{ESC}[1114112u",
    f"{ESC}[;u",
    f"{ESC}[1;5y",
    f"{ESC}[99~",
    f"{ESC}[9^",
    f"{ESC}[[Z",
    f"{ESC}Oz",
    f"{ESC}[<0;1;1M",
    f"{ESC}[M !!",
    f"{ESC}[?1;2c",
    f"{ESC}[1;x",
    f"{ESC}]11;x\x07",
    "\x9b",
    "\x80",
    "\ud800",
]


@pytest.mark.parametrize(("sequence", "name", "text"), TYPED)
def test_character_is_its_own_name_and_types_itself(sequence: str, name: str, text: str) -> None:
    assert parse_key(sequence) == Key(name, text, "press", sequence)


@pytest.mark.parametrize(("sequence", "name"), NAMED)
def test_non_typing_key_has_its_canonical_name(sequence: str, name: str) -> None:
    assert parse_key(sequence) == Key(name, "", "press", sequence)


@pytest.mark.parametrize("name", [name for _, name in NAMED if name != "ctrl+alt+j"])
def test_names_match_those_used_in_bindings(name: str) -> None:
    assert normalize_key(name) == name


@pytest.mark.parametrize("sequence", UNKNOWN)
def test_unknown_sequence_types_nothing(sequence: str) -> None:
    assert parse_key(sequence) == Key("unknown", "", "press", sequence)


@pytest.mark.parametrize(
    ("sequence", "key"),
    [
        (f"{ESC}[97;1:3u", Key("a", "", "release")),
        (f"{ESC}[97;1:2u", Key("a", "a", "repeat")),
        (f"{ESC}[99;5:3u", Key("ctrl+c", "", "release")),
        (f"{ESC}[1;1:2B", Key("down", "", "repeat")),
        (f"{ESC}[1;5:3C", Key("ctrl+right", "", "release")),
        (f"{ESC}[5;1:3~", Key("pageUp", "", "release")),
        (f"{ESC}[13;1:3u", Key("enter", "", "release")),
        (f"{ESC}[32;1:3u", Key("space", "", "release")),
        (f"{ESC}[57441;2:3u", Key("unknown", "", "release")),
    ],
)
def test_repeats_and_releases_differ_from_presses(sequence: str, key: Key) -> None:
    assert parse_key(sequence) == key._replace(raw=sequence)


def test_every_function_key_has_a_bindable_name() -> None:
    assert {f"f{number}" for number in range(1, 36)} <= NAMED_KEYS


ALPHABET = "\x00\x1b[]O<?>;:0159~u$^MABcRZt \x7f\x9bé\ud800"


@pytest.mark.parametrize("firsts", ["[O", pytest.param(ALPHABET, marks=pytest.mark.soak)])
def test_any_short_sequence_gives_a_key_and_never_raises(firsts: str) -> None:
    alphabet = ALPHABET
    for first in firsts:
        for second in alphabet:
            for third in alphabet:
                for fourth in alphabet:
                    key = parse_key(f"{ESC}{first}{second}{third}{fourth}")
                    assert key.name
                    assert not key.text or key.text.isprintable()
