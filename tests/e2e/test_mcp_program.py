"""`tau mcp` and servers in print mode, with the real program."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.e2e.program import Program
from tests.ext.mcp.rig import FAUX_SERVER
from tests.support.fake_answers import Call

OPTIONS = json.dumps({"tools": 60})


def server_in(tau: Program) -> str:
    """The program of the server, where the sandbox can see it."""
    return str(shutil.copy(FAUX_SERVER, tau.project / "faux_server.py"))


def added(tau: Program, options: str = OPTIONS) -> None:
    ran = tau.run("mcp", "add", "faux", "--", sys.executable, "-S", server_in(tau), options)
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    assert tau.run("mcp", "test", "faux").returncode == 0  # its tools are known from now on


def loaded(text: str) -> Any:
    return json.loads(text)


def test_a_server_is_added_tested_called_and_removed(tau: Program) -> None:
    added(tau)
    assert "faux works: faux 1, protocol 2025-11-25, 60 tools" in tau.run("mcp", "test", "faux").stdout
    [row] = loaded(tau.run("mcp", "list", "--json").stdout)
    assert (row["name"], row["state"], row["provider"]) == ("faux", "connected", "tau")
    assert tau.run("mcp", "call", "faux", "tool_3", "text=hi").stdout == "hi\n"
    assert tau.run("mcp", "call", "faux", "tool_3", '{"text": "ho"}').stdout == "ho\n"
    assert len(loaded(tau.run("mcp", "tools", "faux", "--json").stdout)) == 60
    assert "faux server" in tau.run("mcp", "logs", "faux").stdout
    assert "alwaysLoad" in loaded(tau.run("mcp", "schema").stdout)["$defs"]["McpServer"]["properties"]
    assert "is off" in tau.run("mcp", "disable", "faux").stdout
    assert loaded(tau.run("mcp", "list", "--json").stdout)[0]["state"] == "off"
    assert tau.run("mcp", "enable", "faux").returncode == 0
    assert "Removed faux" in tau.run("mcp", "remove", "faux").stdout
    assert "No MCP servers" in tau.run("mcp").stdout


def test_mistakes_are_one_sentence(tau: Program) -> None:
    for words, sentence in (
        (("frobnicate",), 'Unknown action "frobnicate"'),
        (("add", "../x", "--", "true"), "The name may have letters"),
        (("test", "nobody"), 'There is no MCP server "nobody"; none are defined.'),
        (("add", "x"), "Say what to start or where it is"),
        (("add-json", "x", "{"), "This is not JSON"),
    ):
        ran = tau.run("mcp", *words)
        assert ran.returncode == 2 and sentence in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr


def test_a_print_run_searches_activates_and_calls(tau: Program) -> None:
    added(tau)
    search = Call("search_tool_bm25", {"query": "tool_7", "limit": 1})
    tau.script(search, Call("mcp__faux_tool_7", {"text": "seven"}), "Done.")
    tau.settings(**{"tools.allow": ["mcp: faux.*"], "retry.enabled": False})
    ran = tau.ask("Use tool seven.")
    assert (ran.returncode, ran.stdout) == (0, "Done.\n"), ran.stderr
    first, second, third = (request.body for request in tau.server.requests)
    names = [tool["function"]["name"] for tool in second["tools"]]
    assert "mcp__faux_tool_7" not in str(first["tools"]) and names[-1] == "mcp__faux_tool_7"
    assert "seven" in str(third["messages"][-1])


def test_a_call_that_nobody_approves_is_refused(tau: Program) -> None:
    added(tau, json.dumps({}))
    tau.script(Call("mcp__faux_echo", {"text": "hi"}), "Done.")
    assert tau.ask("Go.").returncode == 0
    assert "mcp: faux.echo" in str(tau.server.requests[1].body["messages"][-1])


def test_a_required_server_that_fails_ends_the_run(tau: Program) -> None:
    broken = {"command": "/no/such/program", "required": True}
    tau.write("mcp.json", {"mcpServers": {"broken": broken}})
    ran = tau.ask("Go.")
    assert ran.returncode == 1 and "The required MCP server broken cannot be used" in ran.stderr
    assert tau.ask("Go.", "--no-mcp").returncode == 0


def test_a_servers_file_can_be_passed(tau: Program, tmp_path: Path) -> None:
    file = tmp_path / "servers.json"
    definition = {"command": sys.executable, "args": ["-S", server_in(tau), "{}"], "required": True}
    file.write_text(json.dumps({"mcpServers": {"given": definition}}))
    tau.script("Done.")
    assert tau.ask("Go.", "--mcp-config", str(file), "--no-mcp").returncode == 0
    assert "mcp__given_echo" in str(tau.server.requests[0].body["tools"])


def test_doctor_names_servers_that_cannot_start(tau: Program) -> None:
    tau.write("mcp.json", {"mcpServers": {"broken": {"command": "/no/such/program"}}})
    ran = tau.run("doctor")
    assert "mcp:broken" in ran.stdout and "/no/such/program is not found" in ran.stdout
