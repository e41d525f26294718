"""Odd paths, odd bytes and broken surroundings: the program says what is wrong, or just works."""

import os
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.program import FAKE, TAU, Program, is_alive, wait_for
from tests.support.fake_answers import Call
from tests.support.limits import HANG_S

HALF_A_PAIR = '{"command":"echo \\ud83d"}'


def results(tau: Program) -> list[str]:
    return [str(m["content"]) for m in tau.server.requests[-1].body["messages"] if m["role"] == "tool"]


def shell(tau: Program, command: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """A shell command in which `tau` is the program with the fake model."""
    text = f'tau() {{ {" ".join(TAU)} "$@"; }}; fake="{" ".join(FAKE)}"; {command}'
    return subprocess.run(
        ["bash", "-c", text],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        cwd=tau.project,
        env={**os.environ, **environment},
        timeout=HANG_S,
    )


def test_lone_surrogate_in_a_call_does_not_end_the_program(tau: Program) -> None:
    tau.script(Call("bash", json=HALF_A_PAIR), "went on")
    assert tau.ask("hi").stdout == "went on\n"
    tau.script("again")
    assert tau.ask("-c", "more").stdout == "again\n"
    assert tau.server.problems == []


@pytest.mark.parametrize("depth", (50, 150, 500, 900, 10_000))
def test_deeply_nested_arguments_become_an_error_result(tau: Program, depth: int) -> None:
    tau.script(Call("read", json=f'{{"path":{"[" * depth}{"]" * depth}}}'), "went on")
    assert tau.ask("hi").stdout == "went on\n"
    tau.script("again")
    assert tau.ask("-c", "more").stdout == "again\n"
    assert tau.server.problems == []


def test_prompt_with_invalid_utf_8_is_sent(tau: Program) -> None:
    ran = shell(tau, r"tau $fake -p $'caf\xe9' --append-system-prompt $'\xff'")
    assert (ran.stdout, ran.stderr) == (b"ok\n", b"")
    assert tau.user_messages() == ["caf\ufffd"]


def test_prompt_is_read_as_utf_8_in_an_ascii_locale(tau: Program) -> None:
    tau.ask("grüße ✓", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert tau.user_messages() == ["grüße ✓"]


@pytest.mark.parametrize("name", (b"caf\xe9", b"a" * 255, b"two\nlines"), ids=("latin-1", "long", "newline"))
def test_working_folder_with_an_odd_name_has_sessions(tau: Program, name: bytes) -> None:
    folder = Path(os.fsdecode(os.fsencode(tau.project) + b"/" + name))
    folder.mkdir()
    assert tau.ask("hi", cwd=folder).stdout == "ok\n"
    assert tau.ask("-c", "more", cwd=folder).stdout == "ok\n"
    assert tau.user_messages() == ["hi", "more"]


def test_working_folders_with_long_names_do_not_share_sessions(tau: Program) -> None:
    for last in "ab":
        folder = tau.project / ("x" * 200) / ("y" * 200) / last
        folder.mkdir(parents=True)
        assert tau.ask(last, cwd=folder).stdout == "ok\n"
    assert tau.ask("more", "-c", cwd=folder).stdout == "ok\n"
    assert tau.user_messages() == ["b", "more"]


def test_long_one_line_system_prompt_is_not_a_file_name(tau: Program) -> None:
    text = "You are careful. " * 30
    assert tau.ask("hi", "--system-prompt", text).stdout == "ok\n"
    assert text.strip() in tau.server.requests[0].body["messages"][0]["content"]


def test_system_prompt_may_start_with_a_tilde(tau: Program) -> None:
    assert tau.ask("hi", "--system-prompt", "~be nice").stdout == "ok\n"


@pytest.mark.parametrize("name", ("~nosuchuser/x", "x" * 300), ids=("no such user", "too long"))
@pytest.mark.parametrize("flag", ("--cwd", "--resume", "--config", "@"))
def test_impossible_file_name_is_a_usage_error(tau: Program, flag: str, name: str) -> None:
    name = f"{name}.jsonl"
    ran = tau.ask("hi", *([f"@{name}"] if flag == "@" else [flag, name]))
    assert ran.returncode == 2
    assert "unexpected" not in ran.stderr
    assert len(ran.stderr.splitlines()) == 1


@pytest.mark.parametrize("name", ("settings.json", "auth.json", "models.json"))
def test_pipe_in_place_of_a_config_file_does_not_block_the_program(tau: Program, name: str) -> None:
    (tau.home / name).unlink(missing_ok=True)
    os.mkfifo(tau.home / name)
    ran = tau.ask("hi")
    assert ran.returncode == 1
    assert f"{name}: " in ran.stderr


def test_number_with_thousands_of_digits_makes_a_file_broken(tau: Program) -> None:
    (tau.home / "settings.json").write_text('{"retry": {"maxRetries": %s}}' % ("9" * 5000))
    ran = tau.ask("hi")
    assert ran.returncode == 1
    assert "settings.json" in ran.stderr
    assert "unexpected" not in ran.stderr


def test_config_reports_unwritable_output_in_one_line(tau: Program) -> None:
    for redirected in (">/dev/full", ">&-"):
        ran = shell(tau, f"tau config list {redirected}")
        assert ran.returncode in (1, 2)
        assert b"unexpected" not in ran.stderr
        assert len(ran.stderr.splitlines()) == 1


def test_config_works_in_a_deleted_folder(tau: Program) -> None:
    ran = shell(tau, "mkdir gone; cd gone; rmdir ../gone; tau config get retry.maxRetries")
    assert (ran.returncode, ran.stderr) == (2, ran.stderr)
    assert b"no longer exists" in ran.stderr


def test_usage_error_is_code_2_even_with_stderr_closed(tau: Program) -> None:
    assert shell(tau, "tau --nonsense 2>/dev/full").returncode == 2
    assert shell(tau, "tau $fake -p '@nowhere' 2>/dev/full").returncode == 2


def test_custom_server_never_gets_another_providers_key_or_model(tau: Program) -> None:
    url = f"{tau.server.url}/v1"
    ran = tau.run("--base-url", url, "--model", "qwen", "-p", "hi", CEREBRAS_API_KEY="sk-mine")
    assert (ran.stdout, ran.stderr) == ("ok\n", "")
    (request,) = tau.server.requests
    assert request.body["model"] == "qwen"
    assert b"sk-mine" not in request.raw
    assert "sk-mine" not in str(request.headers)


def test_killed_program_leaves_no_command_behind(tau: Program) -> None:
    tau.script(Call("bash", {"command": "sleep 100 & echo $! > pid; echo $$ > shell; wait"}))
    program = tau.start("-p", "hi")
    children = [int(wait_for(tau.project / name)) for name in ("pid", "shell")]
    program.kill()
    program.communicate()
    wait_until_gone(*children)


def test_background_process_of_a_finished_command_ends_with_the_program(tau: Program) -> None:
    tau.script(Call("bash", {"command": "setsid sleep 100 >/dev/null 2>&1 & echo $! > pid"}), "started")
    assert tau.ask("hi").stdout == "started\n"
    wait_until_gone(int(wait_for(tau.project / "pid")))


def test_ctrl_c_reaches_a_command_that_left_its_process_group(tau: Program) -> None:
    tau.script(Call("bash", {"command": "setsid sh -c 'echo $$ > pid; exec sleep 100' & sleep 100"}))
    program = tau.start("-p", "hi")
    child = int(wait_for(tau.project / "pid"))
    program.send_signal(2)
    program.communicate(timeout=HANG_S)
    wait_until_gone(child)


def test_many_parallel_calls_do_not_exhaust_file_descriptors(tau: Program) -> None:
    calls: Any = tuple(Call("bash", {"command": f"echo {number}"}) for number in range(120))
    tau.script(calls, "all of them")
    ran = shell(tau, "ulimit -n 128; tau $fake -p hi")
    assert ran.stdout == b"all of them\n"
    assert results(tau) == [f"{number}\n" for number in range(120)]


def test_missing_shell_is_named(tau: Program) -> None:
    tau.settings(**{"retry.enabled": False, "shellPath": "/nowhere/zsh"})
    tau.script(Call("bash", {"command": "true"}), "well")
    tau.ask("hi")
    assert "/nowhere/zsh" in results(tau)[0]


def wait_until_gone(*processes: int) -> None:
    end = time.monotonic() + HANG_S
    while alive := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < end, f"{alive} are still there"
        time.sleep(0.01)
