"""What a terminal sends for a key, in the encoding the program requested."""

_MODIFIERS = {"shift": 1, "alt": 2, "ctrl": 4, "super": 8}
_LETTERS = {"up": "A", "down": "B", "right": "C", "left": "D", "end": "F", "home": "H"}
_FUNCTION_LETTERS = {"f1": "P", "f2": "Q", "f3": "R", "f4": "S"}
_TILDES = {"insert": 2, "delete": 3, "pageUp": 5, "pageDown": 6}
_TILDES |= {"f5": 15, "f6": 17, "f7": 18, "f8": 19, "f9": 20, "f10": 21, "f11": 23, "f12": 24}
_CODES = {"enter": 13, "tab": 9, "backspace": 127, "escape": 27, "space": 32}
_CONTROLS = {"space": "\0", "@": "\0", "[": "\x1b", "\\": "\x1c", "]": "\x1d", "^": "\x1e", "_": "\x1f"}


def encoded(
    name: str, *, kitty: int = 0, modify_other_keys: int = 0, application_cursor: bool = False
) -> str:
    """The bytes of a key by its canonical name, such as "ctrl+shift+p", "pageUp" or "ä"."""
    *held, key = [part or "+" for part in name.split("+")] if name != "+" else ["+"]
    if held and held[-1] == "+" and key == "+":
        held.pop()
    modifier = sum(_MODIFIERS[part] for part in held)
    if key in _LETTERS or key in _FUNCTION_LETTERS:
        letter = _LETTERS.get(key) or _FUNCTION_LETTERS[key]
        if modifier:
            return f"\x1b[1;{modifier + 1}{letter}"
        return f"\x1bO{letter}" if key in _FUNCTION_LETTERS or application_cursor else f"\x1b[{letter}"
    if key in _TILDES:
        return f"\x1b[{_TILDES[key]};{modifier + 1}~" if modifier else f"\x1b[{_TILDES[key]}~"
    code = _CODES.get(key) or ord(key)
    if kitty & 1 and (modifier & ~1 or key == "escape" or (modifier and key in _CODES and key != "space")):
        return f"\x1b[{code};{modifier + 1}u" if modifier else f"\x1b[{code}u"
    if modify_other_keys == 2 and modifier and (modifier & ~1 or key in _CODES):
        return f"\x1b[27;{modifier + 1};{code}~"
    return _legacy(key, chr(code), modifier)


def _legacy(key: str, char: str, modifier: int) -> str:
    if key == "tab" and modifier & 1:
        text = "\x1b[Z"
    elif modifier & 4 and key == "backspace":
        text = "\x08"
    elif modifier & 4 and key in _CONTROLS:
        text = _CONTROLS[key]
    elif modifier & 4 and len(key) == 1 and key.isascii() and key.isalpha():
        text = chr(ord(key.lower()) & 31)
    else:
        text = char.upper() if modifier & 1 and len(key) == 1 else char
    return f"\x1b{text}" if modifier & 2 else text
