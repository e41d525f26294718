"""A shell that lives on between commands: its state, its answers, its end and what comes after it."""

import asyncio
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from tau.backends.shell.session import ShellSession
from tau.base.run import Exit, Limits, LocalRunner
from tests.backends.shell.runs import BASH, done, ends, in_session, lives, session_in, until

SHELLS = [BASH, *([zsh] if (zsh := shutil.which("zsh")) else [])]
LOST = "The shell ended with this command; the next one has the state from before it."


@pytest.fixture(params=SHELLS, ids=lambda path: Path(path).name)
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def texts(folder: Path, *commands: str, shell: str = BASH) -> list[str]:
    async def body(session: ShellSession) -> list[str]:
        return [(await done(session, command)).text for command in commands]

    found: list[str] = in_session(folder, body, shell=shell)
    return found


def test_folder_variables_functions_and_aliases_live_on(tmp_path: Path, shell: str) -> None:
    (tmp_path / "sub").mkdir()
    first = "cd sub; x=1; export Y=2; greet() { echo hello $1; }; alias hi='echo hi'"
    assert texts(tmp_path, first, "pwd; echo $x $Y; greet you; hi there", shell=shell) == [
        "",
        f"{tmp_path}/sub\n1 2\nhello you\nhi there\n",
    ]


def test_arrays_and_options_live_on(tmp_path: Path) -> None:
    assert texts(tmp_path, "a=(1 2 'x y'); shopt -s nullglob", "echo ${#a[@]} ${a[2]}; echo none-*") == [
        "",
        "3 x y\n\n",
    ]


def test_every_exit_code_is_told(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> list[Exit]:
        commands = ("true", "false", "sh -c 'exit 77'", "sh -c 'kill -TERM $$'", "no-such-command-anywhere")
        return [(await done(session, command)).exit for command in commands]

    found = in_session(tmp_path, body, shell=shell)
    assert [exited.code for exited in found] == [0, 1, 77, 143, 127]
    assert not any(exited.timed_out or exited.signal for exited in found)


@pytest.mark.parametrize("command", ["exit 3", "set -e; (exit 3); echo not reached", "exec sh -c 'exit 3'"])
def test_a_command_that_ends_the_shell_leaves_the_state_from_before_it(
    tmp_path: Path, shell: str, command: str
) -> None:
    (tmp_path / "sub").mkdir()

    async def body(session: ShellSession) -> None:
        await done(session, "cd sub; x=before; f() { echo f; }; export Y='a  b'")
        ended = await done(session, f"x=during; cd /; {command}")
        assert (ended.exit, ended.text, ended.notes) == (Exit(code=3), "", [LOST])
        after = await done(session, 'pwd; echo $x "$Y"; f')
        assert after.text == f"{tmp_path}/sub\nbefore a  b\nf\n"
        assert not after.notes

    in_session(tmp_path, body, shell=shell)


def test_a_shell_that_kills_itself_is_told_by_its_signal(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        ended = await done(session, "echo last; kill -KILL $$")
        assert (ended.text, ended.exit) == ("last\n", Exit(code=None, signal=signal.SIGKILL))
        assert (await done(session, "echo on")).text == "on\n"

    in_session(tmp_path, body)


def test_a_shell_that_somebody_ends_between_two_commands_is_replaced(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        for _ in range(3):
            pid = int((await done(session, "x=$((x+1)); echo $$")).text)
            await done(session, "true", beside=True)  # by then the state is saved
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: not lives(pid))  # type: ignore[misc]
            await asyncio.sleep(0.01)
        assert (await done(session, "echo $x")).text == "3\n"

    in_session(tmp_path, body)


def test_a_time_limit_ends_the_command_and_keeps_the_state(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> None:
        await done(session, "x=kept")
        late = await done(session, "echo begun; sleep 60; echo next", limits=Limits(timeout=0.3))
        assert late.exit.timed_out
        assert (late.text, late.notes) == ("begun\n", [LOST])
        assert (await done(session, "echo $x")).text == "kept\n"

    in_session(tmp_path, body, shell=shell)


def test_a_loop_of_the_shell_itself_can_be_stopped(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> None:
        late = await done(session, "while :; do :; done", limits=Limits(timeout=0.2))
        assert late.exit.timed_out
        assert (await done(session, "echo on")).text == "on\n"

    in_session(tmp_path, body, shell=shell)


def test_strict_mode_ends_with_its_command(tmp_path: Path, shell: str) -> None:
    commands = ("set -euo pipefail; set -x; true", "false; false | true && echo ${unset_one}on")
    assert texts(tmp_path, *commands, shell=shell)[1] == "on\n"


def test_variables_of_a_call_end_with_it(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> list[str]:
        env = {"GREETING": "it's $HOME", "OTHER": ""}
        first = await done(session, 'echo "$GREETING"; env | grep ^GREETING=; x=1', env=env)
        return [first.text, (await done(session, 'echo "-$GREETING-$x-"')).text]

    assert in_session(tmp_path, body, shell=shell) == ["it's $HOME\nGREETING=it's $HOME\n", "--1-\n"]


def test_a_folder_is_for_one_call_or_to_stay(tmp_path: Path, shell: str) -> None:
    there = tmp_path / "it's there"
    there.mkdir()

    async def body(session: ShellSession) -> list[str]:
        once = await done(session, "pwd", cwd=there)
        back = await done(session, "pwd")
        stays = await done(session, "pwd", cwd=there, stay=True)
        assert session.cwd == there
        return [each.text.strip() for each in (once, back, stays, await done(session, "pwd"))]

    assert in_session(tmp_path, body, shell=shell) == [str(one) for one in (there, tmp_path, there, there)]


def test_a_folder_that_cannot_be_entered_is_the_commands_failure(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        failed = await done(session, "echo not here", cwd=tmp_path / "none")
        assert failed.exit.code == 1
        assert "none" in failed.text and "not here" not in failed.text

    in_session(tmp_path, body)


def test_a_folder_that_is_gone_sends_the_shell_home(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()

    async def body(session: ShellSession) -> None:
        await done(session, "x=1; cd gone; rmdir ../gone")
        back = await done(session, "pwd; echo $x")
        assert back.text == f"{tmp_path}\n1\n"
        assert back.notes == [f"{tmp_path}/gone is gone; the shell is back in {tmp_path}."]
        assert (await done(session, "pwd")).text == f"{tmp_path}\n"

    in_session(tmp_path, body)


def test_without_a_home_folder_nothing_runs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    async def body(session: ShellSession) -> None:
        home.rmdir()
        with pytest.raises(FileNotFoundError) as caught:
            await session.start("pwd")
        assert caught.value.filename == str(home)

    in_session(home, body)


def test_commands_have_no_input_no_terminal_and_none_of_our_channels(tmp_path: Path, shell: str) -> None:
    command = "cat; tty; echo $PAGER $TERM; ls /proc/self/fd | wc -l"
    (found,) = texts(tmp_path, command, shell=shell)
    assert found.split() == ["not", "a", "tty", "cat", "dumb", "4"]


def test_lines_are_counted_as_in_a_script(tmp_path: Path) -> None:
    (found,) = texts(tmp_path, "echo a\n\nno-such-command")
    assert found == f"a\n{BASH}: line 3: no-such-command: command not found\n"


def test_text_that_is_no_command_is_an_error_of_its_own(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> None:
        for broken in ("if", "echo $((", "echo 'open", "}"):
            assert (await done(session, broken)).exit.code not in (0, None)
        assert (await done(session, "echo fine")).text == "fine\n"

    in_session(tmp_path, body, shell=shell)


def test_long_commands_and_any_text_arrive_whole(tmp_path: Path, shell: str) -> None:
    word = "ä'\"\\$x\t" * 20_000
    (tmp_path / "word").write_text(word)
    command = f"cat >copy <<'END OF IT'\n{word}\nEND OF IT\ncmp copy word; echo done"
    (found,) = texts(tmp_path, command, shell=shell)
    assert found.endswith("done\n")
    assert (tmp_path / "copy").read_text() == word + "\n"


def test_redirections_for_the_whole_shell_end_with_the_command(tmp_path: Path, shell: str) -> None:
    commands = ("exec >out 2>&1; echo into the file", "echo seen", "exec 10>&1 11>&2 2>&-; echo x", "echo y")
    if not shell.endswith("bash"):
        commands = commands[:2]
    found = texts(tmp_path, *commands, shell=shell)
    assert found == ["", "seen\n", "x\n", "y\n"][: len(commands)]
    assert (tmp_path / "out").read_text() == "into the file\n"


def test_functions_with_the_names_of_builtins_do_not_confuse_us(tmp_path: Path, shell: str) -> None:
    traps = "; ".join(f"{name}() {{ echo trapped; }}" for name in ("cd", "printf", "pwd", "set", "read"))
    assert texts(tmp_path, traps, "echo $PWD", "echo on", shell=shell) == ["", f"{tmp_path}\n", "on\n"]


def test_commands_at_the_same_time_run_beside_each_other_and_share_the_state(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        await done(session, "x=1; f() { echo f; }")
        wait = "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done; echo {0} $x; f; x={0}"
        pairs = [("a", "b"), ("b", "a")]
        both = await asyncio.gather(*(done(session, wait.format(*pair)) for pair in pairs))
        assert [each.text for each in both] == ["a 1\nf\n", "b 1\nf\n"]
        assert (await done(session, "echo $x")).text == "a\n"  # the one that had the session's own shell

    in_session(tmp_path, body)


def test_a_fresh_shell_knows_nothing_and_tells_nothing(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> list[str]:
        await done(session, "x=1")
        fresh = await done(session, "echo -$x-; x=2; exit 4", fresh=True)
        assert (fresh.exit, fresh.notes) == (Exit(code=4), [])
        beside = await done(session, "echo -$x-; x=3", beside=True, env={"x": "given"})
        return [fresh.text, beside.text, (await done(session, "echo -$x-")).text]

    assert in_session(tmp_path, body, shell=shell) == ["--\n", "-given-\n", "-1-\n"]


def test_a_shell_that_cannot_live_on_runs_each_command_afresh(tmp_path: Path) -> None:
    assert texts(tmp_path, "x=1; echo one", "echo -$x-", shell="/bin/sh") == ["one\n", "--\n"]


def test_a_command_that_is_let_go_keeps_its_shell_and_others_get_another(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        await done(session, "x=1")
        running = await session.start("while [ ! -e go ]; do sleep 0.01; done; echo went $x; x=2")
        session.detach(running)
        assert (await done(session, "echo $x; touch go")).text == "1\n"
        async with running.process as process:
            assert b"".join([chunk async for chunk in process.output()]) == b"went 1\n"
        assert running.notes() == []
        assert (await done(session, "echo $x")).text == "1\n"

    in_session(tmp_path, body)


def test_background_processes_live_until_the_session_ends_wherever_they_went(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    commands = [
        "sleep 999 & echo $! >>pids",
        "nohup sh -c 'echo $$ >>pids; exec sleep 999' >/dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1; done' &) >/dev/null 2>&1",
    ]

    async def body(session: ShellSession) -> list[int]:
        for command in commands:
            await done(session, command)
        await done(session, "sh -c 'echo $$ >>pids; exec sleep 999' &", fresh=True)
        await until(lambda: pids.exists() and pids.read_text().count("\n") == 4)
        found = [int(pid) for pid in pids.read_text().split()]
        assert all(lives(pid) for pid in found)
        return found

    assert all(ends(pid) for pid in in_session(tmp_path, body))


def test_a_process_without_our_marks_outlives_the_session(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> int:
        command = (
            "env -u TAU_FAMILY -u TAU_RUN setsid sh -c 'echo $$ >pid; exec sleep 999' & sleep 0.2; cat pid"
        )
        return int((await done(session, command)).text)

    pid = in_session(tmp_path, body)
    assert lives(pid)
    os.kill(pid, signal.SIGKILL)
    assert ends(pid)


def test_an_abort_ends_what_the_command_started_and_spares_what_was_there_before(tmp_path: Path) -> None:
    pids = tmp_path / "pids"

    async def body(session: ShellSession) -> None:
        older = int((await done(session, "sleep 999 & echo $!")).text)
        inside = int((await done(session, "(while :; do sleep 1; done) & echo $!")).text)
        await asyncio.sleep(0.05)  # more than a tick of the clock by which the kernel counts starts
        command = (
            "echo $$ >>pids; sleep 999 & echo $! >>pids; (while :; do sleep 1; done) & echo $! >>pids; "
            "setsid sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1; done' & "
            "while [ $(wc -l <pids) -lt 4 ]; do sleep 0.01; done; touch ready; sleep 999"
        )
        task = asyncio.ensure_future(done(session, command))
        await until((tmp_path / "ready").exists)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert all(ends(int(pid)) for pid in pids.read_text().split())
        assert lives(older) and lives(inside)

    in_session(tmp_path, body)


def test_where_processes_cannot_be_told_apart_an_abort_ends_all_of_the_shells_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.base.marked_processes.can_be_found", lambda: False)

    async def body(session: ShellSession) -> None:
        older = int((await done(session, "x=1; sleep 999 & echo $!")).text)
        late = await done(session, "sleep 999", limits=Limits(timeout=0.2))
        assert late.exit.timed_out
        assert ends(older)
        assert (await done(session, "echo $x")).text == "1\n"

    in_session(tmp_path, body)


def test_what_is_written_in_the_background_appears_in_no_other_output(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        command = "(while :; do echo noise; echo x >>beats; sleep 0.01; done) & echo $!"
        said = (await done(session, command)).text.split()
        writer = int(next(word for word in said if word.isdecimal()))  # its first noise may come before
        beats = tmp_path / "beats"
        for _ in range(3):
            assert (await done(session, "echo clean; sleep 0.02")).text == "clean\n"
        seen = beats.stat().st_size
        await until(lambda: beats.stat().st_size > seen + 20)  # and it is not ended by writing
        assert lives(writer)

    in_session(tmp_path, body)


def test_a_job_of_an_earlier_command_can_be_waited_for(tmp_path: Path) -> None:
    commands = ("sh -c 'sleep 0.1; exit 5' & pid=$!", "wait $pid; echo $?", "sleep 999 &", "kill %1; echo ok")
    assert texts(tmp_path, *commands)[1::2] == ["5\n", "ok\n"]


def test_the_end_of_the_session_lets_the_shell_say_goodbye(tmp_path: Path) -> None:
    texts(tmp_path, "trap 'echo bye >goodbye' EXIT")
    assert (tmp_path / "goodbye").read_text() == "bye\n"


def test_nothing_is_started_before_the_first_command(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        assert session.cwd == tmp_path
        assert not list(temporary.iterdir())

    temporary = tmp_path / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)
    in_session(tmp_path, body)


def test_outside_its_block_a_session_runs_nothing(tmp_path: Path) -> None:
    session = ShellSession(LocalRunner(shell=BASH), cwd=tmp_path)
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(session.start("true"))


def test_sessions_after_each_other_in_one_object_are_apart(tmp_path: Path) -> None:
    async def main() -> list[str]:
        runner = LocalRunner(shell=BASH)
        session = ShellSession(runner, cwd=tmp_path)
        found = []
        for _ in range(2):
            async with session:
                found.append((await done(session, "echo -$x-; x=1")).text)
        runner.close()
        return found

    assert asyncio.run(main()) == ["--\n", "--\n"]


def leftovers(temporary: Path) -> tuple[int, int, int]:
    """How many open files, temporary files and tasks there are."""
    folder = Path("/proc/self/fd") if Path("/proc/self/fd").exists() else Path("/dev/fd")
    return len(list(folder.iterdir())), len(list(temporary.rglob("*"))), len(asyncio.all_tasks())


async def steady_leftovers(temporary: Path) -> tuple[int, int, int]:
    """The same, once nothing is being tidied up any more."""
    found = leftovers(temporary)
    while True:
        await asyncio.sleep(0.03)
        before, found = found, leftovers(temporary)
        if found == before:
            return found


async def many(session: ShellSession, count: int, temporary: Path) -> None:
    options: list[dict[str, Any]] = [{}, {}, {}, {"fresh": True}, {"beside": True}]
    commands = [
        "echo x",
        "x=$((x+1))",
        "exit 3",
        "sleep 0.01 & echo bg",
        "yes | head -c 200000",
        "echo 'open",
    ]
    await done(session, "true")
    await done(session, "true", fresh=True)
    before = await steady_leftovers(temporary)
    for n in range(count):
        await done(session, commands[n % len(commands)], **options[n % len(options)])
    await done(session, "true")
    await until(lambda: leftovers(temporary) == before)
    assert await steady_leftovers(temporary) == before


@pytest.mark.parametrize("count", [100, pytest.param(1_000, marks=pytest.mark.soak)])
def test_many_commands_leave_no_file_task_or_process_behind(tmp_path: Path, count: int) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)

    async def main() -> None:
        before = leftovers(temporary)
        async with session_in(tmp_path) as session:
            await many(session, count, temporary)
        assert leftovers(temporary) == before

    asyncio.run(main())
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
