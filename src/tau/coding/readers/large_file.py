"""Read a requested part of a very large file, and nothing beyond it; without tag or total."""

from pathlib import Path

from tau.agent.ports import FileSystem
from tau.base.errors import ToolError
from tau.base.sizes import KIB, MIB, format_bytes
from tau.base.text import is_binary
from tau.coding.files.paths import LineRange, Selector
from tau.coding.output import OutputLimits, take, with_notice
from tau.coding.readers.text import GAP, LINES_AFTER, LINES_BEFORE, TextPage

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
        found = await scan.take(room if span.last is None else min(span.last - first + 1, room))
        if found and rows:
            rows.append(GAP)
            numbers.append(0)
        numbers += range(first, first + len(found))
        rows += found if selector.raw else [f"{first + at}:{line}" for at, line in enumerate(found)]
    if not rows:
        beyond = f"[Nothing there: {name} ends with line {scan.number - 1}]"
        return TextPage(text=beyond, total_lines=scan.number - 1)
    shown = take(rows, LIMITS).lines
    last = max(numbers[: len(shown)])
    more = "" if scan.ended and last == max(numbers) else f"; continue with {name}:{last + 1}-"
    told = f"[A part of {format_bytes(size)}, too large for edits by line{more}]"
    return TextPage(
        text=with_notice("\n".join(shown), told), total_lines=0, ranges=_ranges(numbers[: len(shown)])
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
        found: list[bytes] = []
        while len(found) < count:
            *complete, rest = self.buffer.split(b"\n", count - len(found))
            found += complete
            self.number += len(complete)
            self.buffer = rest
            if len(found) == count:
                break
            if len(rest) > CHUNK_BYTES:
                found.append(rest)
                await self.skip_to(self.number + 1)
            elif not await self.fill():
                if rest:
                    found.append(rest)
                    self.buffer = b""
                    self.number += 1
                break
        return [line.decode("utf-8", "replace").removesuffix("\r") for line in found]
