"""Lines from pipes, files and terminals, read through the event loop."""

import asyncio
import os
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from tau.base.errors import TauError
from tau.modes import line_input as lines_module
from tau.modes.line_input import InputInterrupted, LineReader


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    for fd in (reading, writing):
        try:
            os.close(fd)
        except OSError:
            assert fd == writing  # the test has closed it


def run(main: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return asyncio.run(main())


async def all_lines(lines: LineReader) -> list[str]:
    found = []
    while (line := await lines.next()) is not None:
        found.append(line)
    return found


def test_lines_come_without_endings_and_the_last_needs_none(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], "one\r\ntwö\n\nlast".encode())
    os.close(pipe[1])
    assert run(lambda: all_lines(LineReader(pipe[0]))) == ["one", "twö", "", "last"]


def test_regular_file_and_dev_null_are_readable(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x\n" * 50_000)
    for path, expected in ((str(tmp_path / "a"), ["x"] * 50_000), (os.devnull, [])):
        fd = os.open(path, os.O_RDONLY)
        try:
            assert asyncio.run(all_lines(LineReader(fd))) == expected
        finally:
            os.close(fd)


def test_character_split_across_reads_is_joined(pipe: tuple[int, int]) -> None:
    async def main() -> list[str]:
        lines = LineReader(pipe[0])
        loop = asyncio.get_running_loop()
        os.write(pipe[1], "é".encode()[:1])
        loop.call_later(0.01, os.write, pipe[1], "é".encode()[1:] + b"\n")
        loop.call_later(0.02, os.close, pipe[1])
        return await all_lines(lines)

    assert run(main) == ["é"]


def test_nothing_is_read_before_a_wait(pipe: tuple[int, int]) -> None:
    async def main() -> bytes:
        lines = LineReader(pipe[0])
        os.write(pipe[1], b"one\n")
        assert await lines.next() == "one"
        os.write(pipe[1], b"for another program\n")
        await asyncio.sleep(0.01)
        return os.read(pipe[0], 100)

    assert run(main) == b"for another program\n"


def test_latest_waiter_is_served_first(pipe: tuple[int, int]) -> None:
    async def main() -> tuple[str | None, str | None]:
        lines = LineReader(pipe[0])
        async with asyncio.TaskGroup() as tasks:
            first = tasks.create_task(lines.next())
            await asyncio.sleep(0)
            second = tasks.create_task(lines.next())
            await asyncio.sleep(0)
            os.write(pipe[1], b"answer\n")
            await second
            os.write(pipe[1], b"message\n")
        return first.result(), second.result()

    assert run(main) == ("message", "answer")


def test_cancelled_wait_loses_no_line(pipe: tuple[int, int]) -> None:
    async def main() -> list[str]:
        lines = LineReader(pipe[0])
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(lines.next())
            await asyncio.sleep(0)
            os.write(pipe[1], b"one\ntwo\n")
            lines._read()
            waiting.cancel()
        os.close(pipe[1])
        return await all_lines(lines)

    assert run(main) == ["one", "two"]


def test_interrupt_reaches_the_waiter_and_reading_continues(pipe: tuple[int, int]) -> None:
    async def main() -> str | None:
        lines = LineReader(pipe[0])
        lines.interrupt()  # nobody waits: nothing happens
        asyncio.get_running_loop().call_soon(lines.interrupt)
        with pytest.raises(InputInterrupted):
            await lines.next()
        os.write(pipe[1], b"still here\n")
        return await lines.next()

    assert run(main) == "still here"


def test_closing_ends_the_input_for_all_waiters(pipe: tuple[int, int]) -> None:
    async def main() -> list[str | None]:
        lines = LineReader(pipe[0])
        async with asyncio.TaskGroup() as tasks:
            waiting = [tasks.create_task(lines.next()) for _ in range(2)]
            await asyncio.sleep(0)
            os.write(pipe[1], b"too late\n")
            lines.close()
        return [task.result() for task in waiting] + [await lines.next()]

    assert run(main) == [None, None, None]


def test_endless_line_is_skipped_and_the_next_one_is_read(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines_module, "MAX_LINE_BYTES", 1000)
    os.write(pipe[1], b"x" * 1500 + b"yyy\nnext\n")
    monkeypatch.setattr(lines_module, "CHUNK_BYTES", 700)

    async def main() -> list[str]:
        lines = LineReader(pipe[0])
        with pytest.raises(TauError, match="Skipped a line longer than"):
            await lines.next()
        os.close(pipe[1])
        return await all_lines(lines)

    assert run(main) == ["next"]


def test_lines_pasted_into_a_terminal_belong_together() -> None:
    async def main() -> tuple[str | None, list[str], list[str]]:
        lines = LineReader(terminal)
        os.write(keyboard, b"one\ntwo\nthree\n")
        first = await lines.next()
        return first, await lines.pasted(), await lines.pasted()

    keyboard, terminal = os.openpty()
    try:
        assert run(main) == ("one", ["two", "three"], [])
    finally:
        os.close(keyboard)
        os.close(terminal)
