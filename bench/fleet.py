"""What `tau batch` adds to the same calls by xargs, and how it scales over workers.

python bench/fleet.py [--tasks N] [--quick]
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.fake import FakeServer

TAU = str(Path(sys.executable).with_name("tau"))
FLAGS = ("--provider", "fake", "--model", "fake-model", "--no-session")
MODEL_S = 0.3  # time of the model for one request, where workers are compared


def make_home(folder: Path, url: str) -> dict[str, str]:
    home = folder / "home"
    home.mkdir()
    models = [{"id": "fake-model"}]
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "x", "models": models}
    (home / "models.json").write_text(json.dumps({"providers": {"fake": provider}}))
    return {**os.environ, "TAU_HOME": str(home)}


def run_xargs(folder: Path, tasks: int, jobs: int, env: dict[str, str]) -> float:
    words = "".join(f"task-{number}\n" for number in range(tasks))
    began = time.monotonic()
    subprocess.run(
        ["xargs", "-P", str(jobs), "-I{}", TAU, *FLAGS, "-p", "{}"],
        input=words,
        cwd=folder,
        env=env,
        check=True,
        text=True,
        capture_output=True,
    )
    return time.monotonic() - began


def run_batch(folder: Path, tasks: int, jobs: int, env: dict[str, str]) -> float:
    shutil.rmtree(folder / "t-batch", ignore_errors=True)
    lines = (json.dumps({"id": f"t{number}", "prompt": f"task-{number}"}) for number in range(tasks))
    (folder / "t.jsonl").write_text("\n".join(lines))
    began = time.monotonic()
    words = [TAU, "batch", "t.jsonl", "--jobs", str(jobs), *FLAGS[:4]]
    subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    tasks = 60 if args.quick else args.tasks
    jobs = os.cpu_count() or 2
    with FakeServer() as server, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        env = make_home(folder, server.url)
        server.script(script=[{"type": "Answer"}])
        plain, batch = run_xargs(folder, tasks, jobs, env), run_batch(folder, tasks, jobs, env)
        print(f"{tasks} tasks, {jobs} at once: xargs {plain:.1f} s, tau batch {batch:.1f} s")
        print(f"tau batch takes {batch / plain:.2f} x the time of xargs")
        server.script(script=[{"type": "Answer", "delay_s": MODEL_S / 4}])
        few = tasks // 20 or 1
        one = run_batch(folder, few, 1, env)
        for workers in (2, 8):
            took = run_batch(folder, few, workers, env)
            print(f"{workers} workers, {MODEL_S * 1000:.0f} ms of model time: {one / took:.1f} x one worker")


if __name__ == "__main__":
    main()
