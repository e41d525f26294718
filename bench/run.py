"""Measures tau, the bare interpreter and any peers side by side: `bench/run.py [--quick] [--peers FILE]`.

Each round runs all subjects once, so that noise affects all alike.
"""

import argparse
import compileall
import importlib.util
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import report
from fake import FakeServer, make_certificate
from spawn import Run
from subjects import Subject, floor, peers, tau

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
VENV_PYTHON = ROOT / ".venv" / "bin" / "python"
RUNTIME = ("tau", "msgspec", "httptools", "jiter")
ROUNDS = {"version": 25, "start": 15, "memory": 5, "tools": 9, "flood": 9}
PAIRS: dict[str, dict[str, dict[str, Any]]] = {  # of each, the difference is the figure
    "tools": {
        "no tools": {"scenario": "tools", "turns": 0},
        "tools": {"scenario": "tools", "turns": report.TURNS},
    },
    "flood": {
        "drop": {"scenario": "flood", "deltas": 1},
        "flood": {"scenario": "flood", "deltas": report.DELTAS},
    },
}
QUICK_ROUNDS = {"version": 5, "start": 3, "memory": 1, "tools": 1, "flood": 1}

Sample = dict[str, float]
Step = tuple[str, Subject, Callable[[], Sample]]  # stage, who, what to do


class Bench:
    """The samples: `samples[subject][stage]` has one entry per round."""

    def __init__(self, rounds: dict[str, int]) -> None:
        self.rounds = rounds
        self.samples: dict[str, dict[str, list[Sample]]] = {}
        self.versions: dict[str, str] = {}

    def run(self, name: str, steps: list[Step]) -> None:
        count = self.rounds[name]
        for number in range(1, count + 1):
            for stage, subject, measure in steps:
                if stage not in subject.without:
                    self.samples.setdefault(subject.name, {}).setdefault(stage, []).append(measure())
            print(f"\r{name}: {number} of {count} ", end="", file=sys.stderr, flush=True)
        print(file=sys.stderr)


def run_plainly(subject: Subject, command: list[str]) -> Sample:
    return sample_of(subject, subject.run(command))


def ask(subject: Subject, server: FakeServer, memory: bool = False, **scenario: Any) -> Sample:
    """Run one prompt; the server records when the first byte of the first request arrived."""
    server.script(**{"cwd": str(subject.work), **subject.control, **scenario})
    run = subject.run(subject.command, sample_memory=memory)
    sample = sample_of(subject, run)
    requests = server.requests()
    requests = [one for one in requests if one.get("tools_bytes")] or requests  # others are for titles etc.
    turns = scenario.get("turns", 0)
    if len(requests) <= turns:
        raise SystemExit(f"{subject.name} made {len(requests)} requests and {turns} tool turns were due.")
    first = requests[0]
    sample["first_ms"] = (first["t"] - run.started) * 1000
    sample["prompt_tokens"] = (first.get("sys_bytes", 0) + first.get("tools_bytes", 0)) / 4
    return sample


def sample_of(subject: Subject, run: Run) -> Sample:
    if run.code != 0:
        raise SystemExit(f"{subject.name} ended with exit code {run.code}:\n{run.output[-2000:]}")
    return {"wall_ms": run.wall_ms, "cpu_ms": run.cpu_ms, "rss_mb": run.rss_mb, "pss_mb": run.pss_mb}


def measure(
    bench: Bench, subjects: list[Subject], folder: Path, plain: FakeServer, secure: FakeServer | None
) -> None:
    bare = floor().settle(folder / "floor", plain.url)
    settled = [one.settle(folder / one.name, plain.url) for one in subjects]
    for one in settled:
        ask(one, plain, scenario="hello")  # warm caches, first-run setup done
        bench.versions[one.name] = one.run(one.version_command).output.strip()

    nothing = partial(run_plainly, bare, bare.command)
    steps: list[Step] = [("version", bare, nothing)]
    steps += [("version", one, partial(run_plainly, one, one.version_command)) for one in settled]
    bench.run("version", steps)

    steps = [("http", bare, nothing)]
    steps += [("http", one, partial(ask, one, plain, scenario="hello")) for one in settled]
    if secure is not None:
        trusting = tau().settle(folder / "https", secure.url, {"SSL_CERT_FILE": str(secure.certificate)})
        steps.append(("https", trusting, partial(ask, trusting, secure, scenario="hello")))
    bench.run("start", steps)

    watched = partial(ask, memory=True, scenario="hello")
    bench.run("memory", [("memory", one, partial(watched, one, plain)) for one in settled])

    for name, pair in PAIRS.items():
        bench.run(
            name,
            [(stage, one, partial(ask, one, plain, **how)) for one in settled for stage, how in pair.items()],
        )


def compile_first() -> None:
    """Compile everything a run imports, as in an installed package."""
    for name in RUNTIME:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise SystemExit(f"{name} is not installed for {sys.executable}; `make run` sets everything up.")
        compileall.compile_dir(Path(spec.origin).parent, quiet=2)


def write_results(bench: Bench, results: dict[str, report.Figures]) -> None:
    about = {
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "load": " ".join(f"{value:.1f}" for value in os.getloadavg()),
        "rounds": bench.rounds,
        "versions": bench.versions,
    }
    RESULTS.mkdir(exist_ok=True)
    when = time.strftime("%Y-%m-%dT%H-%M-%SZ", time.gmtime())
    everything = {"about": about, "figures": results, "samples": bench.samples}
    (RESULTS / f"{when}.json").write_text(json.dumps(everything, indent=1) + "\n")
    (RESULTS / "latest.md").write_text(report.document(when, about, results))


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure tau against a fake model server.")
    parser.add_argument("--quick", action="store_true", help="a few rounds only, to see that it works")
    parser.add_argument("--peers", type=Path, metavar="FILE.json", help="programs to measure in the same run")
    arguments = parser.parse_args()
    subjects = [tau(), *(peers(arguments.peers) if arguments.peers else [])]
    if os.getloadavg()[0] > (os.cpu_count() or 1) / 2:
        print("The machine is busy: times will be longer than they are, ratios less so.", file=sys.stderr)
    compile_first()
    bench = Bench(QUICK_ROUNDS if arguments.quick else ROUNDS)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tau-bench-")))
        plain = stack.enter_context(FakeServer())
        secure = None
        if shutil.which("openssl"):
            secure = stack.enter_context(FakeServer(make_certificate(folder)))
        else:
            print("https is not measured: openssl is not installed.", file=sys.stderr)
        measure(bench, subjects, folder, plain, secure)
    bare = bench.samples[report.FLOOR]
    results = {one.name: report.figures(bench.samples[one.name], bare) for one in subjects}
    write_results(bench, results)
    print(report.table(results))
    return 0


if __name__ == "__main__":
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    if (
        importlib.util.find_spec("tau") is None
        and VENV_PYTHON.exists()
        and Path(sys.executable) != VENV_PYTHON
    ):
        os.execv(VENV_PYTHON, [str(VENV_PYTHON), *sys.argv])
    sys.exit(main())
