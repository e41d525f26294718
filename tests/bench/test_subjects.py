"""The peers of the README: they talk to the fake server only, and a missing one is named."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SETTLE = """
import sys
from pathlib import Path
from subjects import peers
for one in peers(Path("peers.json")):
    settled = one.settle(Path(sys.argv[1]) / one.name, "http://127.0.0.1:9")
    print(one.name, settled.run(settled.command).output)
"""


def run_in_bench(path: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *argv], cwd=ROOT / "bench", env={"PATH": path}, capture_output=True, text=True
    )


def test_peers_get_the_address_of_the_fake_server(tmp_path: Path) -> None:
    programs = {"pi": "cat $HOME/.pi/agent/models.json", "claude": "echo $ANTHROPIC_BASE_URL"}
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    ran = run_in_bench(f"{tmp_path}:/usr/bin:/bin", "-c", SETTLE, str(tmp_path / "homes"))
    outputs = dict(line.split(" ", 1) for line in ran.stdout.splitlines() if line)
    assert list(outputs) == list(json.loads((ROOT / "bench/peers.json").read_text(encoding="utf-8")))
    assert '"baseUrl": "http://127.0.0.1:9/v1"' in outputs["pi"]
    assert outputs["claude"] == "http://127.0.0.1:9"


def test_missing_peer_is_named(tmp_path: Path) -> None:
    ran = run_in_bench(str(tmp_path), "run.py", "--peers", "peers.json")
    assert (ran.returncode, ran.stderr) == (1, "pi is not installed: no program pi on the PATH.\n")
