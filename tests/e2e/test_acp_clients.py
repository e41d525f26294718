"""ACP mode with published clients, unchanged: the TypeScript SDK and acpx."""

import json
import os
import subprocess
from typing import Any

from tests.e2e.program import FAKE, TAU, Program
from tests.e2e.test_acp_program import start
from tests.e2e.test_rpc_clients import CLIENTS
from tests.support.fake_answers import Call, Text
from tests.support.limits import HANG_S
from tests.support.npm_packages import ACP


def test_typescript_sdk_drives_a_session(tau: Program) -> None:
    start(tau)
    tau.script(
        (Text("I write."), Call("write", {"path": "a.txt", "content": "x\n"})),
        "Done.",
        (Call("bash", {"command": "sleep 60"}),),
        "never",
    )
    command = [*TAU, "acp", *FAKE, "--approval-mode", "ask"]
    ran = subprocess.run(
        ["node", str(CLIENTS / "acp_client.mjs"), str(ACP.require()), str(tau.project)],
        capture_output=True,
        text=True,
        timeout=2 * HANG_S,
        env={**os.environ, "TAU_COMMAND": json.dumps(command)},
    )
    assert (ran.returncode, ran.stderr) == (0, "")
    seen: dict[str, Any] = json.loads(ran.stdout)
    capabilities = seen["initialize"]["agentCapabilities"]
    assert capabilities["loadSession"] is True
    assert set(capabilities["sessionCapabilities"]) == {
        *("list", "fork", "resume", "close", "additionalDirectories"),
    }
    assert (seen["prompt"]["stopReason"], seen["canceled"], seen["missing"]) == (
        *("end_turn", "cancelled"),
        -32601,
    )
    kinds = {update["sessionUpdate"] for update in seen["updates"]}
    assert {"agent_message_chunk", "tool_call", "tool_call_update", "usage_update"} <= kinds
    assert seen["asked"][0]["kind"] == "edit"
    assert seen["replayed"][:3] == ["user_message_chunk", "agent_message_chunk", "tool_call"]
    assert [one["title"] for one in seen["list"]["sessions"]] == ["go"]
    assert (tau.project / "a.txt").read_text() == "x\n"


def test_acpx_runs_a_prompt_with_a_tool(tau: Program) -> None:
    start(tau)
    tau.script((Call("write", {"path": "a.txt", "content": "x\n"}),), "All done.")
    agent = " ".join([*TAU, "acp", *FAKE, "--approval-mode", "ask"])
    argv = ["node", str(ACP.require() / ".bin" / "acpx"), "--agent", agent, "--approve-all"]
    ran = subprocess.run(
        [*argv, "--cwd", str(tau.project), "--format", "json", "exec", "write a file"],
        capture_output=True,
        text=True,
        timeout=2 * HANG_S,
        cwd=tau.project,
    )
    assert ran.returncode == 0, ran.stderr + ran.stdout
    messages = [json.loads(line) for line in ran.stdout.splitlines()]
    text = "".join(str(message) for message in messages)
    assert "All done." in text and "end_turn" in text
    assert (tau.project / "a.txt").read_text() == "x\n"
