"""A persistent shell: its state, its results, its end and what follows."""

import asyncio
import os
import shutil
import signal
from pathlib import Path

import pytest

from tau.backends.shell.session import ShellSession
from tau.base.run import Exit, Limits, LocalRunner
from tests.backends.shell.shell_rig import BASH, done, ends, in_session, is_alive, stopped, until

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


def test_folder_variables_functions_and_aliases_persist(tmp_path: Path, shell: str) -> None:
    (tmp_path / "sub").mkdir()
    first = "cd sub; x=1; export Y=2; greet() { echo hello $1; }; alias hi='echo hi'"
    assert texts(tmp_path, first, "pwd; echo $x $Y; greet you; hi there", shell=shell) == [
        "",
        f"{tmp_path}/sub\n1 2\nhello you\nhi there\n",
    ]


def test_half_a_character_matched_any_file_name(tmp_path: Path) -> None:
    (tmp_path / "ab").touch()
    assert texts(tmp_path, "echo a\ud800*") == ["a\ufffd*\n"]


def test_arrays_and_options_persist(tmp_path: Path) -> None:
    assert texts(tmp_path, "a=(1 2 'x y'); shopt -s nullglob", "echo ${#a[@]} ${a[2]}; echo none-*") == [
        "",
        "3 x y\n\n",
    ]


def test_every_exit_code_is_reported(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> list[Exit]:
        commands = ("true", "false", "sh -c 'exit 77'", "sh -c 'kill -TERM $$'", "no-such-command-anywhere")
        return [(await done(session, command)).exit for command in commands]

    found = in_session(tmp_path, body, shell=shell)
    assert [exited.code for exited in found] == [0, 1, 77, 143, 127]
    assert not any(exited.timed_out or exited.signal for exited in found)


@pytest.mark.parametrize("command", ["exit 3", "set -e; (exit 3); echo not reached", "exec sh -c 'exit 3'"])
def test_command_that_exits_the_shell_restores_the_previous_state(
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


def test_self_killed_shell_reports_its_signal(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        ended = await done(session, "echo last; kill -KILL $$")
        assert (ended.text, ended.exit) == ("last\n", Exit(code=None, signal=signal.SIGKILL))
        assert (await done(session, "echo on")).text == "on\n"

    in_session(tmp_path, body)


def test_shell_killed_between_commands_is_replaced(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        for _ in range(3):
            pid = int((await done(session, "x=$((x+1)); echo $$")).text)
            await done(session, "true", beside=True)  # by then the state is saved
            os.kill(pid, signal.SIGKILL)
            await until(lambda pid=pid: not is_alive(pid))  # type: ignore[misc]
            await asyncio.sleep(0.01)
        assert (await done(session, "echo $x")).text == "3\n"

    in_session(tmp_path, body)


def test_time_limit_ends_the_command_and_keeps_the_state(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> None:
        await done(session, "x=kept")
        late = await stopped(session, "echo begun; sleep 600; echo next", 0.3)
        assert late.exit.timed_out
        assert (late.text, late.notes) == ("begun\n", [LOST])
        assert (await done(session, "echo $x")).text == "kept\n"

    in_session(tmp_path, body, shell=shell)


def test_shell_loop_can_be_stopped(tmp_path: Path, shell: str) -> None:
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


def test_folder_applies_to_one_call_or_persists(tmp_path: Path, shell: str) -> None:
    there = tmp_path / "it's there"
    there.mkdir()

    async def body(session: ShellSession) -> list[str]:
        once = await done(session, "pwd", cwd=there)
        back = await done(session, "pwd")
        stays = await done(session, "pwd", cwd=there, stay=True)
        assert session.cwd == there
        return [each.text.strip() for each in (once, back, stays, await done(session, "pwd"))]

    assert in_session(tmp_path, body, shell=shell) == [str(one) for one in (there, tmp_path, there, there)]


def test_inaccessible_folder_fails_the_command(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        failed = await done(session, "echo not here", cwd=tmp_path / "none")
        assert failed.exit.code == 1
        assert "none" in failed.text and "not here" not in failed.text

    in_session(tmp_path, body)


def test_shell_returns_to_the_start_when_its_folder_is_gone(tmp_path: Path) -> None:
    (tmp_path / "gone").mkdir()

    async def body(session: ShellSession) -> None:
        await done(session, "x=1; cd gone")
        (tmp_path / "gone").rmdir()
        back = await done(session, "pwd; echo $x")
        assert back.text == f"{tmp_path}\n1\n"
        assert back.notes == [f"{tmp_path}/gone is gone; the shell is back in {tmp_path}."]
        assert (await done(session, "pwd")).text == f"{tmp_path}\n"

    in_session(tmp_path, body)


@pytest.mark.parametrize("more", ["", "; unset PWD"])
def test_command_that_removes_its_own_folder_says_so(tmp_path: Path, shell: str, more: str) -> None:
    (tmp_path / "gone").mkdir()

    async def body(session: ShellSession) -> None:
        removing = await done(session, f"x=1; cd gone; rmdir ../gone{more}")
        assert (removing.exit.code, len(removing.notes)) == (0, 1)
        assert removing.notes[0].endswith(f" is gone; the next command runs in {tmp_path}.")
        back = await done(session, "/bin/pwd; echo $x")
        assert (back.text, back.notes) == (f"{tmp_path}\n1\n", [])

    in_session(tmp_path, body, shell=shell)


def test_file_written_to_a_recreated_folder_is_there(tmp_path: Path, shell: str) -> None:
    (tmp_path / "build").mkdir()
    texts(tmp_path, "cd build; rm -rf ../build; mkdir ../build", "echo made >file", shell=shell)
    assert (tmp_path / "build" / "file").read_text() == "made\n"


def test_nothing_runs_without_a_start_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()

    async def body(session: ShellSession) -> None:
        home.rmdir()
        with pytest.raises(FileNotFoundError) as caught:
            await session.start("pwd")
        assert caught.value.filename == str(home)

    in_session(home, body)


def test_commands_have_no_stdin_no_terminal_and_none_of_our_descriptors(tmp_path: Path, shell: str) -> None:
    command = "cat; tty; echo $PAGER $TERM; ls /proc/self/fd | wc -l"
    (found,) = texts(tmp_path, command, shell=shell)
    assert found.split() == ["not", "a", "tty", "cat", "dumb", "4"]


def test_line_numbers_count_like_in_a_script(tmp_path: Path) -> None:
    (found,) = texts(tmp_path, "echo a\n\nno-such-command")
    assert found == f"a\n{BASH}: line 3: no-such-command: command not found\n"


def test_syntax_error_fails_the_command_only(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> None:
        for broken in ("if", "echo $((", "echo 'open", "}"):
            assert (await done(session, broken)).exit.code not in (0, None)
        assert (await done(session, "echo fine")).text == "fine\n"

    in_session(tmp_path, body, shell=shell)


def test_long_commands_and_any_text_arrive_intact(tmp_path: Path, shell: str) -> None:
    word = "ä'\"\\$x\t" * 20_000
    (tmp_path / "word").write_text(word)
    command = f"cat >copy <<'END OF IT'\n{word}\nEND OF IT\ncmp copy word; echo done"
    (found,) = texts(tmp_path, command, shell=shell)
    assert found.endswith("done\n")
    assert (tmp_path / "copy").read_text() == word + "\n"


def test_shell_wide_redirections_end_with_the_command(tmp_path: Path, shell: str) -> None:
    commands = ("exec >out 2>&1; echo into the file", "echo seen", "exec 10>&1 11>&2 2>&-; echo x", "echo y")
    if not shell.endswith("bash"):
        commands = commands[:2]
    found = texts(tmp_path, *commands, shell=shell)
    assert found == ["", "seen\n", "x\n", "y\n"][: len(commands)]
    assert (tmp_path / "out").read_text() == "into the file\n"


def test_functions_shadowing_builtins_do_no_harm(tmp_path: Path, shell: str) -> None:
    traps = "; ".join(f"{name}() {{ echo trapped; }}" for name in ("cd", "printf", "pwd", "set", "read"))
    assert texts(tmp_path, traps, "echo $PWD", "echo on", shell=shell) == ["", f"{tmp_path}\n", "on\n"]


def test_simultaneous_commands_run_in_parallel_and_share_the_state(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        await done(session, "x=1; f() { echo f; }")
        wait = "touch {0}; while [ ! -e {1} ]; do sleep 0.01; done; echo {0} $x; f; x={0}"
        pairs = [("a", "b"), ("b", "a")]
        both = await asyncio.gather(*(done(session, wait.format(*pair)) for pair in pairs))
        assert [each.text for each in both] == ["a 1\nf\n", "b 1\nf\n"]
        assert (await done(session, "echo $x")).text == "a\n"  # the one that had the session's own shell

    in_session(tmp_path, body)


def test_fresh_shell_is_isolated(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> list[str]:
        await done(session, "x=1")
        fresh = await done(session, "echo -$x-; x=2; exit 4", fresh=True)
        assert (fresh.exit, fresh.notes) == (Exit(code=4), [])
        beside = await done(session, "echo -$x-; x=3", beside=True, env={"x": "given"})
        return [fresh.text, beside.text, (await done(session, "echo -$x-")).text]

    assert in_session(tmp_path, body, shell=shell) == ["--\n", "-given-\n", "-1-\n"]


def test_unsupported_shell_runs_each_command_in_a_new_process(tmp_path: Path) -> None:
    assert texts(tmp_path, "x=1; echo one", "echo -$x-", shell="/bin/sh") == ["one\n", "--\n"]


def test_detached_command_keeps_its_shell_and_others_get_another(tmp_path: Path) -> None:
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


def test_background_processes_live_until_the_session_ends(tmp_path: Path) -> None:
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
        assert all(is_alive(pid) for pid in found)
        return found

    assert all(ends(pid) for pid in in_session(tmp_path, body))


def test_process_without_our_marks_outlives_the_session(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> int:
        command = (
            "env -u TAU_FAMILY -u TAU_RUN setsid sh -c 'echo $$ >pid; exec sleep 999' & sleep 0.2; cat pid"
        )
        return int((await done(session, command)).text)

    pid = in_session(tmp_path, body)
    assert is_alive(pid)
    os.kill(pid, signal.SIGKILL)
    assert ends(pid)


def test_abort_kills_only_what_the_command_started(tmp_path: Path) -> None:
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
        assert is_alive(older) and is_alive(inside)

    in_session(tmp_path, body)


def test_abort_kills_the_whole_group_when_processes_cannot_be_distinguished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tau.base.process_group.can_find_marked", lambda: False)

    async def body(session: ShellSession) -> None:
        older = int((await done(session, "x=1; sleep 999 & echo $!")).text)
        late = await done(session, "sleep 999", limits=Limits(timeout=0.2))
        assert late.exit.timed_out
        assert ends(older)
        assert (await done(session, "echo $x")).text == "1\n"

    in_session(tmp_path, body)


def test_background_output_never_appears_in_other_output(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        command = "(while :; do echo noise; echo x >>beats; sleep 0.01; done) & echo $!"
        words = (await done(session, command)).text.split()
        writer = int(next(word for word in words if word.isdecimal()))  # its first output may come earlier
        beats = tmp_path / "beats"
        for _ in range(3):
            assert (await done(session, "echo clean; sleep 0.02")).text == "clean\n"
        seen = beats.stat().st_size
        await until(lambda: beats.stat().st_size > seen + 20)  # and writing does not kill it
        assert is_alive(writer)

    in_session(tmp_path, body)


def test_job_of_an_earlier_command_can_be_waited_for(tmp_path: Path) -> None:
    commands = ("sh -c 'sleep 0.1; exit 5' & pid=$!", "wait $pid; echo $?", "sleep 999 &", "kill %1; echo ok")
    assert texts(tmp_path, *commands)[1::2] == ["5\n", "ok\n"]


def test_exit_trap_runs_at_the_end_of_its_command_as_with_bash_c(tmp_path: Path, shell: str) -> None:
    trap = "trap 'echo \"it'\\''s $?\"; rm lock\n echo bye' EXIT; trap 'echo int' INT"
    first = f"touch lock; {trap}; ls lock; (exit 3)"

    async def body(session: ShellSession) -> None:
        ended = await done(session, first)
        assert (ended.text, ended.exit, ended.notes) == ("lock\nit's 3\nbye\n", Exit(code=3), [])
        assert not (tmp_path / "lock").exists()
        assert (await done(session, "echo on; trap")).text == "on\n"
        leaving = await done(session, "trap 'echo left; exit 4' EXIT; x=1")
        assert (leaving.text, leaving.exit, leaving.notes) == ("left\n", Exit(code=4), [LOST])
        exits = await done(session, "trap 'echo left' EXIT; exit 5")
        assert (exits.text, exits.exit) == ("left\n", Exit(code=5))

    in_session(tmp_path, body, shell=shell)


def test_background_processes_keep_the_exit_trap_quiet(tmp_path: Path, shell: str) -> None:
    assert texts(tmp_path, "trap 'echo bye' EXIT; sleep 0.01 & wait", "echo on", shell=shell) == [
        "bye\n",
        "on\n",
    ]


@pytest.mark.parametrize("word", ["break", "continue", "break 9", "continue 9"])
def test_break_outside_a_loop_skips_no_command(tmp_path: Path, word: str) -> None:
    commands = (f"x=1; {word}; echo important", "echo $x", "for i in 1 2; do break; done; echo $i")
    first, *rest = texts(tmp_path, *commands)
    assert first.endswith("important\n") and "only meaningful" in first
    assert rest == ["1\n", "1\n"]


def test_break_outside_a_loop_fails_in_zsh(tmp_path: Path, shell: str) -> None:
    async def body(session: ShellSession) -> None:
        for word in ("break", "continue"):
            broken = await done(session, f"x=1; {word}; false")
            assert broken.exit.code == 1
        assert (await done(session, "echo $x")).text == "1\n"

    in_session(tmp_path, body, shell=shell)


@pytest.mark.parametrize("how", ["set -n", "set -en", "set -o noexec"])
def test_command_cut_short_by_set_n_is_not_reported_as_done(tmp_path: Path, shell: str, how: str) -> None:
    async def body(session: ShellSession) -> None:
        await done(session, "x=1")
        skipped = await done(session, f"{how}; echo not run")
        assert (skipped.text, skipped.exit.code) == ("", 1)
        assert skipped.notes == ["The shell ran nothing after set -n.", LOST]
        assert (await done(session, "echo on $x")).text == "on 1\n"

    in_session(tmp_path, body, shell=shell)


def test_debug_trap_that_prints_stays_in_its_command(tmp_path: Path, shell: str) -> None:
    found = texts(tmp_path, "trap 'echo debugging' DEBUG; echo one", "echo two", shell=shell)
    assert "one\n" in found[0] and "debugging\n" in found[0]
    assert found[1] == "two\n"


def test_functions_named_like_what_runs_commands_skip_nothing(tmp_path: Path, shell: str) -> None:
    names = (
        "builtin",
        "eval",
        "exec",
        "trap",
        "exit",
        "declare",
        "typeset",
        "printf",
        "read",
        "export",
        "command",
    )
    define = "; ".join(f"{name}() {{ echo trapped; }}" for name in (*names, "unset", "set", "shopt"))

    async def body(session: ShellSession) -> list[str]:
        found = [(await done(session, f"x=1; {define}")).text, (await done(session, "echo one $x")).text]
        found.append((await done(session, "echo two $x $Y", env={"Y": "y"})).text)
        found.append((await done(session, "echo three $x $Y", env={"Y": "y"}, beside=True)).text)
        return [*found, (await done(session, "command")).text]

    expected = ["", "one 1\n", "two 1 y\n", "three 1 y\n", "trapped\n"]
    assert in_session(tmp_path, body, shell=shell) == expected


def test_options_stay_as_a_command_left_them(tmp_path: Path) -> None:
    shown = "shopt -p; set +o"
    before, *after = texts(
        tmp_path,
        shown,
        shown,
        "shopt -u expand_aliases; shopt -s inherit_errexit",
        shown,
        "set -o posix",
        "set -o",
    )
    assert after[0] == before
    wanted = before.replace("shopt -s expand_aliases", "shopt -u expand_aliases")
    assert after[2] == wanted.replace("shopt -u inherit_errexit", "shopt -s inherit_errexit")
    assert "posix          \ton" in after[4]


def test_command_that_closes_all_descriptors_is_answered(tmp_path: Path) -> None:
    close = 'for ((fd = 3; fd < 256; fd++)); do eval "exec $fd>&-"; done 2>/dev/null'
    found = texts(
        tmp_path, f"x=1; {close}; echo closed", "echo on $x", f"exec <&- >&- 2>&-; {close}", "echo on $x"
    )
    assert found == ["closed\n", "on 1\n", "", "on 1\n"]


def test_nothing_is_started_before_the_first_command(tmp_path: Path) -> None:
    async def body(session: ShellSession) -> None:
        assert session.cwd == tmp_path
        assert not list(temporary.iterdir())

    temporary = tmp_path / "tmp"
    temporary.mkdir()
    os.environ["TMPDIR"] = str(temporary)
    in_session(tmp_path, body)


def test_closed_session_runs_nothing(tmp_path: Path) -> None:
    session = ShellSession(LocalRunner(shell=BASH), cwd=tmp_path)
    with pytest.raises(RuntimeError, match="async with"):
        asyncio.run(session.start("true"))


def test_consecutive_sessions_of_one_object_are_isolated(tmp_path: Path) -> None:
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
