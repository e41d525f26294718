"""Image bookkeeping: Kitty's protocol with its chunks and deletions, iTerm2's files, and Sixel."""

import base64
import re

from tests.support.terminal.emulator.images import LOG_SIZE, Image, Inline, Placement
from tests.support.terminal.emulator.machine import Machine

_PNG = b"\x89PNG\r\n\x1a\n"
_RASTER = re.compile(r'"\d*;\d*;(\d+);(\d+)')

Fields = dict[str, str]


def kitty_graphics(machine: Machine, data: str) -> None:
    """One command; a transmission may span many, all but the last with `m=1`."""
    if machine.answers is not None and not machine.answers.kitty_graphics:
        return
    head, _, payload = data.partition(";")
    fields = dict(item.split("=", 1) for item in head.split(",") if "=" in item)
    images = machine.images
    if images.chunks is not None:
        first, pieces = images.chunks
        pieces.append(payload)
        fields, more = first, fields.get("m") == "1"
    else:
        pieces, more = [payload], fields.get("m") == "1"
    if more:
        images.chunks = (fields, pieces)
        return
    images.chunks = None
    _command(machine, fields, "".join(pieces))


def _command(machine: Machine, fields: Fields, payload: str) -> None:
    action = fields.get("a", "t")
    if action == "d":
        _delete(machine, fields)
    elif action == "q":
        _answer(machine, fields, "OK")
    elif action in ("t", "T"):
        image = _transmit(machine, fields, payload)
        if action == "T":
            _place(machine, fields, image)
        _answer(machine, fields, "OK")
    elif action == "p":
        found = _image_of(machine, fields)
        if found is None:
            _answer(machine, fields, "ENOENT:there is no such image")
        else:
            _place(machine, fields, found)
            _answer(machine, fields, "OK")


def _transmit(machine: Machine, fields: Fields, payload: str) -> Image:
    images = machine.images
    name = _number(fields, "i")
    if not name:
        name = images.next_id
        images.next_id += 1
    format_ = _number(fields, "f") or 32
    size = _png_size(payload) if format_ == 100 else None
    width, height = size or (_number(fields, "s"), _number(fields, "v"))
    image = Image(name, _number(fields, "I"), format_, width, height, payload)
    for key in [key for key in images.placements if key[0] == name]:
        del images.placements[key]
    images.transmitted.pop(name, None)
    images.transmitted[name] = image
    if len(images.transmitted) > LOG_SIZE:
        del images.transmitted[next(iter(images.transmitted))]
        images.dropped += 1
    images.log(images.transmissions, name)
    return image


def _image_of(machine: Machine, fields: Fields) -> Image | None:
    images = machine.images
    number = _number(fields, "I")
    if number:
        with_number = [image for image in images.transmitted.values() if image.number == number]
        return with_number[-1] if with_number else None
    return images.transmitted.get(_number(fields, "i"))


def _place(machine: Machine, fields: Fields, image: Image) -> None:
    page = machine.page
    columns, rows = _cells(machine, fields, image)
    virtual = fields.get("U") == "1"
    x = min(page.x, page.columns - 1)
    placement = Placement(
        image.id, _number(fields, "p"), page.passed + page.y, x, columns, rows, virtual, _number(fields, "z")
    )
    placements = machine.images.placements
    key = (image.id, placement.placement)
    if not placement.placement and not virtual:
        machine.images.anonymous += 1
        key = (image.id, -machine.images.anonymous)  # without an id each one is different
    placements[key] = placement
    if len(placements) > LOG_SIZE:
        del placements[next(iter(placements))]
        machine.images.dropped += 1
    if not virtual and fields.get("C") != "1":
        advance(machine, columns, rows)


def advance(machine: Machine, columns: int, rows: int) -> None:
    """Move the cursor behind the last row of an image, scrolling the screen if needed."""
    page = machine.page
    x = min(page.x, page.columns - 1) + columns
    for _ in range(rows - 1):
        page.index(machine.blank)
    if x >= page.columns:
        page.index(machine.blank)
        x = 0
    page.x = x


def _cells(machine: Machine, fields: Fields, image: Image) -> tuple[int, int]:
    width, height = machine.answers.cell_pixels if machine.answers is not None else (9, 18)
    columns, rows = _number(fields, "c"), _number(fields, "r")
    pixels_wide = _number(fields, "w") or image.width or width
    pixels_high = _number(fields, "h") or image.height or height
    if not columns and not rows:
        return -(-pixels_wide // width), -(-pixels_high // height)
    if not rows:
        rows = max(-(-columns * width * pixels_high // (pixels_wide * height)), 1)
    if not columns:
        columns = max(-(-rows * height * pixels_wide // (pixels_high * width)), 1)
    return columns, rows


def _delete(machine: Machine, fields: Fields) -> None:
    """By the letter after `d=`; a capital also frees the pixels if no placement needs them."""
    images, page = machine.images, machine.page
    what = fields.get("d", "a")
    letter = what.lower()
    if letter == "a":
        gone = [key for key, at in images.placements.items() if at.row + at.rows > page.passed]
        names = {key[0] for key in gone} if what == "a" else set(images.transmitted)
    elif letter in ("i", "n"):
        image = _image_of(
            machine, {"I" if letter == "n" else "i": fields.get("I" if letter == "n" else "i", "")}
        )
        names = {image.id} if image is not None else set()
        wanted = _number(fields, "p")
        gone = [key for key in images.placements if key[0] in names and (not wanted or key[1] == wanted)]
    elif letter == "r":
        first, last = _number(fields, "x"), _number(fields, "y")
        names = {name for name in images.transmitted if first <= name <= last}
        gone = [key for key in images.placements if key[0] in names]
    else:
        images.errors.append(f"a deletion by {what} is not kept book of")
        del images.errors[:-100]
        return
    for key in gone:
        del images.placements[key]
    if what.isupper():
        used = {key[0] for key in images.placements}
        for name in sorted(names - used):
            if images.transmitted.pop(name, None) is not None:
                images.log(images.deleted, name)


def _answer(machine: Machine, fields: Fields, message: str) -> None:
    """Only commands with an image id are answered; `q` silences success (1) or everything (2)."""
    quiet = _number(fields, "q")
    named = [f"{key}={fields[key]}" for key in ("i", "I", "p") if fields.get(key)]
    if named and not (quiet >= 2 or (quiet == 1 and message == "OK")):
        machine.reply(f"\x1b_G{','.join(named)};{message}\x1b\\")


def _number(fields: Fields, key: str) -> int:
    value = fields.get(key, "")
    return int(value[:12]) if value.isdigit() else 0


def _png_size(payload: str) -> tuple[int, int] | None:
    try:
        head = base64.b64decode(payload[:44] + "=" * (-len(payload[:44]) % 4))
    except ValueError:
        return None
    if not head.startswith(_PNG) or len(head) < 24:
        return None
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def file_image(machine: Machine, data: str) -> None:
    """OSC 1337 ; File=key=value;... : base64"""
    head, _, payload = data.partition(":")
    if not head.startswith("File="):
        return
    fields = dict(item.split("=", 1) for item in head.removeprefix("File=").split(";") if "=" in item)
    if fields.get("inline") != "1":
        return
    cell = machine.answers.cell_pixels if machine.answers is not None else (9, 18)
    size = _png_size(payload) or (0, 0)
    columns = _file_cells(fields.get("width", "auto"), size[0], cell[0], machine.columns)
    rows = _file_cells(fields.get("height", "auto"), size[1], cell[1], machine.height)
    _inline(machine, "iterm2", columns, rows, len(payload))
    if fields.get("doNotMoveCursor") != "1":
        advance(machine, columns, rows)


def _file_cells(asked: str, pixels: int, cell: int, whole: int) -> int:
    """`5` cells, `90px`, `50%` of the screen, or `auto`."""
    number = re.match(r"\d+", asked)
    if number is None:
        return max(-(-pixels // cell), 1)
    amount = int(number[0][:9])
    if asked.endswith("px"):
        return max(-(-amount // cell), 1)
    return max(amount * whole // 100, 1) if asked.endswith("%") else max(amount, 1)


def sixel_image(machine: Machine, data: str) -> None:
    """Its size is declared or drawn. The cursor stays in its column, on the last row."""
    cell = machine.answers.cell_pixels if machine.answers is not None else (9, 18)
    raster = _RASTER.match(data)
    if raster is not None:
        width, height = int(raster[1][:9]), int(raster[2][:9])
    else:
        bands = data.rstrip("-").split("-")
        width, height = max(map(_sixel_width, bands)), 6 * len(bands)
    columns, rows = max(-(-width // cell[0]), 1), max(-(-height // cell[1]), 1)
    _inline(machine, "sixel", columns, rows, len(data))
    page = machine.page
    page.x = min(page.x, page.columns - 1)
    for _ in range(rows - 1):
        page.index(machine.blank)


def _sixel_width(band: str) -> int:
    """The widest layer of a band: each sixel is one column, `!n` repeats it."""
    widest = 0
    for layer in band.split("$"):
        drawn = re.sub(r"#[\d;]*", "", layer)
        repeated = sum(int(count[:9]) - 1 for count in re.findall(r"!(\d+)[?-~]", drawn))
        widest = max(widest, repeated + len(re.findall(r"[?-~]", drawn)))
    return widest


def _inline(machine: Machine, protocol: str, columns: int, rows: int, size: int) -> None:
    page, inline = machine.page, machine.images.inline
    inline.append(Inline(protocol, page.passed + page.y, min(page.x, page.columns - 1), columns, rows, size))
    if len(inline) > LOG_SIZE:
        del inline[0]
        machine.images.dropped += 1
