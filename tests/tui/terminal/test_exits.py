"""Whatever ends or stops a program, the terminal is restored."""

import signal
import termios

import pytest

from tests.tui.terminal.pty_child import HEAD, RUN, answers_like_a_modern_terminal, assert_as_found, pty_child


def test_answers_arriving_while_stopping_do_not_reach_the_shell() -> None:
    with pty_child(RUN) as child:
        child.answer = answers_like_a_modern_terminal
        child.until(lambda: b"\x1b[?2048h" in child.shown, "in-band sizes")

        def late(data: bytes) -> bytes:
            # The key that ended the program is released, and sizes still arrive, before the last answer.
            return b"\x1b[113;1:3u\x1b[48;24;80;480;800t\x1b[?62c" if b"\x1b[<u" in data else b""

        child.answer = late
        child.type(b"q")
        assert child.ends() == 0
        assert_as_found(child)


def test_program_that_ends_before_the_first_answers_leaves_none_behind() -> None:
    with pty_child(
        "async def main():\n    terminal, _ = await started()\n    terminal.stop()\nasyncio.run(main())"
    ) as child:
        child.answer = answers_like_a_modern_terminal
        assert child.ends() == 0
        assert_as_found(child)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_terminating_signal_restores_the_terminal(number: signal.Signals) -> None:
    with pty_child(RUN) as child:
        child.answer = answers_like_a_modern_terminal
        child.until(lambda: b"\x1b[?2048h" in child.shown, "in-band sizes")
        child.answer = None
        assert termios.tcgetattr(child.slave) != child.before
        child.process.send_signal(number)
        assert child.ends() == -number
        assert_as_found(child)


def test_signal_in_the_middle_of_python_code_restores_the_terminal() -> None:
    with pty_child(
        "async def main():\n    await started()\n    while True: pass\nasyncio.run(main())"
    ) as child:
        child.wait_for("ready")
        child.process.send_signal(signal.SIGTERM)
        assert child.ends() == -signal.SIGTERM
        assert_as_found(child)


def test_exception_restores_the_terminal() -> None:
    with pty_child(
        "async def main():\n    await started()\n    raise ValueError('oops')\nasyncio.run(main())"
    ) as child:
        assert child.ends() == 1
        assert "oops" in child.errors()
        assert_as_found(child)


def test_exit_without_stop_restores_the_terminal() -> None:
    with pty_child("async def main():\n    await started()\n    sys.exit(7)\nasyncio.run(main())") as child:
        assert child.ends() == 7
        assert_as_found(child)


def test_existing_signal_handler_still_runs() -> None:
    body = """
async def main():
    asked = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, asked.set)
    terminal, watcher = await started()
    await asked.wait()
    log("handled")
    terminal.stop()
    sys.exit(5)
asyncio.run(main())
"""
    with pty_child(body) as child:
        child.wait_for("ready")
        child.process.send_signal(signal.SIGTERM)
        assert child.ends() == 5
        assert ["handled"] in child.log
        assert_as_found(child)


def test_raising_handler_restores_the_terminal() -> None:
    body = """
def leave(number, frame): sys.exit(9)
signal.signal(signal.SIGHUP, leave)
async def main():
    await started()
    await asyncio.sleep(600)
asyncio.run(main())
"""
    with pty_child(body) as child:
        child.wait_for("ready")
        child.process.send_signal(signal.SIGHUP)
        assert child.ends() == 9
        assert_as_found(child)


def test_handlers_are_restored_after_stop() -> None:
    body = """
async def main():
    numbers = (1, 2, 3, 15, signal.SIGWINCH, signal.SIGCONT)
    before = [signal.getsignal(number) for number in numbers]
    terminal, watcher = await started()
    terminal.stop()
    log("same", before == [signal.getsignal(number) for number in numbers])
asyncio.run(main())
"""
    with pty_child(body) as child:
        assert child.ends() == 0
        assert ["same", True] in child.log


def test_forked_child_leaves_the_terminal_alone() -> None:
    body = """
async def main():
    terminal, watcher = await started()
    pid = os.fork()
    if not pid:
        sys.exit(0)
    os.waitpid(pid, 0)
    log("raw", termios.tcgetattr(0)[3] & termios.ICANON == 0)
    terminal.stop()
asyncio.run(main())
"""
    with pty_child(body) as child:
        child.wait_for("raw", True)
        assert child.ends() == 0
        assert_as_found(child)


def test_hangup_is_reported_once_and_listening_stops() -> None:
    body = """
signal.signal(signal.SIGHUP, signal.SIG_IGN)
async def main():
    terminal, watcher = await started()
    await watcher.done.wait()
    terminal.write("nobody reads this")
    await asyncio.sleep(0.05)
    loop = asyncio.get_running_loop()
    log("listens", loop.remove_reader(0) or loop.remove_writer(1))
    terminal.stop()
    terminal.write("nor this")
asyncio.run(main())
"""
    with pty_child(body) as child:
        child.wait_for("ready")
        child.hang_up()
        assert child.ends() == 0
        assert child.log.count(["closed"]) == 1
        assert ["listens", False] in child.log
        assert child.errors() == ""


def test_unhandled_hangup_ends_the_program() -> None:
    with pty_child(RUN) as child:
        child.wait_for("ready")
        child.hang_up()
        assert child.ends() in (-signal.SIGHUP, 0)


SUSPENDS = """
async def main():
    terminal, watcher = await started()
    await watcher.done.wait()
    watcher.done.clear()
    terminal.suspend()
    log("resumed")
    await watcher.done.wait()
    terminal.stop()
asyncio.run(main())
"""
# The session leader plays the shell: it starts the program as a foreground job, sees it stop,
# takes the terminal back until a line is typed, and continues the job.
SHELL = """
pid = os.fork()
if not pid:
    os.setpgid(0, 0)
    os.execv(sys.executable, [sys.executable, "-c", PROGRAM, str(LOG)])
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
try: os.setpgid(pid, pid)
except OSError: pass
os.tcsetpgrp(0, pid)
_, status = os.waitpid(pid, os.WUNTRACED)
log("stopped", os.WIFSTOPPED(status))
os.tcsetpgrp(0, os.getpgrp())
sys.stdin.readline()
os.tcsetpgrp(0, pid)
os.killpg(pid, signal.SIGCONT)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def test_suspend_releases_and_resume_reacquires_the_terminal() -> None:
    with pty_child(f"PROGRAM = {HEAD + SUSPENDS!r}\n{SHELL}") as child:
        child.wait_for("ready")
        child.type(b"q")
        child.wait_for("stopped", True)
        assert termios.tcgetattr(child.slave) == child.before
        child.type(b"fg\n")
        child.wait_for("resumed")
        assert termios.tcgetattr(child.slave) != child.before
        child.type(b"xq")
        assert child.ends() == 0
        assert ["key", "x"] in child.log
        assert_as_found(child)


def test_outside_stop_and_continue_takes_the_terminal_back() -> None:
    with pty_child(RUN) as child:
        child.wait_for("ready")
        child.process.send_signal(signal.SIGSTOP)
        termios.tcsetattr(child.slave, termios.TCSANOW, child.before)  # like a shell
        child.process.send_signal(signal.SIGCONT)
        child.wait_for("size", 80, 24)
        assert termios.tcgetattr(child.slave) != child.before
        child.type(b"q")
        assert child.ends() == 0
        assert termios.tcgetattr(child.slave) == child.before
