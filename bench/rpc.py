"""What RPC mode costs: one long answer with and without snapshots, and the time to the first answer. Ratios.

.venv/bin/python bench/rpc.py [--json] [--pi COMMAND]

COMMAND starts pi, as in "node pi-coding-agent/dist/bundle/cli.js": then the ratios to it are shown too.
"""

import argparse
import compileall
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fake import FakeServer

SOURCE = Path(__file__).parent.parent / "src"
TAU = [sys.executable, "-m", "tau"]
DELTAS = 8_000
TIMES = 3
CHUNK_BYTES = 65_536
# Writes as many bytes as its argument says to a pipe: what copying them costs.
COPY = "import os, sys\nn, c = int(sys.argv[1]), bytes(65536)\nwhile n > 0:\n    n -= os.write(1, c[:n])"


@dataclass(frozen=True)
class Answer:
    """CPU time of the program from its first answer on."""

    cpu_s: float
    output_bytes: int


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure RPC mode against a fake model server.")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--pi", type=shlex.split, metavar="COMMAND")
    arguments = parser.parse_args()
    compileall.compile_dir(SOURCE, quiet=2)
    with FakeServer() as server, tempfile.TemporaryDirectory() as folder:
        env = _environment(Path(folder), server.url)
        none = _best(server, env, TAU, "--snapshots", "none")
        full = _best(server, env, TAU, "--snapshots", "full")
        twice = _best(server, env, TAU, "--snapshots", "none", deltas=2 * DELTAS)
        copy_cpu_s = _copy_cpu_s(full.output_bytes)
        results = {
            "none: bytes to those of the text alone": none.output_bytes / _text_bytes(server, env),
            "none: second 8,000 deltas to the first (1.3)": twice.cpu_s / none.cpu_s - 1,
            "snapshots: CPU to copying their bytes (2)": (full.cpu_s - none.cpu_s) / copy_cpu_s,
            "full: CPU to copying its bytes": full.cpu_s / copy_cpu_s,
            "spawn to get_state: to python -c pass": _state_s(env, TAU) / _bare_s(),
        }
        if arguments.pi:
            pi = _best(server, env, arguments.pi)
            results["none: bytes to pi (1.2)"] = none.output_bytes / pi.output_bytes
            results["none: CPU to pi (1)"] = none.cpu_s / pi.cpu_s
            results["spawn to get_state: to pi (0.5)"] = _state_s(env, TAU) / _state_s(env, arguments.pi)
    if arguments.json:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        print(f"{name:48} {value:9.2f}")


def _environment(home: Path, url: str) -> dict[str, str]:
    provider = {
        "baseUrl": f"{url}/v1",
        "api": "openai-completions",
        "apiKey": "x",
        "models": [{"id": "fake-model", "contextWindow": 10_000_000, "maxTokens": 32_000}],
    }
    peer = home / ".pi/agent"
    peer.mkdir(parents=True)
    for folder in (home, peer):
        (folder / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    (home / "settings.json").write_text(json.dumps({"titles.enabled": False}))
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "TAU_HOME": str(home), "HOME": str(home), "PI_OFFLINE": "1"}


def _start(env: dict[str, str], program: Sequence[str], *flags: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*program, "--mode", "rpc", "--provider", "fake", "--model", "fake-model", "--no-session", *flags],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=CHUNK_BYTES,  # a reader of less wakes the writer more often
        env=env,
        cwd=env["TAU_HOME"],
    )


def _ask(child: "subprocess.Popen[bytes]", command: dict[str, str]) -> None:
    assert child.stdin is not None
    child.stdin.write(json.dumps(command).encode() + b"\n")
    child.stdin.flush()


def _best(
    server: FakeServer, env: dict[str, str], program: Sequence[str], *flags: str, deltas: int = DELTAS
) -> Answer:
    return min(
        (_answer(server, env, program, flags, deltas) for _ in range(TIMES)), key=lambda one: one.cpu_s
    )


def _answer(
    server: FakeServer, env: dict[str, str], program: Sequence[str], flags: Sequence[str], deltas: int
) -> Answer:
    server.script(scenario="flood", deltas=deltas)
    with _start(env, program, *flags) as child:
        assert child.stdin is not None and child.stdout is not None
        _ask(child, {"type": "get_state"})
        for line in child.stdout:
            if b'"command":"get_state"' in line[:80]:
                break
        before_s = _cpu_s(child.pid)
        _ask(child, {"type": "prompt", "message": "go"})
        size = 0
        for line in child.stdout:
            size += len(line)
            if line.startswith(b'{"type":"agent_settled"'):
                break
        used_s = _cpu_s(child.pid) - before_s
        child.stdin.close()
    return Answer(used_s, size)


def _cpu_s(pid: int) -> float:
    return time.clock_gettime((~pid << 3) | 2)  # the clock of another process, on Linux


def _text_bytes(server: FakeServer, env: dict[str, str]) -> int:
    server.script(scenario="flood", deltas=DELTAS)
    argv = [sys.executable, "-m", "tau", "-p", "--provider", "fake", "--model", "fake-model", "--no-session"]
    ran = subprocess.run([*argv, "go"], env=env, capture_output=True, check=True, cwd=env["TAU_HOME"])
    return len(ran.stdout)


def _copy_cpu_s(size: int) -> float:
    """Of a program that writes so many bytes to a pipe, without its start."""
    return max(min(_child_cpu_s(size) for _ in range(TIMES)) - min(_child_cpu_s(0) for _ in range(3)), 0.001)


def _child_cpu_s(size: int) -> float:
    with subprocess.Popen([sys.executable, "-c", COPY, str(size)], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        while child.stdout.read(CHUNK_BYTES):
            pass
        _, _, used = os.wait4(child.pid, 0)
        child.returncode = 0
    return used.ru_utime + used.ru_stime


def _state_s(env: dict[str, str], program: Sequence[str]) -> float:
    found = []
    for _ in range(2 * TIMES):
        start = time.perf_counter()
        with _start(env, program) as child:
            assert child.stdin is not None and child.stdout is not None
            _ask(child, {"type": "get_state"})
            for line in child.stdout:
                if b'"command":"get_state"' in line[:80]:
                    break
            found.append(time.perf_counter() - start)
            child.stdin.close()
    return min(found)


def _bare_s() -> float:
    found = []
    for _ in range(2 * TIMES):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", "pass"], check=True)
        found.append(time.perf_counter() - start)
    return min(found)


if __name__ == "__main__":
    main()
