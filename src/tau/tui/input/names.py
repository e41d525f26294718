"""Key names: one canonical spelling for many ways to write a key."""

from collections.abc import Collection
from pathlib import Path

from msgspec import Struct, json


class KeyTables(Struct, frozen=True, rename="camel"):
    """From `keys.json`: other names of keys, and the sequences that terminals send, by what introduces them.

    `csi_plain` are letters of the SCO console; where they conflict with xterm, xterm wins.
    """

    modifier_aliases: dict[str, str]
    aliases: dict[str, str]
    csi: dict[str, str]
    csi_plain: dict[str, str]
    tilde: dict[int, str]
    ss3: dict[str, str]
    controls: dict[str, str]
    kitty: dict[int, str]


TABLES = json.decode(Path(__file__).with_name("keys.json").read_bytes(), type=KeyTables)

MODIFIERS = ("ctrl", "alt", "shift", "super")

# fmt: off
NAMED_KEYS = frozenset((
    "up", "down", "left", "right", "home", "end", "pageUp", "pageDown", "insert", "delete", "backspace",
    "enter", "tab", "space", "escape", "clear", "menu", "pause", "printScreen", "scrollLock",
)) | {f"f{number}" for number in range(1, 36)}
# fmt: on

_BY_LOWER = {name.lower(): name for name in NAMED_KEYS} | TABLES.aliases
_LABELS = {"escape": "Esc", "pageUp": "PageUp", "pageDown": "PageDown", "printScreen": "PrintScreen"}


def key_name(key: str, held: Collection[str]) -> str:
    """Return the canonical name of a key with these modifiers."""
    return "+".join([*(name for name in MODIFIERS if name in held), key]) if held else key


def normalize_key(written: str) -> str:
    """Return the canonical name of a key as the user wrote it; raises ValueError with the reason.

    Letters with a modifier are lowercase, and shift is named; a single capital letter is itself.
    """
    text = written if written == " " else written.strip()
    head, key = _split(text)
    held: set[str] = set()
    for part in head:
        modifier = part.strip().lower()
        modifier = TABLES.modifier_aliases.get(modifier, modifier)
        if modifier not in MODIFIERS:
            raise ValueError(f"{part.strip()!r} is not a modifier (use ctrl, alt, shift or super)")
        held.add(modifier)
    name = _BY_LOWER.get(key.lower()) or ("space" if key == " " else key)
    if len(name) == 1:
        name = _character(name, held)
    elif name not in NAMED_KEYS:
        raise ValueError(f"{key!r} is not a key name")
    elif name == "space" and held == {"shift"}:
        held.clear()
    return key_name(name, held)


def label(name: str) -> str:
    """Format a canonical name for display: `ctrl+shift+p` is Ctrl+Shift+P, and `L` is Shift+L."""
    if len(name) == 1 and name.isalpha() and name.isupper():
        return f"Shift+{name}"
    *held, key = name[:-1].split("+") if name.endswith("+") else name.split("+")
    if name.endswith("+"):
        held, key = [part for part in (*held, key) if part], "+"
    shown = _LABELS.get(key) or (key[:1].upper() + key[1:])
    return "+".join([*(part.capitalize() for part in held), shown])


def _split(text: str) -> tuple[list[str], str]:
    """Split into modifiers and key; the key may be a plus sign."""
    if text == "+":
        return [], "+"
    if text.endswith("++"):
        return text[:-2].split("+"), "+"
    *head, key = text.split("+")
    key = key.strip() or key
    if not key:
        raise ValueError("the key name is missing")
    return head, key


def _character(char: str, held: set[str]) -> str:
    if held - {"shift"}:
        return char.lower()
    if "shift" not in held:
        return char
    if not char.isalpha():
        raise ValueError(f"shift with {char!r} types another character: write that character instead")
    held.clear()
    return char.upper()
