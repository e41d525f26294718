"""`tau -p`: prompts in, the answer on stdout, the outcome in the exit code."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.program import FAKE, TAU, Program
from tests.support.fake_answers import Call, Status, Text
from tests.support.pictures import PNG


def test_hello(tau: Program) -> None:
    tau.forks = None  # as users start it
    tau.script(Text("Hello, Wörld.", deltas=4))
    ran = tau.ask("Say hello")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "Hello, Wörld.\n", "")
    assert tau.user_messages() == ["Say hello"]


def test_tool_runs_and_its_result_is_sent_back(tau: Program) -> None:
    tau.script((Text("Let me look."), Call("bash", {"command": "echo $((6*7))"})), "It is 42.")
    ran = tau.ask("What is 6*7?")
    assert (ran.returncode, ran.stdout) == (0, "It is 42.\n")
    assert "42" in str(tau.server.requests[1].body["messages"][-1])
    assert tau.server.problems == []


def test_several_prompts_are_sent_in_order(tau: Program) -> None:
    tau.script("first", "second")
    ran = tau.ask("one", "two")
    assert ran.stdout == "second\n"
    assert tau.user_messages() == ["one", "two"]


def test_piped_text_files_and_images_are_sent_with_the_message(tau: Program) -> None:
    (tau.project / "a.txt").write_text("alpha\n")
    (tau.project / "shot.png").write_bytes(PNG)
    ran = tau.ask("@a.txt", "@shot.png", "explain", stdin="some output\n")
    assert ran.returncode == 0, ran.stderr
    (message,) = tau.user_messages()
    assert message.index("some output") < message.index("alpha") < message.index("explain")
    assert "image/png" in tau.server.requests[0].raw.decode()


def test_image_for_a_model_without_image_support_is_refused(tau: Program) -> None:
    (tau.project / "shot.png").write_bytes(PNG)
    models = {
        "providers": {
            "blind": {
                "baseUrl": "http://127.0.0.1:1/v1",
                "api": "openai-completions",
                "models": [{"id": "m"}],
            }
        }
    }
    tau.write("models.json", models)
    ran = tau.run("-p", "--model", "blind/m", "@shot.png")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "blind/m does not support images" in ran.stderr


def test_without_a_terminal_no_flag_is_needed_and_stdin_alone_is_enough(tau: Program) -> None:
    assert tau.run(*FAKE, "hello").stdout == "ok\n"
    assert tau.run(*FAKE, stdin="only this\n").stdout == "ok\n"
    assert tau.user_messages() == ["only this\n"]


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    (
        (Status(429, "Slow down", retry_after="1"), 75, "Slow down"),
        (Status(500, "Oops"), 75, "Oops"),
        (Status(401, "Bad key"), 1, "Bad key"),
        (Status(400, "No such thing"), 1, "No such thing"),
    ),
    ids=str,
)
def test_refusal_is_one_line_and_an_exit_code(tau: Program, answer: Status, code: int, words: str) -> None:
    tau.script(answer)
    ran = tau.ask("hi")
    assert (ran.returncode, ran.stdout) == (code, "")
    assert words in ran.stderr
    assert ran.stderr.startswith("tau: ")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    (
        (("--modle", "x", "hi"), 'Unknown flag "--modle". Did you mean --model?'),
        (("-p", "@missing.txt"), 'File "missing.txt" not found'),
        (("-p", "--cwd", "/no/such/folder", "hi"), 'Folder "/no/such/folder" not found.'),
        (("-p",), "No prompt"),
        (("--tools", "read,fly", "-p", "hi", *FAKE), "fly"),
        (("--provider", "nobody", "-p", "hi"), "nobody"),
        (("completions", "tcsh"), "bash|zsh|fish"),
        (("config", "dance"), "dance"),
    ),
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_usage_error_is_one_line_and_exit_code_2(
    tau: Program, arguments: tuple[str, ...], words: str
) -> None:
    ran = tau.run(*arguments)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert words in ran.stderr
    assert ran.stderr.count("\n") == 1
    assert tau.server.requests == []


def test_missing_key_names_the_variable_and_the_alternatives(tau: Program) -> None:
    ran = tau.run("-p", "hi", "--provider", "anthropic")
    assert ran.returncode in (1, 2)
    assert "ANTHROPIC_API_KEY" in ran.stderr
    assert str(tau.home / "auth.json") in ran.stderr
    assert "Ollama" in ran.stderr
    assert "demo" in ran.stderr


def test_key_and_base_url_from_the_command_line_are_used(tau: Program) -> None:
    url = f"{tau.server.url}/v1"
    ran = tau.run(
        "-p", "hi", "--provider", "openai", "--model", "gpt-x", "--base-url", url, "--api-key", "sk-1"
    )
    assert ran.returncode == 0, ran.stderr
    assert tau.server.requests[0].headers["authorization"] == "Bearer sk-1"


def test_system_prompt_and_tools_follow_the_flags(tau: Program) -> None:
    (tau.project / "more.md").write_text("Answer in rhyme.")
    flags = ("--system-prompt", "Be brief.", "--append-system-prompt", "more.md", "--no-tools")
    assert tau.ask(*flags, "hi").returncode == 0
    body = tau.server.requests[0].body
    system = str(body["messages"][0])
    assert "Be brief." in system
    assert "Answer in rhyme." in system
    assert not body.get("tools")
    assert tau.ask("--tools", "read, bash", "hi").returncode == 0
    assert {tool["function"]["name"] for tool in tau.server.requests[1].body["tools"]} == {"read", "bash"}


@pytest.mark.parametrize("flag", ("--system-prompt", "--append-system-prompt"))
@pytest.mark.parametrize(
    ("value", "problem"),
    (
        ("missing.md", "does not exist"),
        ("~/prompts/nice", "does not exist"),
        ("docs", "is a folder"),
        ("/dev/null", "is not a file"),
    ),
)
def test_missing_prompt_file_is_not_sent_as_the_prompt(
    tau: Program, flag: str, value: str, problem: str
) -> None:
    (tau.project / "docs").mkdir()
    ran = tau.ask("hi", flag, value)
    advice = "If this is the prompt itself, add a space."
    assert (ran.returncode, ran.stderr) == (2, f'tau: The prompt file "{value}" {problem}. {advice}\n')
    assert not tau.server.requests
    assert tau.ask("hi", flag, f"{value} ").returncode == 0


@pytest.mark.parametrize(
    "words", (["confg", "list"], ["-p", "config"], ["--session-dir", "-p", "hi"], ["--no-session", "sesions"])
)
def test_mistake_on_the_command_line_costs_nothing(tau: Program, words: list[str]) -> None:
    ran = tau.run(*words)
    assert ran.returncode == 2 and ran.stderr.startswith("tau: ") and ran.stderr.count("\n") == 1
    assert not tau.server.requests and not list(tau.project.iterdir())


def test_session_is_continued_resumed_or_not_saved(tau: Program) -> None:
    tau.script("one")
    tau.ask("first")
    (entries,) = tau.sessions()
    tau.ask("-c", "second")
    assert tau.user_messages() == ["first", "second"]
    tau.ask("-r", entries[0]["id"][:13], "third")
    assert tau.user_messages() == ["first", "second", "third"]
    tau.ask("--no-session", "fourth")
    assert tau.user_messages() == ["fourth"]
    assert len(tau.sessions()) == 1
    missing = tau.ask("-r", "nothing-like-this", "fifth")
    assert missing.returncode != 0
    assert "nothing-like-this" in missing.stderr


def test_impossible_approval_is_reported_to_the_model_and_nothing_runs(tau: Program) -> None:
    tau.script(Call("bash", {"command": "touch made"}), "I could not.")
    assert tau.ask("--approval-mode", "ask", "go").stdout == "I could not.\n"
    assert not (tau.project / "made").exists()
    tau.script(Call("bash", {"command": "touch made"}), "Done.")
    assert tau.ask("--yolo", "go").stdout == "Done.\n"
    assert (tau.project / "made").exists()


def test_closed_pipe_is_quiet(tau: Program) -> None:
    tau.script("many words " * 20_000)
    command = f"{' '.join(TAU)} {' '.join(FAKE)} -p hi | head -c 5; echo ${{PIPESTATUS[0]}}"
    ran = subprocess.run(
        ["bash", "-c", command], stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=tau.project
    )
    assert ran.stderr == ""
    assert ran.stdout == "many 0\n"


def test_closed_standard_streams_do_no_harm(tau: Program) -> None:
    base = f"{' '.join(TAU)} {' '.join(FAKE)} -p hi"
    ran = subprocess.run(["bash", "-c", f"{base} <&- 2>&-"], capture_output=True, text=True, cwd=tau.project)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "ok\n", "")
    ran = subprocess.run(["bash", "-c", f"{base} >&-"], capture_output=True, text=True, cwd=tau.project)
    assert (ran.returncode, ran.stderr) == (2, "tau: stdout is closed.\n")


def test_home_folder_is_mentioned_once_and_work_continues(tau: Program) -> None:
    home = Path(os.environ["HOME"])
    ran = tau.ask("hi", cwd=home)
    assert (ran.returncode, ran.stdout) == (0, "ok\n")
    assert ran.stderr.startswith("tau: This is your home folder")
    assert "--cwd DIR" in ran.stderr
    assert tau.ask("--allow-home", "hi", cwd=home).stderr == ""
    assert tau.ask("--cwd", str(tau.project), "hi", cwd=home).stderr == ""


def test_timing_shows_the_startup_phases(tau: Program) -> None:
    ran = tau.ask("hi", TAU_TIMING="1")
    assert ran.stdout == "ok\n"
    for phase in ("interpreter", "asyncio", "tau.sdk", "session", "request", "first words"):
        assert phase in ran.stderr


def test_unexpected_error_names_the_log_file_and_shows_no_traceback(tau: Program) -> None:
    fault = (
        "import tau.cli.initial_prompt as p",
        "def broken(*_): raise ZeroDivisionError('oops')",
        "p.build_prompts = broken",
    )
    (tau.project / "sitecustomize.py").write_text("\n".join(fault))
    ran = tau.ask("hi", PYTHONPATH=str(tau.project))
    log = tau.home / "logs" / "tau.log"
    assert ran.returncode == 1
    assert ran.stderr == (f"tau: Unexpected error: ZeroDivisionError: oops. See {log} for details.\n")
    assert "Traceback" in log.read_text()


def test_models_are_listed_with_their_keys(tau: Program) -> None:
    tau.settings(**{"local.discover": False})
    ran = tau.run("--list-models", "fake")
    head, row = ran.stdout.splitlines()
    assert head.split()[:3] == ["provider", "model", "name"]
    assert row.split() == ["fake", "fake-model", "fake-model", "128K", "16K", "no", "yes", "-", "-", "yes"]
    everything = tau.run("--list-models", OPENAI_API_KEY="sk-1").stdout.splitlines()
    assert {line.split()[-1] for line in everything if line.startswith("openai ")} == {"yes"}
    assert {line.split()[-1] for line in everything if line.startswith("anthropic ")} == {"no"}
    nothing = tau.run("--list-models", "no-such-model-at-all")
    assert (nothing.returncode, nothing.stdout) == (2, "")
