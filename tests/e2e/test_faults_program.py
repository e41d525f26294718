"""Odd places, odd bytes and broken surroundings: the program says what is wrong, or just works."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.support.fake_answers import Call

HALF_A_PAIR = '{"command":"echo \\ud83d"}'


def results(tau: Program) -> list[str]:
    return [str(m["content"]) for m in tau.server.requests[-1].body["messages"] if m["role"] == "tool"]


def shell(tau: Program, command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A shell line in which `tau` is the program with the fake model."""
    text = f'tau() {{ {" ".join(TAU)} "$@"; }}; fake="{" ".join(FAKE)}"; {command}'
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=tau.project,
        env={**os.environ, **environment},
        timeout=30,
    )


def test_half_a_surrogate_pair_in_a_call_does_not_end_the_program(tau: Program) -> None:
    tau.script(Call("bash", json=HALF_A_PAIR), "went on")
    assert tau.ask("hi").stdout == "went on\n"
    tau.script("again")
    assert tau.ask("-c", "more").stdout == "again\n"
    assert tau.server.problems == []


@pytest.mark.parametrize("depth", (50, 150, 500, 900, 10_000))
def test_deeply_nested_arguments_become_a_result_and_not_the_end(tau: Program, depth: int) -> None:
    tau.script(Call("read", json=f'{{"path":{"[" * depth}{"]" * depth}}}'), "went on")
    assert tau.ask("hi").stdout == "went on\n"
    tau.script("again")
    assert tau.ask("-c", "more").stdout == "again\n"
    assert tau.server.problems == []


def test_a_prompt_with_bytes_that_are_no_utf_8_is_sent(tau: Program) -> None:
    ran = shell(tau, r"tau $fake -p $'caf\xe9' --append-system-prompt $'\xff'")
    assert (ran.stdout, ran.stderr) == (b"ok\n", b"")
    assert tau.said() == ["caf\ufffd"]


def test_a_prompt_is_read_as_utf_8_in_a_locale_that_knows_only_ascii(tau: Program) -> None:
    tau.ask("grüße ✓", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert tau.said() == ["grüße ✓"]


@pytest.mark.parametrize("name", (b"caf\xe9", b"a" * 255, b"two\nlines"), ids=("latin-1", "long", "newline"))
def test_a_working_folder_with_an_odd_name_has_sessions(tau: Program, name: bytes) -> None:
    folder = Path(os.fsdecode(os.fsencode(tau.project) + b"/" + name))
    folder.mkdir()
    assert tau.ask("hi", cwd=folder).stdout == "ok\n"
    assert tau.ask("-c", "more", cwd=folder).stdout == "ok\n"
    assert tau.said() == ["hi", "more"]


def test_two_working_folders_with_long_names_do_not_share_their_sessions(tau: Program) -> None:
    for last in "ab":
        folder = tau.project / ("x" * 200) / ("y" * 200) / last
        folder.mkdir(parents=True)
        assert tau.ask(last, cwd=folder).stdout == "ok\n"
    assert tau.ask("more", "-c", cwd=folder).stdout == "ok\n"
    assert tau.said() == ["b", "more"]


def test_a_long_system_prompt_on_one_line_is_no_file_name(tau: Program) -> None:
    text = "You are careful. " * 30
    assert tau.ask("hi", "--system-prompt", text).stdout == "ok\n"
    assert text.strip() in tau.server.requests[0].body["messages"][0]["content"]


def test_a_system_prompt_may_begin_with_a_tilde(tau: Program) -> None:
    assert tau.ask("hi", "--system-prompt", "~be nice").stdout == "ok\n"


@pytest.mark.parametrize("name", ("~nosuchuser/x", "x" * 300), ids=("no such user", "too long"))
@pytest.mark.parametrize("flag", ("--cwd", "--resume", "--config", "@"))
def test_a_name_that_no_file_can_have_is_a_usage_error(tau: Program, flag: str, name: str) -> None:
    name = f"{name}.jsonl"
    ran = tau.ask("hi", *([f"@{name}"] if flag == "@" else [flag, name]))
    assert ran.returncode == 2
    assert "unexpected" not in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ("settings.json", "auth.json", "models.json"))
def test_a_pipe_in_the_place_of_a_file_of_ours_does_not_hold_the_program(tau: Program, name: str) -> None:
    (tau.home / name).unlink(missing_ok=True)
    os.mkfifo(tau.home / name)
    ran = tau.ask("hi")
    assert ran.returncode == 1
    assert f"{name}: " in ran.stderr


def test_a_number_with_thousands_of_digits_in_a_file_of_ours_is_a_broken_file(tau: Program) -> None:
    (tau.home / "settings.json").write_text('{"retry": {"maxRetries": %s}}' % ("9" * 5000))
    ran = tau.ask("hi")
    assert ran.returncode == 1
    assert "settings.json" in ran.stderr
    assert "unexpected" not in ran.stderr


def test_config_says_in_one_line_that_its_output_cannot_be_written(tau: Program) -> None:
    for redirected in (">/dev/full", ">&-"):
        ran = shell(tau, f"tau config list {redirected}")
        assert ran.returncode in (1, 2)
        assert b"unexpected" not in ran.stderr
        assert len(ran.stderr.splitlines()) == 1


def test_config_works_in_a_folder_that_is_gone(tau: Program) -> None:
    ran = shell(tau, "mkdir gone; cd gone; rmdir ../gone; tau config get retry.maxRetries")
    assert (ran.returncode, ran.stderr) == (2, ran.stderr)
    assert b"no longer exists" in ran.stderr


def test_wrong_use_is_code_2_also_when_nobody_can_read_the_complaint(tau: Program) -> None:
    assert shell(tau, "tau --nonsense 2>/dev/full").returncode == 2
    assert shell(tau, "tau $fake -p '@nowhere' 2>/dev/full").returncode == 2


def test_a_server_named_by_address_never_gets_another_providers_key_or_model(tau: Program) -> None:
    url = f"{tau.server.url}/v1"
    ran = tau.run("--base-url", url, "--model", "qwen", "-p", "hi", CEREBRAS_API_KEY="sk-mine")
    assert (ran.stdout, ran.stderr) == ("ok\n", "")
    (request,) = tau.server.requests
    assert request.body["model"] == "qwen"
    assert b"sk-mine" not in request.raw
    assert "sk-mine" not in str(request.headers)


def test_a_killed_program_leaves_no_command_behind(tau: Program) -> None:
    tau.script(Call("bash", {"command": "sleep 100 & echo $! > pid; echo $$ > shell; wait"}))
    program = tau.start("-p", "hi")
    children = [int(wait_for(tau.project / name)) for name in ("pid", "shell")]
    program.kill()
    program.communicate()
    wait_until_gone(*children)


def test_what_a_finished_command_left_in_the_background_ends_with_the_program(tau: Program) -> None:
    tau.script(Call("bash", {"command": "setsid sleep 100 >/dev/null 2>&1 & echo $! > pid"}), "started")
    assert tau.ask("hi").stdout == "started\n"
    wait_until_gone(int(wait_for(tau.project / "pid")))


def test_ctrl_c_reaches_a_command_that_left_its_process_group(tau: Program) -> None:
    tau.script(Call("bash", {"command": "setsid sh -c 'echo $$ > pid; exec sleep 100' & sleep 100"}))
    program = tau.start("-p", "hi")
    child = int(wait_for(tau.project / "pid"))
    program.send_signal(2)
    program.communicate(timeout=10)
    wait_until_gone(child)


def test_many_calls_at_once_do_not_run_out_of_open_files(tau: Program) -> None:
    calls: Any = tuple(Call("bash", {"command": f"echo {number}"}) for number in range(150))
    tau.script(calls, "all of them")
    ran = shell(tau, "ulimit -n 128; tau $fake -p hi")
    assert ran.stdout == b"all of them\n"
    assert results(tau) == [f"{number}\n" for number in range(150)]


def test_a_shell_that_does_not_exist_is_named(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "shellPath": "/nowhere/zsh"})
    tau.script(Call("bash", {"command": "true"}), "well")
    tau.ask("hi")
    assert "/nowhere/zsh" in results(tau)[0]


def wait_until_gone(*processes: int) -> None:
    end = time.monotonic() + 10
    while alive := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < end, f"{alive} are still there"
        time.sleep(0.01)
