"""Control strings: titles, links, colors, notifications, the clipboard, and images by other modules."""

import base64
import binascii
import re
from collections.abc import Callable

from tests.support.terminal.emulator.graphics import file_image, kitty_graphics, sixel_image
from tests.support.terminal.emulator.machine import Machine, Notification

_DCS = re.compile(r"([0-?]*)([ -/]*)([@-~])(.*)", re.DOTALL)


def osc(machine: Machine, data: str) -> None:
    code, _, rest = data.partition(";")
    action = _OSC.get(code)
    if action is not None:
        action(machine, rest)


def dcs(machine: Machine, data: str) -> None:
    found = _DCS.match(data)
    if found is None:
        return
    kind, rest = found[2] + found[3], found[4]
    if kind == "q":
        sixel_image(machine, rest)
    elif kind == "+q":
        _capabilities(machine, rest)
    elif kind == "$q":
        machine.reply("\x1bP0$r\x1b\\")


def apc(machine: Machine, data: str) -> None:
    if data.startswith("G"):
        kitty_graphics(machine, data[1:])


def _title(machine: Machine, rest: str) -> None:
    machine.title = rest


def _link(machine: Machine, rest: str) -> None:
    _, _, url = rest.partition(";")
    machine.pen = machine.pen._replace(link=url)


def _progress_or_notification(machine: Machine, rest: str) -> None:
    """OSC 9 is iTerm2's notification, unless it is the progress bar of ConEmu."""
    if not rest.startswith("4;"):
        machine.notifications.append(Notification(9, "", rest))


def _kitty_notification(machine: Machine, rest: str) -> None:
    options, _, payload = rest.partition(";")
    fields = dict(item.split("=", 1) for item in options.split(":") if "=" in item)
    kind = fields.get("p", "title")
    if fields.get("e") == "1":
        payload = _decoded(payload)
    if kind == "?":
        if machine.answers is not None and machine.answers.notifications:
            name = fields.get("i", "0")
            machine.reply(f"\x1b]99;i={name}:p=?;{machine.answers.notifications}\x1b\\")
    elif kind in ("title", "body"):
        title, body = (payload, "") if kind == "title" else ("", payload)
        machine.notifications.append(Notification(99, title, body))


def _urxvt_notification(machine: Machine, rest: str) -> None:
    command, _, message = rest.partition(";")
    if command == "notify":
        title, _, body = message.partition(";")
        machine.notifications.append(Notification(777, title, body))


def _clipboard(machine: Machine, rest: str) -> None:
    _, _, payload = rest.partition(";")
    if payload != "?":
        machine.clipboard.append(_decoded(payload))


def _foreground(machine: Machine, rest: str) -> None:
    if rest == "?" and machine.answers is not None and machine.answers.foreground:
        machine.reply(f"\x1b]10;{machine.answers.foreground}\x1b\\")


def _background(machine: Machine, rest: str) -> None:
    if rest == "?" and machine.answers is not None and machine.answers.background:
        machine.reply(f"\x1b]11;{machine.answers.background}\x1b\\")


def _decoded(payload: str) -> str:
    try:
        return base64.b64decode(payload, validate=True).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return ""


def _capabilities(machine: Machine, names: str) -> None:
    """XTGETTCAP: names and values are hexadecimal."""
    known = {"Co": "256", "colors": "256", "RGB": "8", "TN": "xterm-256color"}
    for name in names.split(";"):
        try:
            value = known.get(bytes.fromhex(name).decode("ascii", "replace"))
        except ValueError:
            value = None
        if value is None or machine.answers is None or not machine.answers.color_names:
            machine.reply(f"\x1bP0+r{name}\x1b\\")
        else:
            machine.reply(f"\x1bP1+r{name}={value.encode().hex().upper()}\x1b\\")


def _shell_mark(machine: Machine, data: str) -> None:
    machine.page.rows[machine.page.y].mark = data[:1]


_OSC: dict[str, Callable[[Machine, str], None]] = {
    "0": _title,
    "2": _title,
    "8": _link,
    "9": _progress_or_notification,
    "10": _foreground,
    "11": _background,
    "52": _clipboard,
    "99": _kitty_notification,
    "133": _shell_mark,
    "777": _urxvt_notification,
    "1337": file_image,
}
STRINGS: dict[str, Callable[[Machine, str], None]] = {"OSC": osc, "DCS": dcs, "APC": apc}
