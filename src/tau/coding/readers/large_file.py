"""Read a requested part of a very large file, and nothing beyond it; without tag or total."""

from pathlib import Path

from msgspec import UNSET

from tau.agent.ports import FileSystem
from tau.base.errors import ToolError
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import is_binary
from tau.coding.files.paths import LineRange, Selector
from tau.coding.output import OutputLimits, Truncation, take, with_notice
from tau.coding.readers.text import GAP, LINES_AFTER, LINES_BEFORE, TextPage, without_numbers

LARGE_BYTES = 32 * MIB
CHUNK_BYTES = 256 * KIB
LIMITS = OutputLimits()


async def large_page(
    path: Path, name: str, size: int, selector: Selector, first_lines: int, fs: FileSystem
) -> TextPage:
    """Read the selected lines, counting from the start of the file. Raises OSError."""
    scan = _Scan(path, fs)
    if await scan.fill() and is_binary(scan.buffer):
        raise ToolError(
            f"{name} is binary ({format_bytes(size)}), not text; look inside with bash: file, strings, xxd."
        )
    rows: list[str] = []
    numbers: list[int] = []  # of the line in each row; 0 for a gap
    for span in [_with_context(each) for each in selector.ranges] or [LineRange(1, first_lines)]:
        await scan.skip_to(span.first)
        first = scan.number
        room = LIMITS.lines - len(rows)
        lines = await scan.take(room if span.last is None else min(span.last - first + 1, room))
        if lines and rows:
            rows.append(GAP)
            numbers.append(0)
        numbers += range(first, first + len(lines))
        rows += lines if selector.raw else [f"{first + at}:{line}" for at, line in enumerate(lines)]
    if not rows:
        beyond = f"[Nothing there: {name} ends with line {scan.number - 1}]"
        return TextPage(text=beyond, total_lines=scan.number - 1)
    taken = take(rows, LIMITS)
    shown = taken.lines
    last = max(numbers[: len(shown)])
    at_end = scan.ended and last == max(numbers)
    more = "" if at_end else f"; continue with {name}:{last + 1}-"
    note = f"[A part of {format_bytes(size)}, too large for edits by line{more}]"
    ranges = _ranges(numbers[: len(shown)])
    truncation = Truncation(
        kept="head",
        ranges=ranges,
        total_lines=UNSET,
        total_bytes=size,
        shown_bytes=sum(len(line.encode()) + 1 for line in shown),
        cut_lines=taken.cut,
        next_offset=UNSET if at_end else last + 1,
    )
    return TextPage(
        text=with_notice("\n".join(shown), note),
        total_lines=0,
        ranges=ranges,
        truncation=truncation,
        display=without_numbers(shown, raw=selector.raw) if len(ranges) == 1 else None,
    )


def _with_context(span: LineRange) -> LineRange:
    last = None if span.last is None else span.last + LINES_AFTER
    return LineRange(max(span.first - LINES_BEFORE, 1), last)


def _ranges(numbers: list[int]) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if number and ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        elif number:
            ranges.append((number, number))
    return ranges


class _Scan:
    """A single pass over a file. `buffer` starts with line `number`."""

    def __init__(self, path: Path, fs: FileSystem) -> None:
        self._path = path
        self._fs = fs
        self._offset = 0
        self.buffer = b""
        self.number = 1
        self.ended = False

    async def fill(self) -> bool:
        """Read the next chunk; False at the end of the file."""
        chunk = await self._fs.read_part(self._path, self._offset, CHUNK_BYTES)
        self._offset += len(chunk)
        self.buffer += chunk
        self.ended = self.ended or not chunk
        return bool(chunk)

    async def skip_to(self, number: int) -> None:
        while self.number < number:
            missing = number - self.number
            parts = self.buffer.split(b"\n", missing)
            self.number += len(parts) - 1
            self.buffer = parts[-1] if len(parts) > missing else b""
            if len(parts) <= missing and not await self.fill():
                return

    async def take(self, count: int) -> list[str]:
        """Return the next lines, at most `count`, truncating huge ones."""
        lines: list[bytes] = []
        while len(lines) < count:
            *complete, rest = self.buffer.split(b"\n", count - len(lines))
            lines += complete
            self.number += len(complete)
            self.buffer = rest
            if len(lines) == count:
                break
            if len(rest) > CHUNK_BYTES:
                lines.append(rest)
                await self.skip_to(self.number + 1)
            elif not await self.fill():
                if rest:
                    lines.append(rest)
                    self.buffer = b""
                    self.number += 1
                break
        return [line.decode("utf-8", "replace").removesuffix("\r") for line in lines]
