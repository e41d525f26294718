"""The names of keys: one canonical spelling for what people write in many ways."""

from collections.abc import Collection

MODIFIERS = ("ctrl", "alt", "shift", "super")

# fmt: off
NAMED_KEYS = frozenset((
    "up", "down", "left", "right", "home", "end", "pageUp", "pageDown", "insert", "delete", "backspace",
    "enter", "tab", "space", "escape", "clear", "menu", "pause", "printScreen", "scrollLock",
)) | {f"f{number}" for number in range(1, 36)}
# fmt: on

_MODIFIER_ALIASES = {
    "control": "ctrl",
    "ctl": "ctrl",
    "c": "ctrl",
    "option": "alt",
    "opt": "alt",
    "meta": "alt",
    "m": "alt",
    "s": "shift",
    "cmd": "super",
    "command": "super",
    "win": "super",
    "windows": "super",
}
_KEY_ALIASES = {
    "esc": "escape",
    "return": "enter",
    "cr": "enter",
    "del": "delete",
    "ins": "insert",
    "bs": "backspace",
    "spacebar": "space",
    "pgup": "pageUp",
    "pgdn": "pageDown",
    "pgdown": "pageDown",
    "page_up": "pageUp",
    "page_down": "pageDown",
    "page-up": "pageUp",
    "page-down": "pageDown",
    "plus": "+",
    "minus": "-",
    "arrowup": "up",
    "arrowdown": "down",
    "arrowleft": "left",
    "arrowright": "right",
    "prtsc": "printScreen",
}
_BY_LOWER = {name.lower(): name for name in NAMED_KEYS} | _KEY_ALIASES
_LABELS = {"escape": "Esc", "pageUp": "PageUp", "pageDown": "PageDown", "printScreen": "PrintScreen"}


def key_name(key: str, held: Collection[str]) -> str:
    """The canonical name of a key with the modifiers that are held."""
    return "+".join([*(name for name in MODIFIERS if name in held), key]) if held else key


def normalized(written: str) -> str:
    """The canonical name of a key as a person wrote it; raises ValueError with what is wrong.

    Letters with a modifier are written small, and shift is named; a single capital letter is what it types.
    """
    text = written if written == " " else written.strip()
    head, key = _split(text)
    held: set[str] = set()
    for part in head:
        modifier = part.strip().lower()
        modifier = _MODIFIER_ALIASES.get(modifier, modifier)
        if modifier not in MODIFIERS:
            raise ValueError(f"{part.strip()!r} is not a modifier (they are ctrl, alt, shift and super)")
        held.add(modifier)
    name = _BY_LOWER.get(key.lower()) or ("space" if key == " " else key)
    if len(name) == 1:
        name = _character(name, held)
    elif name not in NAMED_KEYS:
        raise ValueError(f"{key!r} is not the name of a key")
    elif name == "space" and held == {"shift"}:
        held.clear()
    return key_name(name, held)


def label(name: str) -> str:
    """A canonical name as a person reads it: `ctrl+shift+p` is Ctrl+Shift+P, and `L` is Shift+L."""
    if len(name) == 1 and name.isalpha() and name.isupper():
        return f"Shift+{name}"
    *held, key = name[:-1].split("+") if name.endswith("+") else name.split("+")
    if name.endswith("+"):
        held, key = [part for part in (*held, key) if part], "+"
    shown = _LABELS.get(key) or (key[:1].upper() + key[1:])
    return "+".join([*(part.capitalize() for part in held), shown])


def _split(text: str) -> tuple[list[str], str]:
    """The modifiers and the key; the key may itself be a plus sign."""
    if text == "+":
        return [], "+"
    if text.endswith("++"):
        return text[:-2].split("+"), "+"
    *head, key = text.split("+")
    key = key.strip() or key
    if not key:
        raise ValueError("the name of the key is missing")
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
