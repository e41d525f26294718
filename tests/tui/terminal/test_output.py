"""Output arrives completely and in order, or the terminal is gone."""

import asyncio
import os
import subprocess
import sys
import termios

from tau.tui.terminal import sequences
from tau.tui.terminal.process_terminal import ProcessTerminal
from tests.tui.terminal.pty_child import (
    assert_as_found,
    pty_child,
)
from tests.tui.terminal.recording_watcher import RecordingWatcher


def test_slow_reader_gets_every_byte_in_order_and_blocks_nobody() -> None:
    body = """
async def main():
    terminal, watcher = await started()
    for number in range(40_000):
        terminal.write(f"line {number}\\r\\n")
    log("backlog", terminal._output.backlog > 0)
    await asyncio.sleep(0)
    log("alive")
    while terminal._output.backlog:
        await asyncio.sleep(0.01)
    log("written")
    await watcher.done.wait()
    terminal.stop()
asyncio.run(main())
"""
    with pty_child(body) as child:
        child.reading = False
        child.wait_for("alive")
        assert ["backlog", True] in child.log
        child.reading = True
        child.wait_for("written")
        child.type(b"q")
        assert child.ends() == 0
        text = b"".join(b"line %d\r\n" % number for number in range(40_000))
        assert text in child.shown.replace(sequences.OTHER_KEYS_ON.encode(), b"").replace(b"\r\r\n", b"\r\n")
        assert_as_found(child)


def test_terminal_that_never_reads_again_does_not_block_exit() -> None:
    body = """
async def main():
    terminal, watcher = await started()
    terminal.write("x" * 500_000)
    terminal.stop()
    log("stopped")
asyncio.run(main())
"""
    with pty_child(body) as child:
        child.reading = False
        child.wait_for("stopped")
        child.until(lambda: child.process.poll() is not None, "end")
        assert termios.tcgetattr(child.slave) == child.before


def test_title_notification_and_clipboard_are_written_and_the_title_restored() -> None:
    body = """
async def main():
    terminal, watcher = await started()
    terminal.set_title("one")
    terminal.set_title("two")
    terminal.notify("tau", "done")
    log("copied", terminal.copy("text"), terminal.copy("x" * 100_000))
    terminal.stop()
asyncio.run(main())
"""
    with pty_child(body, TERM_PROGRAM="iTerm.app") as child:
        assert child.ends() == 0
        assert child.shown.count(b"\x1b[22;0t") == child.shown.count(b"\x1b[23;0t") == 1
        assert b"\x1b]0;two\x1b\\" in child.shown
        assert b"\x1b]9;tau: done\x1b\\" in child.shown
        assert b"\x1b]52;c;dGV4dA==\x07" in child.shown
        assert ["copied", True, False] in child.log


def test_without_a_loop_it_only_writes_and_needs_no_asyncio() -> None:
    code = (
        "import sys\n"
        "from tau.tui.terminal.process_terminal import ProcessTerminal\n"
        "terminal = ProcessTerminal()\n"
        "terminal.write('frame ü\\n')\n"
        "terminal.stop()\n"
        "heavy = {'asyncio', 'termios', 'signal', 'select', 'tau.tui.terminal.active_terminal'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )
    shown = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, check=True, env={"COLUMNS": "77"}
    )
    assert shown.stdout.decode() == "frame ü\n[]\n"


def test_without_a_tty_the_size_comes_from_the_environment() -> None:
    read_end, write_end = os.pipe()
    try:
        terminal = ProcessTerminal(read_end, write_end, env={"COLUMNS": "77", "LINES": "0"})
        assert (terminal.columns, terminal.rows) == (77, 24)
    finally:
        os.close(read_end)
        os.close(write_end)


def test_closed_pipe_closes_the_terminal_once() -> None:
    kept = RecordingWatcher()

    async def main() -> None:
        stdin_read, stdin_write = os.pipe()
        out_read, out_write = os.pipe()
        terminal = ProcessTerminal(stdin_read, out_write, loop=asyncio.get_running_loop(), env={})
        terminal.start(kept)
        os.close(out_read)
        terminal.write("one")
        terminal.write("two")
        assert kept.closed == 0  # never during a write
        await asyncio.sleep(0)
        terminal.stop()
        for fd in (stdin_read, stdin_write, out_write):
            os.close(fd)

    asyncio.run(main())
    assert kept.closed == 1


def test_eof_closes_the_terminal_once_after_earlier_input() -> None:
    kept = RecordingWatcher()

    async def main() -> None:
        stdin_read, stdin_write = os.pipe()
        out_read, out_write = os.pipe()
        terminal = ProcessTerminal(stdin_read, out_write, loop=asyncio.get_running_loop(), env={})
        terminal.start(kept)
        os.write(stdin_write, b"ab\x1b")
        os.close(stdin_write)
        for _ in range(10):
            await asyncio.sleep(0)
        terminal.stop()
        for fd in (stdin_read, out_read, out_write):
            os.close(fd)

    asyncio.run(main())
    assert kept.names == ["a", "b", "escape"]
    assert kept.closed == 1


def test_non_blocking_descriptor_gets_everything_too() -> None:
    text = "".join(f"{number}\n" for number in range(50_000))
    received = b""

    async def main() -> None:
        nonlocal received
        stdin_read, stdin_write = os.pipe()
        out_read, out_write = os.pipe()
        os.set_blocking(out_write, False)
        terminal = ProcessTerminal(stdin_read, out_write, loop=asyncio.get_running_loop(), env={})
        terminal.start(RecordingWatcher())
        for at in range(0, len(text), 1000):
            terminal.write(text[at : at + 1000])
        assert terminal._output.backlog
        while terminal._output.backlog:
            received += await asyncio.to_thread(os.read, out_read, 65536)
            await asyncio.sleep(0)
        terminal.stop()
        os.close(out_write)
        while data := os.read(out_read, 65536):
            received += data
        for fd in (stdin_read, stdin_write, out_read):
            os.close(fd)

    asyncio.run(main())
    assert received.decode() == text
