"""Parses one complete terminal sequence into a key, as encoded by xterm, rxvt, Linux, SCO and kitty."""

from typing import NamedTuple

from tau.tui.input.key import Key, KeyKind
from tau.tui.input.names import TABLES, key_name

_UNKNOWN = "unknown"

_CSI_PLAIN = TABLES.csi | TABLES.csi_plain
_RXVT_ENDS = {"^": ("ctrl",), "$": ("shift",), "@": ("ctrl", "shift")}
_LINUX = {"A": "f1", "B": "f2", "C": "f3", "D": "f4", "E": "f5"}
_SS3 = TABLES.csi | TABLES.ss3
# What each key of the keypad types in application mode.
_SS3_KEYPAD = dict(zip("Xjklmnopqrstuvwxy", "=*+,-./0123456789", strict=True))
_CODES = {8: "backspace", 9: "tab", 13: "enter", 27: "escape", 32: "space", 127: "backspace"}
_KITTY_KEYPAD = dict(zip(range(57399, 57417), "0123456789./*-+\0=,", strict=True))
_PRIVATE_USE = range(57344, 63744)
_KINDS: dict[int, KeyKind] = {2: "repeat", 3: "release"}
_SHIFT, _ALT, _CTRL, _SUPER, _HYPER, _META, _CAPS = (1 << bit for bit in range(7))
_MODIFIERS = {"shift": _SHIFT, "alt": _ALT | _META, "ctrl": _CTRL, "super": _SUPER | _HYPER}


def parse_key(sequence: str) -> Key:
    """Parse a complete sequence. Always returns a key: "unknown" if nothing matches."""
    if len(sequence) == 1:
        return _one(sequence)
    if not sequence.startswith("\x1b"):
        return Key(sequence, sequence, raw=sequence) if sequence.isprintable() else _unknown(sequence)
    if sequence.startswith("\x1b[") and len(sequence) > 2:
        return _csi(sequence)
    if sequence.startswith("\x1bO") and len(sequence) > 2:
        return _ss3(sequence)
    return _with_alt(sequence)


def _unknown(sequence: str, kind: KeyKind = "press") -> Key:
    return Key(_UNKNOWN, kind=kind, raw=sequence)


def _one(char: str) -> Key:
    if char == " ":
        return Key("space", " ", raw=char)
    if char.isprintable():
        return Key(char, char, raw=char)
    name = TABLES.controls.get(char)
    if name is None and char < "\x1b":
        name = f"ctrl+{chr(ord(char) + 0x60)}"
    if name is None:
        # Combining marks, joiners and the like are typed too, though not printable alone.
        return (
            Key(char, char, raw=char)
            if char >= "\xa0" and not "\ud800" <= char <= "\udfff"
            else _unknown(char)
        )
    return Key(name, raw=char)


def _with_alt(sequence: str) -> Key:
    """Parse Escape followed by what the key sends without alt."""
    inner = sequence[1:]
    if len(inner) == 1 and inner.isalpha() and inner.isupper():
        return Key(f"alt+shift+{inner.lower()}", raw=sequence)
    if len(inner) > 2 and inner[0] != "\x1b":
        return _unknown(sequence)
    key = parse_key(inner)
    if key.name == _UNKNOWN:
        return _unknown(sequence)
    *held, name = _parts(key.name)
    return Key(key_name(name, {*held, "alt"}), kind=key.kind, raw=sequence)


def _parts(name: str) -> list[str]:
    return [*name[:-2].split("+"), "+"] if name.endswith("++") else name.split("+") if name != "+" else ["+"]


def _ss3(sequence: str) -> Key:
    body, final = sequence[2:-1], sequence[-1]
    # Some terminals put the modifiers before the letter: ESC O 5 P.
    modifiers = _number(body.rpartition(";")[2], 1) if body else 1
    if final in _SS3_KEYPAD:
        return _keypad_key(_SS3_KEYPAD[final], modifiers - 1, sequence, "press")
    return _named(_SS3.get(final), modifiers - 1, sequence, "press")


def _csi(sequence: str) -> Key:
    body, final = sequence[2:-1], sequence[-1]
    if body == "[":
        return _named(_LINUX.get(final), 0, sequence, "press")
    if not body:
        return _named(_CSI_PLAIN.get(final), 0, sequence, "press")
    fields = _fields(body)
    if fields is None:
        return _unknown(sequence)
    if final == "u":
        return _kitty(fields, sequence)
    if final == "~" and fields[0][0] == 27 and len(fields) > 2:
        return _other_key(fields[2][0], _held(fields), sequence)
    if final == "~":
        return _named(TABLES.tilde.get(fields[0][0]), _held(fields), sequence, _kind(fields))
    if final in _RXVT_ENDS and len(fields) == 1:
        name = TABLES.tilde.get(fields[0][0])
        return Key(key_name(name, _RXVT_ENDS[final]), raw=sequence) if name else _unknown(sequence)
    if final == "Z":
        return _named("tab", _held(fields) | _SHIFT, sequence, _kind(fields))
    if len(fields) == 1 and fields[0][0] > 1:
        # Old xterm form: only the modifiers before the letter.
        fields = [[1], fields[0]]
    return _named(TABLES.csi.get(final), _held(fields), sequence, _kind(fields))


def _fields(body: str) -> list[list[int]] | None:
    """Parse semicolon-separated fields, each a colon-separated list; an empty number is -1."""
    fields: list[list[int]] = []
    for field in body.split(";"):
        numbers = [_number(number, -1) for number in field.split(":")]
        if min(numbers) < -1:
            return None
        fields.append(numbers)
    return fields


def _number(text: str, empty: int) -> int:
    if not text:
        return empty
    return int(text) if len(text) < 8 and text.isascii() and text.isdigit() else -2


def _held(fields: list[list[int]]) -> int:
    """Return the modifier bits, which are sent plus one."""
    return max(fields[1][0] - 1, 0) if len(fields) > 1 else 0


def _kind(fields: list[list[int]]) -> KeyKind:
    return _KINDS.get(fields[1][1], "press") if len(fields) > 1 and len(fields[1]) > 1 else "press"


def _modifiers(bits: int) -> set[str]:
    """Return modifier names. Hyper counts as super and meta as alt; locks are ignored."""
    return {name for name, mask in _MODIFIERS.items() if bits & mask}


def _named(name: str | None, bits: int, sequence: str, kind: KeyKind) -> Key:
    """Build a named key, which types nothing (except space)."""
    if name is None:
        return _unknown(sequence, kind)
    held = _modifiers(bits)
    if name == "space" and held <= {"shift"}:
        return Key(name, "" if kind == "release" else " ", kind, sequence)
    return Key(key_name(name, held), "", kind, sequence)


class _Code(NamedTuple):
    """The codes of one key: in the active layout, with shift, and in the base layout."""

    char: str
    shifted: str = ""
    base: str = ""


def _kitty(fields: list[list[int]], sequence: str) -> Key:
    bits, kind = _held(fields), _kind(fields)
    codes = fields[0]
    code = codes[0]
    name = _CODES.get(code) or TABLES.kitty.get(code)
    if name:
        return _named(name, bits, sequence, kind)
    keypad = _KITTY_KEYPAD.get(code)
    if keypad:
        return _keypad_key(keypad, bits, sequence, kind)
    text = "".join(_character(number) for number in fields[2]) if len(fields) > 2 else ""
    if code in _PRIVATE_USE or (code <= 0 and not text):
        return _unknown(sequence, kind)
    shifted, base = (_character(codes[at]) if len(codes) > at else "" for at in (1, 2))
    return _character_key(_Code(_character(code), shifted, base), bits, text, sequence, kind)


def _other_key(code: int, bits: int, sequence: str) -> Key:
    """Parse xterm's modifyOtherKeys, whose code is the character that would have been typed."""
    name = _CODES.get(code)
    if name:
        return _named(name, bits, sequence, "press")
    char = _character(code)
    if bits & _SHIFT and not char.isalpha():
        bits &= ~_SHIFT
    return _character_key(_Code(char, char), bits, "", sequence, "press")


def _keypad_key(char: str, bits: int, sequence: str, kind: KeyKind) -> Key:
    return _character_key(_Code(char, char), bits & ~_SHIFT, "", sequence, kind)


def _character_key(code: _Code, bits: int, text: str, sequence: str, kind: KeyKind) -> Key:
    held = _modifiers(bits)
    if held - {"shift"}:
        return _shortcut(code, held, sequence, kind)
    if not text:
        upper = bool(bits & _SHIFT) != bool(bits & _CAPS and code.char.isalpha())
        text = (code.shifted or code.char.upper()) if upper else code.char
    if not text:
        return _unknown(sequence, kind)
    name = "space" if text == " " else text
    return Key(name, "" if kind == "release" else text, kind, sequence)


def _shortcut(code: _Code, held: set[str], sequence: str, kind: KeyKind) -> Key:
    """Build a character key with ctrl, alt or super: letters are lowercase Latin, shift is named.

    For other characters, shift is part of the character if the terminal reports the shifted one.
    """
    char = code.char
    if not char.isascii() and code.base.isascii() and code.base:
        char = code.base
        shifted = ""
    else:
        shifted = code.shifted
    if char.isalpha():
        if char.isupper():
            held.add("shift")
        char = char.lower()
    elif "shift" in held and shifted and shifted.isprintable():
        held.discard("shift")
        char = shifted
    return Key(key_name(char, held), "", kind, sequence) if char else _unknown(sequence, kind)


def _character(code: int) -> str:
    """Convert a code to a character; empty if no key can type it."""
    if not 32 <= code <= 0x10FFFF or 0x7F <= code < 0xA0 or 0xD800 <= code <= 0xDFFF:
        return ""
    return chr(code)
