"""RPC mode with the published clients of two other agents, unchanged: every method they have."""

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

from tests.e2e.program import TAU, Program
from tests.support.fake_answers import Call
from tests.support.limits import HANG_S
from tests.support.npm_packages import OMP, PI

CLIENTS = Path(__file__).parent / "clients"
SLOW = (Call("bash", {"command": "sleep 60"}),)


def run_client(tau: Program, script: str, command: list[str], argv: list[str]) -> dict[str, Any]:
    """What the client's script saw; it must have called every method of the client."""
    ran = subprocess.run(
        argv,
        capture_output=True,
        text=True,
        cwd=tau.project,
        timeout=2 * HANG_S,
        env={**os.environ, "TAU_COMMAND": json.dumps(command)},
    )
    assert ran.returncode == 0, ran.stderr
    seen: dict[str, Any] = json.loads(ran.stdout)
    called = set(re.findall(r"client\.(\w+)\(", (CLIENTS / script).read_text()))
    called |= set(re.findall(r'"(on\w+)"', (CLIENTS / script).read_text()))
    private = {
        "constructor",
        "handleLine",
        "createProcessExitError",
        "rejectPendingRequests",
        "send",
        "getData",
    }
    assert set(seen["methods"]) - private - called == set()
    assert seen["stderr"] == ""
    return seen


def check_common(seen: dict[str, Any], page: Path) -> None:
    assert seen["lastText"] == "two"
    assert (seen["state"]["messageCount"], seen["messages"]) == (4, 4)
    assert (seen["bash"]["output"].strip(), seen["bash"]["exitCode"]) == ("from bash", 0)
    assert seen["slow"] is True
    assert (seen["setModel"], "fake-model" in seen["models"]) == ("fake-model", True)
    assert (seen["cycleModel"], seen["cycleThinking"]) == (None, None)
    assert seen["stats"] == 2
    assert Path(seen["html"]) == page and page.exists()
    assert seen["commands"] == []
    assert seen["switch"] == {"cancelled": False}
    assert seen["compact"] == "summary"
    assert seen["steered"] == "steered answer"
    assert seen["newSession"] == {"cancelled": False}
    assert "agent_start" in seen["promptAndWait"]


def test_client_of_pi_works_unchanged(tau: Program) -> None:
    tau.script("one " * 900, "two", "summary " * 60, SLOW, "steered answer")
    tau.settings(**{"retry.enabled": False, "compaction.keepRecentTokens": 1, "interruptMode": "wait"})
    page = tau.project / "page.html"
    modules = PI.require()
    argv = ["node", str(CLIENTS / "pi_client.mjs"), str(modules), str(CLIENTS / "shim.mjs"), str(page)]
    seen = run_client(tau, "pi_client.mjs", list(TAU), argv)
    check_common(seen, page)
    assert (seen["promptAndWait"][-1], seen["collectEvents"]) == ("agent_settled", "agent_settled")
    assert [point["text"] for point in seen["forkMessages"]] == ["first", "second"]
    assert (seen["fork"]["text"], seen["clone"]) == ("second", {"cancelled": False})
    assert seen["cleared"] == {"steering": ["steered"], "followUp": ["followed"]}
    assert seen["entries"].count("message") == 6
    assert seen["levels"] == ["off"]
    assert "nowhere" in seen["refused"]


def test_client_of_omp_works_unchanged(tau: Program) -> None:
    weather = (Call("weather", {"city": "Bern"}),)
    document = "Handoff: the work is done. " * 20
    late = ("one answer", "another", "steered answer", document, "continued")
    tau.script("one " * 900, "two", "summary " * 60, weather, "sunny", SLOW, *late)
    tau.settings(**{"retry.enabled": False, "compaction.keepRecentTokens": 1, "interruptMode": "wait"})
    page = tau.project / "page.html"
    modules = OMP.require()
    argv = [str(modules / ".bin" / "bun"), str(CLIENTS / "omp_client.ts"), str(modules), str(page)]
    seen = run_client(tau, "omp_client.ts", list(TAU), argv)
    check_common(seen, page)
    assert seen["promptAndWait"][-1] == seen["collectEvents"] == "agent_end"
    assert [point["text"] for point in seen["branchMessages"]] == ["first", "second"]
    assert (seen["branch"]["text"], seen["page"]) == ("second", 2)
    assert seen["weather"]["content"][0]["text"] == "Sun in Bern"
    assert seen["handoff"] == "Handoff"
    assert seen["sessionEvents"] > 0
    assert seen["code"].pop("setFastMode") == "unknown_command"
    assert "it takes API keys" in seen["code"].pop("login")
    assert "openrouter" in [row["id"] for row in seen["loginProviders"]]
    assert seen["code"].pop("getSubagentMessages") == 'There is no agent "1".'
    assert set(seen["code"].values()) == {"accepted"}
