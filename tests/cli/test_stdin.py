"""Piped input, read to its end."""

import asyncio
import os
from collections.abc import Iterator

import pytest

from tau.base.errors import UsageError
from tau.cli import stdin

Pipe = tuple[int, int]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    reading, writing = os.pipe()
    monkeypatch.setattr(stdin, "STDIN", reading)
    yield reading, writing
    os.close(reading)


def send(pipe: Pipe, data: bytes) -> None:
    os.write(pipe[1], data)
    os.close(pipe[1])


def test_all_input_is_read_however_it_arrives(pipe: Pipe) -> None:
    async def main() -> str:
        loop = asyncio.get_running_loop()
        loop.call_later(0.01, os.write, pipe[1], "hällo\n".encode())
        loop.call_later(0.02, send, pipe, b"world\n")
        return await stdin.read_piped_text()

    assert asyncio.run(main()) == "hällo\nworld\n"


@pytest.mark.parametrize(
    ("data", "text"),
    ((b"", ""), ("\ufeffhi".encode(), "hi"), ("hi".encode("utf-16"), "hi"), (b"caf\xe9\n", "caf\ufffd\n")),
)
def test_text_is_decoded_and_invalid_bytes_are_tolerated(pipe: Pipe, data: bytes, text: str) -> None:
    send(pipe, data)
    assert asyncio.run(stdin.read_piped_text()) == text


def test_binary_data_is_refused(pipe: Pipe) -> None:
    send(pipe, b"\x7fELF\0\0\0")
    with pytest.raises(UsageError, match="not text"):
        asyncio.run(stdin.read_piped_text())


def test_too_much_is_refused(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdin, "MAX_BYTES", 1000)
    send(pipe, b"x" * 1001)
    with pytest.raises(UsageError, match="put it in a file"):
        asyncio.run(stdin.read_piped_text())


def test_terminal_and_dev_null_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    keyboard, terminal = os.openpty()
    nothing = os.open(os.devnull, os.O_RDONLY)
    try:
        for fd in (terminal, nothing):
            monkeypatch.setattr(stdin, "STDIN", fd)
            assert asyncio.run(stdin.read_piped_text()) == ""
    finally:
        for fd in (keyboard, terminal, nothing):
            os.close(fd)


def test_pipe_that_stays_open_is_mentioned(
    pipe: Pipe, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stdin, "REMARK_AFTER_S", 0.01)

    async def main() -> str:
        asyncio.get_running_loop().call_later(0.05, send, pipe, b"late")
        return await stdin.read_piped_text()

    assert asyncio.run(main()) == "late"
    assert capsys.readouterr().err.startswith("tau: Waiting for piped input to end")
