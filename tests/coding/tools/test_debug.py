"""debug in a session: offered where an adapter is, approved like commands; a stop shows all at once."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

import tau
from tau.ai.faux import FauxStep, Use
from tau.ai.wire import ToolResultMessage
from tau.base.errors import ToolError
from tau.coding.debug.call import READ_ONLY, DebugAction, DebugDetails
from tau.coding.tools.debug import Debug
from tests.backends.dap.adapters import FAKE
from tests.coding.tools.test_lsp import results, session_of

NO_SESSION = "No active debug session. Launch or attach first."


def use_fake(**script: Any) -> None:
    """Define the fake adapter in the user's dap.json."""
    adapter = {
        "command": sys.executable,
        "args": [str(FAKE), json.dumps(script)],
        "fileTypes": [".x"],
        "rootMarkers": ["*.x"],
        "entryStop": {"stopOnEntry": True},
        "attachPid": {"pid": "{pid}"},
    }
    write_adapters(fake=adapter)


def write_adapters(**adapters: Any) -> None:
    folder = Path(os.environ["TAU_HOME"])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "dap.json").write_text(json.dumps({"adapters": adapters}))


def debug(action: DebugAction, **arguments: Any) -> Use:
    return Use("debug", action=action, **arguments)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "main.x"
    path.write_text("one\ntwo\nthree\nfour\nfive\n")
    return path


def test_it_is_offered_only_where_an_adapter_fits(tmp_path: Path) -> None:
    async def offered(**more: Any) -> bool:
        options, faux = session_of(tmp_path, **more)
        async with tau.create_session(options) as session:
            await session.prompt("go")
        return any(tool.name == "debug" for tool in faux.requests[0].tools)

    use_fake()
    (tmp_path / "a.txt").write_text("x")
    assert not asyncio.run(offered())
    (tmp_path / "main.x").write_text("x")
    assert asyncio.run(offered())
    assert not asyncio.run(offered(settings={"debug.enabled": False}))


def test_an_adapter_of_a_project_waits_for_trust(tmp_path: Path, program: Path) -> None:
    mark = tmp_path / "started"
    adapter = {
        "command": "/bin/sh",
        "args": ["-c", f"touch {mark}"],
        "fileTypes": [".x"],
        "rootMarkers": ["*.x"],
    }
    (tmp_path / "dap.json").write_text(json.dumps({"adapters": {"evil": adapter}}))
    use_fake()
    [refused] = results(tmp_path, debug("launch", program="main.x", adapter="evil"))
    assert "run tau trust" in refused and "Installed adapters:" in refused
    assert not mark.exists()


def test_a_stop_shows_source_frames_and_locals(tmp_path: Path, program: Path) -> None:
    use_fake()
    stopped, ended = results(tmp_path, debug("launch", program="main.x"), debug("continue"))
    assert stopped == (
        "Launched with fake.\n"
        "Stopped: entry in main at main.x:2, thread 1\n"
        "  1 one\n> 2 two\n  3 three\n  4 four\n"
        "Frames:\n  1: main at main.x:2\n  2: start at no source\n"
        "Locals (scope_id 5):\n  n: int = 3"
    )
    assert ended == "The program ended with exit code 0.\nOutput since then:\n[stdout] three"


@pytest.mark.parametrize(("name", "data"), [("a.out", b"\x7fELF"), ("app-1.2", b"\x7fELF"), ("a.txt", b"hi")])
def test_a_binary_is_debugged_natively_whatever_its_name(tmp_path: Path, name: str, data: bytes) -> None:
    use_fake()
    path = Path(os.environ["TAU_HOME"]) / "dap.json"
    fake = json.loads(path.read_text())["adapters"]["fake"]
    others = {key: {"disabled": True} for key in ("gdb", "lldb-dap", "codelldb")}
    write_adapters(fake={**fake, "isNative": True}, **others)
    (tmp_path / "main.x").write_text("one\n")
    (tmp_path / name).write_bytes(data)
    [text] = results(tmp_path, debug("launch", program=name))
    wanted = "Launched with fake." if data != b"hi" else "No debugger adapter available."
    assert text.startswith(wanted)


def test_a_launch_with_a_line_runs_to_it(tmp_path: Path, program: Path) -> None:
    use_fake()
    [text] = results(tmp_path, debug("launch", program="main.x", file="main.x", line=2, condition="n > 1"))
    assert "Breakpoints in main.x:\n  main.x:2 if n > 1: set\nStopped: breakpoint" in text


EVERY_ACTION: list[tuple[DebugAction, dict[str, Any], str]] = [
    ("set_breakpoint", {"function": "main", "hit_condition": "3"}, "main hits 3: set"),
    ("remove_breakpoint", {"function": "main"}, "No function breakpoints."),
    ("set_breakpoint", {"file": "main.x", "line": 3, "log_message": "n={n}"}, "main.x:3 logs n={n}: set"),
    ("remove_breakpoint", {"file": "main.x", "line": 9}, "There is no such breakpoint."),
    ("set_breakpoint", {"exceptions": ["raised"]}, "Stops at exceptions: raised."),
    ("set_breakpoint", {"exceptions": ["odd"]}, "it has: raised, uncaught"),
    ("set_instruction_breakpoint", {"instruction_reference": "0x10", "offset": 4}, "0x10+4: set"),
    (
        "remove_instruction_breakpoint",
        {"instruction_reference": "0x10", "offset": 4},
        "No instruction breakpoints.",
    ),
    ("data_breakpoint_info", {"name": "n"}, "data_id n@1 (n); access_type write"),
    ("set_data_breakpoint", {"data_id": "n@1", "access_type": "write"}, "n@1 on write: set"),
    ("remove_data_breakpoint", {"data_id": "n@1"}, "No data breakpoints."),
    ("step_over", {}, "Stopped: step"),
    ("step_in", {}, "Stopped: step"),
    ("step_out", {}, "Stopped: step"),
    ("pause", {}, "Stopped: step"),
    ("evaluate", {"expression": "6*7"}, "42 (int)\nIts parts: variables with variable_ref 7"),
    ("stack_trace", {"levels": 1}, "1: main at main.x:2"),
    ("threads", {}, "1: main"),
    ("scopes", {}, "Locals: scope_id 5"),
    ("variables", {"scope_id": 5}, "n: int = 3"),
    ("disassemble", {"instruction_count": 1}, "0x10 nop"),
    ("read_memory", {"memory_reference": "0x10", "count": 3}, "AAEC\n1 unreadable bytes"),
    ("write_memory", {"memory_reference": "0x10", "data": "AAEC"}, "Wrote 3 bytes."),
    ("modules", {}, "app /app"),
    ("loaded_sources", {}, "/app/main.x"),
    ("custom_request", {"command": "threads"}, '"name": "main"'),
    ("output", {}, "No output yet."),
    ("sessions", {}, "Session 1: fake, stopped"),
    ("terminate", {}, "Terminated debug session 1."),
    ("terminate", {}, "No debug session to terminate."),
    ("sessions", {}, "Session 1: fake, terminated"),
]


def test_every_action_answers(tmp_path: Path, program: Path) -> None:
    use_fake()
    calls = [debug(action, **arguments) for action, arguments, _ in EVERY_ACTION]
    _, *found = results(tmp_path, debug("launch", program="main.x"), *calls)
    for (action, _, expected), text in zip(EVERY_ACTION, found, strict=True):
        assert expected in text, action


@pytest.mark.parametrize(
    ("action", "arguments", "problem"),
    [
        ("launch", {}, "program is required for launch"),
        ("attach", {}, "attach requires pid or port"),
        ("set_breakpoint", {"file": "a"}, "set_breakpoint requires file+line or function"),
        ("remove_breakpoint", {}, "remove_breakpoint requires file+line or function"),
        ("set_breakpoint", {"file": "a", "line": 1, "function": "f"}, "not both"),
        ("set_instruction_breakpoint", {}, "instruction_reference is required"),
        ("data_breakpoint_info", {}, "name is required"),
        ("set_data_breakpoint", {}, "data_id is required"),
        ("evaluate", {}, "expression is required for evaluate"),
        ("variables", {}, "variables requires variable_ref or scope_id"),
        ("disassemble", {}, "instruction_count is required for disassemble"),
        ("read_memory", {"count": 1}, "memory_reference is required for read_memory"),
        ("read_memory", {"memory_reference": "1"}, "count is required for read_memory"),
        ("write_memory", {"memory_reference": "1"}, "data is required for write_memory"),
        ("write_memory", {"memory_reference": "1", "data": "~"}, "data must be base64"),
        ("custom_request", {}, "command is required for custom_request"),
        ("launch", {"program": "no.x"}, "There is no program"),
        ("launch", {"program": "other.qq"}, "No debugger adapter available. Installed adapters: "),
        ("launch", {"program": "main.x", "adapter": "nope"}, "There is no debug adapter 'nope' here"),
        ("attach", {"adapter": "fake", "port": 1}, "fake cannot attach to a port"),
        *(
            (action, {}, NO_SESSION)
            for action in ("continue", "pause", "threads", "scopes", "modules", "output")
        ),
    ],
)
def test_errors_name_the_missing_argument(
    tmp_path: Path, program: Path, action: DebugAction, arguments: dict[str, Any], problem: str
) -> None:
    use_fake()
    (tmp_path / "other.qq").write_text("")
    [text] = results(tmp_path, debug(action, **arguments))
    assert problem in text


@pytest.mark.parametrize(
    ("action", "arguments", "capability", "what"),
    [
        ("read_memory", {"memory_reference": "1", "count": 1}, "supportsReadMemoryRequest", "memory reads"),
        (
            "write_memory",
            {"memory_reference": "1", "data": "AA=="},
            "supportsWriteMemoryRequest",
            "memory writes",
        ),
        ("disassemble", {"instruction_count": 1}, "supportsDisassembleRequest", "disassembly"),
        ("modules", {}, "supportsModulesRequest", "modules"),
        ("loaded_sources", {}, "supportsLoadedSourcesRequest", "loaded sources"),
        ("set_breakpoint", {"function": "f"}, "supportsFunctionBreakpoints", "function breakpoints"),
        ("set_data_breakpoint", {"data_id": "1"}, "supportsDataBreakpoints", "data breakpoints"),
        (
            "set_breakpoint",
            {"file": "main.x", "line": 1, "log_message": "x"},
            "supportsLogPoints",
            "log points",
        ),
    ],
)
def test_an_adapter_is_not_asked_for_what_it_lacks(
    tmp_path: Path, program: Path, action: DebugAction, arguments: dict[str, Any], capability: str, what: str
) -> None:
    use_fake(capabilities={capability: False})
    _, text = results(tmp_path, debug("launch", program="main.x"), debug(action, **arguments))
    assert text == f"Active adapter does not support {what}."


def test_reading_needs_no_approval_and_all_else_does(tmp_path: Path) -> None:
    minimal: dict[str, Any] = {
        "program": "main.x",
        "pid": 1,
        "function": "f",
        "expression": "x",
        "scope_id": 1,
        "name": "n",
        "data_id": "1",
        "instruction_reference": "1",
        "instruction_count": 1,
        "memory_reference": "1",
        "count": 1,
        "data": "AA==",
        "command": "x",
    }
    tool = Debug()
    for action in DebugAction.__args__:  # type: ignore[attr-defined]
        params, _ = tool.decode({"action": action, **minimal})
        effects = tool.effects(params, tmp_path)
        assert bool(effects.runs) == (action not in READ_ONLY), action
    launch, _ = tool.decode({"action": "launch", "program": "a b.x", "args": ["--flag"]})
    assert tool.effects(launch, tmp_path).runs == ("debug: 'a b.x' --flag",)
    with pytest.raises(tau.ToolError, match="control"):
        bad, _ = tool.decode({"action": "evaluate", "expression": "x\x1b[2K"})
        tool.effects(bad, tmp_path)


def test_in_plan_mode_nothing_is_launched(tmp_path: Path, program: Path) -> None:
    use_fake()
    [text] = results(tmp_path, debug("launch", program="main.x"), settings={"tools.approvalMode": "plan"})
    assert "Launched" not in text


def test_the_session_ends_with_its_adapter(tmp_path: Path, program: Path) -> None:
    """The fixtures fail a test that leaves a process behind."""
    use_fake(ignoreTerm=True)
    results(tmp_path, debug("launch", program="main.x"))


def details_of(folder: Path, *calls: FauxStep) -> list[DebugDetails]:
    async def main() -> list[DebugDetails]:
        options, _ = session_of(folder, *calls)
        async with tau.create_session(options) as session:
            await session.prompt("go")
            return [each.details for each in session.log.messages() if isinstance(each, ToolResultMessage)]

    return asyncio.run(main())


def test_details_have_the_snapshot_for_the_screen(tmp_path: Path, program: Path) -> None:
    use_fake()
    _, details = details_of(tmp_path, debug("launch", program="main.x"), debug("step_over"))
    assert details.state == "stopped" and details.timed_out is False
    assert details.source == [(1, "one"), (2, "two"), (3, "three"), (4, "four")]
    assert details.snapshot and details.snapshot.stop and details.snapshot.stop.top


def test_the_question_shows_all_that_the_debugger_gets(tmp_path: Path, program: Path) -> None:
    data = "QUJD" * 200
    calls: list[dict[str, Any]] = [
        {"action": "launch", "program": "main.x", "file": "main.x", "line": 2, "condition": "evil()"},
        {"action": "set_breakpoint", "function": "f", "hit_condition": "evil()", "exceptions": ["raised"]},
        {"action": "data_breakpoint_info", "name": "evil()"},
        {"action": "write_memory", "memory_reference": "0x10", "data": data},
    ]
    for given in calls:
        params, _ = Debug().decode(given)
        [shown] = Debug().effects(params, tmp_path).runs
        told = [text for key, text in given.items() if isinstance(text, str) and key != "action"]
        assert all(text in shown for text in told), shown
    params, _ = Debug().decode({"action": "set_breakpoint", "function": "f", "condition": "a\x1b[8mevil()"})
    with pytest.raises(ToolError, match="control"):
        Debug().effects(params, tmp_path)
