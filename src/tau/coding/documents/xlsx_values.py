"""A cell's stored value as people see it: dates by number format, percentages, numbers without noise."""

import math
import re
from datetime import datetime, timedelta
from typing import Literal
from xml.etree.ElementTree import Element

from msgspec import Struct

from tau.coding.documents.package import attribute, children, local, number

_Look = Literal["number", "percent", "date", "time", "datetime", "duration"]

_BUILT_IN_RANGES: list[tuple[int, int, _Look]] = [
    (9, 10, "percent"),
    (14, 17, "date"),
    (18, 21, "time"),
    (22, 22, "datetime"),
    (27, 31, "date"),
    (32, 35, "time"),
    (36, 36, "date"),
    (45, 45, "time"),
    (46, 46, "duration"),
    (47, 47, "time"),
    (50, 54, "date"),
    (55, 56, "time"),
    (57, 58, "date"),
]
BUILT_IN = {id: look for first, last, look in _BUILT_IN_RANGES for id in range(first, last + 1)}
_NOT_CODES = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
LAST_SERIAL = 2_958_466  # in days, as Excel counts them: the year 9999 ends before this one


class Formats(Struct, frozen=True):
    """The look of each cell style, and from which day serial dates are counted."""

    looks: list[tuple[_Look, int]]  # with the number of decimals, for percentages
    base_1904: bool = False

    def of(self, style: int) -> "Format":
        look, decimals = self.looks[style] if 0 <= style < len(self.looks) else ("number", 0)
        return Format(look, decimals, self.base_1904)


class Format(Struct, frozen=True, gc=False):
    look: _Look = "number"
    decimals: int = 0
    base_1904: bool = False


def read_formats(styles: Element | None, base_1904: bool) -> Formats:
    if styles is None:
        return Formats([], base_1904)
    codes = {
        number(attribute(each, "numFmtId")): attribute(each, "formatCode")
        for each in children(styles, "numFmts")
    }
    looks: list[tuple[_Look, int]] = []
    for each in children(styles, "cellXfs"):
        if local(each) == "xf":
            id = number(attribute(each, "numFmtId"))
            code = codes.get(id, "0.00%" if id == 10 else "")
            looks.append((look_of(code) if id in codes else BUILT_IN.get(id, "number"), _decimals(code)))
    return Formats(looks, base_1904)


def look_of(code: str) -> _Look:
    """What a number format makes of a number; only the part for positive numbers counts."""
    first = _NOT_CODES.sub("", code.partition(";")[0]).casefold()
    if re.search(r"\[[hms]+\]", first):
        return "duration"
    if "general" in first:
        return "number"
    has_date = "y" in first or "d" in first or ("m" in first and "h" not in first and "s" not in first)
    has_time = "h" in first or "s" in first
    if has_date or has_time:
        return "datetime" if has_date and has_time else "date" if has_date else "time"
    return "percent" if "%" in first else "number"


def written(value: str, kind: str, format: Format) -> str:
    """The text of a cell of the kind `n`, `b`, `e`, `d`, or of text that is as it is."""
    if kind == "b":
        return {"1": "TRUE", "0": "FALSE"}.get(value, value)
    if kind == "d":
        return value.replace("T00:00:00", "").removesuffix("Z").replace("T", " ")
    if kind != "n" or value.startswith("="):
        return value
    try:
        amount = float(value)
    except ValueError:
        return value
    if not math.isfinite(amount):
        return value
    if format.look == "percent":
        return f"{amount * 100:.{format.decimals}f}%"
    if format.look == "number":
        return _number(value, amount)
    return _date(amount, format) or _number(value, amount)


def _number(value: str, amount: float) -> str:
    """Fifteen digits are what Excel keeps; the rest is the noise of binary fractions."""
    if re.fullmatch(r"-?\d{1,15}", value):
        return value
    return f"{amount:.15g}"


def _date(serial: float, format: Format) -> str:
    """A serial date as ISO text, "" if it is outside of the calendar."""
    if not 0 <= serial < LAST_SERIAL:
        return ""
    if format.look == "duration":
        minutes, seconds = divmod(round(serial * 86_400), 60)
        return f"{minutes // 60}:{minutes % 60:02d}:{seconds:02d}"
    if format.base_1904:
        epoch = datetime(1904, 1, 1)
    else:
        epoch = datetime(1899, 12, 30) if serial >= 60 else datetime(1899, 12, 31)  # 1900 was no leap year
    try:
        moment = epoch + timedelta(seconds=round(serial * 86_400))
    except OverflowError:
        return ""
    time = f"{moment:%H:%M:%S}" if moment.second else f"{moment:%H:%M}"
    if format.look == "time" and serial < 1:
        return time
    date = f"{moment.year:04d}-{moment.month:02d}-{moment.day:02d}"
    return date if format.look == "date" and time == "00:00" else f"{date} {time}"


def _decimals(code: str) -> int:
    match = re.search(r"0\.(0+)", code.partition(";")[0])
    return min(len(match[1]), 10) if match else 0
