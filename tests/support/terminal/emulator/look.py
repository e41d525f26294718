"""The style of a cell, and what an SGR sequence does to it."""

from collections.abc import Iterator
from typing import NamedTuple

_CACHE_SIZE = 4096
_NONE: frozenset[str] = frozenset()


class Look(NamedTuple):
    """Colors are "" (the terminal's default), "0" to "255", or "#rrggbb". `attrs` has words like "bold"."""

    fg: str = ""
    bg: str = ""
    attrs: frozenset[str] = _NONE
    link: str = ""
    underline: str = ""
    """"single", "double", "curly", "dotted", "dashed", or "" for none."""
    underline_color: str = ""


PLAIN = Look()

_ON = {
    1: "bold",
    2: "dim",
    3: "italic",
    5: "blink",
    6: "blink",
    7: "inverse",
    8: "hidden",
    9: "strike",
    53: "overline",
}
_OFF: dict[int, frozenset[str]] = {
    22: frozenset({"bold", "dim"}),
    23: frozenset({"italic"}),
    25: frozenset({"blink"}),
    27: frozenset({"inverse"}),
    28: frozenset({"hidden"}),
    29: frozenset({"strike"}),
    55: frozenset({"overline"}),
}
_UNDERLINES = ("", "single", "double", "curly", "dotted", "dashed")

_blanks: dict[Look, Look] = {}
_changed: dict[tuple[Look, str], Look] = {}


def blank(look: Look) -> Look:
    """The style of a cell erased with this style: only the background stays."""
    if not look.bg:
        return PLAIN
    found = _blanks.get(look)
    if found is None:
        if len(_blanks) >= _CACHE_SIZE:
            _blanks.clear()
        found = _blanks[look] = Look(bg=look.bg)
    return found


def changed(look: Look, params: str) -> Look:
    """The style after `CSI params m`."""
    key = (look, params)
    found = _changed.get(key)
    if found is None:
        if len(_changed) >= _CACHE_SIZE:
            _changed.clear()
        found = _changed[key] = _apply(look, params)
    return found


def _apply(look: Look, params: str) -> Look:
    items = iter(params.split(";"))
    for item in items:
        code = _number(item.partition(":")[0])
        if code in (38, 48, 58):
            color = _color_of_colons(item) if ":" in item else _color_of_rest(items)
            if color is not None:
                look = _colored(look, code, color)
        elif code == 4 and ":" in item:
            look = _underlined(look, _number(item.split(":")[1]))
        else:
            look = _with_code(look, code)
    return look


def _with_code(look: Look, code: int) -> Look:
    if code == 0:
        return Look(link=look.link)
    if code in _ON:
        return look._replace(attrs=look.attrs | {_ON[code]})
    if code in _OFF:
        return look._replace(attrs=look.attrs - _OFF[code])
    if code in (4, 21, 24):
        return _underlined(look, {4: 1, 21: 2, 24: 0}[code])
    if 30 <= code <= 37 or 90 <= code <= 97:
        return look._replace(fg=str(code - 30 if code < 90 else code - 82))
    if 40 <= code <= 47 or 100 <= code <= 107:
        return look._replace(bg=str(code - 40 if code < 100 else code - 92))
    if code == 39:
        return look._replace(fg="")
    if code == 49:
        return look._replace(bg="")
    if code == 59:
        return look._replace(underline_color="")
    return look


def _colored(look: Look, code: int, color: str) -> Look:
    if code == 38:
        return look._replace(fg=color)
    return look._replace(bg=color) if code == 48 else look._replace(underline_color=color)


def _underlined(look: Look, style: int) -> Look:
    if not 0 <= style < len(_UNDERLINES):
        style = 1
    attrs = look.attrs | {"underline"} if style else look.attrs - {"underline"}
    return look._replace(attrs=attrs, underline=_UNDERLINES[style])


def _color_of_colons(item: str) -> str | None:
    """`38:5:n`, `38:2:r:g:b`, or with a color space before the red: `38:2::r:g:b`."""
    parts = item.split(":")[1:]
    kind = _number(parts[0])
    if kind == 5 and len(parts) > 1:
        return _indexed(parts[1])
    if kind == 2 and len(parts) > 3:
        return _direct(parts[2:5] if len(parts) > 4 else parts[1:4])
    return None


def _color_of_rest(items: Iterator[str]) -> str | None:
    kind = _number(next(items, ""))
    if kind == 5:
        return _indexed(next(items, ""))
    if kind == 2:
        return _direct([next(items, "") for _ in range(3)])
    return None


def _indexed(text: str) -> str | None:
    number = _number(text)
    return str(number) if number < 256 else None


def _direct(parts: list[str]) -> str | None:
    numbers = [_number(part) for part in parts]
    return "#{:02x}{:02x}{:02x}".format(*numbers) if max(numbers) < 256 else None


def _number(text: str) -> int:
    return int(text[:9]) if text.isdigit() else 0
