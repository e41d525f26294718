"""What the sandbox costs: commands in it, compared with `bash -c true` outside in the same run.

    python bench/sandbox.py [--rounds N]

Prints medians and their differences to the bare command, and the same for the least times, which a busy
machine distorts less. Each round measures every row once, so that all of
them see the same machine.
"""

import argparse
import asyncio
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from msgspec.structs import replace

from tau.backends.sandbox import engines
from tau.backends.sandbox.session import SandboxOptions, SessionSandbox
from tau.backends.shell.session import ShellSession
from tau.base.run import LocalRunner

BARE = "bash -c true"
COMMAND = ("bash", "-c", "true")
# The most that a row may take more than the bare command, in milliseconds.
LIMITS_MS = {
    "in the live shell": 1.0,
    "forked in the sandbox": 5.0,
    "new bubblewrap": 8.0,
    "start, once": 40.0,
}


async def measure(engine: str, rounds: int, folder: Path) -> dict[str, tuple[float, float]]:
    project = folder / "project"
    options = SandboxOptions(roots=(project,), caches=folder / "caches", engine=engine, mode="required")
    outside = LocalRunner()
    async with SessionSandbox(options, outside) as sandbox:
        inside = LocalRunner(sandbox=sandbox)
        if not await inside.prepare():
            raise SystemExit(f"{engine} does not work here: {sandbox.problem}")
        async with ShellSession(inside, cwd=project) as shell:

            async def fork(runner: LocalRunner) -> None:
                async with await runner.start(COMMAND, cwd=project) as process:
                    await process.wait()

            async def in_shell() -> None:
                async with (await shell.start("true")).process as process:
                    await process.wait()

            async def start() -> None:
                async with SessionSandbox(replace(options), outside) as other:
                    began = time.perf_counter()
                    await other.prepare()
                    starts.append(time.perf_counter() - began)

            async def new_bubblewrap() -> None:
                await asyncio.to_thread(subprocess.run, bubblewrap(sandbox), check=True)

            starts: list[float] = []
            work: dict[str, Callable[[], Awaitable[None]]] = {
                BARE: lambda: fork(outside),
                "in the live shell": in_shell,
                "forked in the sandbox": lambda: fork(inside),
                "start, once": start,
            }
            if engine == "bubblewrap":
                work["new bubblewrap"] = new_bubblewrap
            times: dict[str, list[float]] = {name: [] for name in work}
            for call in work.values():
                await call()  # imports and caches
            starts.clear()
            for _ in range(rounds):
                for name, call in work.items():
                    began = time.perf_counter()
                    await call()
                    times[name].append(time.perf_counter() - began)
            times["start, once"] = starts
        inside.close()
    outside.close()
    return {name: (statistics.median(taken) * 1000, min(taken) * 1000) for name, taken in times.items()}


def bubblewrap(sandbox: SessionSandbox) -> list[str]:
    """A bubblewrap of its own for one command, with the same mounts."""
    words = ["bwrap", "--unshare-all", "--cap-drop", "ALL", "--die-with-parent", "--ro-bind", "/", "/"]
    words += ["--dev", "/dev", "--proc", "/proc"]
    for mount in sandbox.mounts:
        words += engines.bubblewrap_words(mount)
    return [*words, "--", *COMMAND]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    print(f"{'':14}{'':24}{'median':>10}{'over bare':>12}{'least over':>12}{'limit':>8}")
    too_slow = False
    for engine in engines.ENGINES:
        if problem := engine.missing():
            print(f"{engine.name:14}{problem}")
            continue
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(["git", "init", "-q", f"{folder}/project"], check=True)
            medians = asyncio.run(measure(engine.name, rounds, Path(folder)))
        bare = medians[BARE]
        for name, (taken, least) in medians.items():
            limit = LIMITS_MS.get(name)
            over, least_over = (taken, least) if name == "start, once" else (taken - bare[0], least - bare[1])
            shown = "" if limit is None else f"{limit:5.0f} ms"
            print(f"{engine.name:14}{name:24}{taken:7.2f} ms{over:9.2f} ms{least_over:9.2f} ms{shown:>8}")
            too_slow |= engine.name == "bubblewrap" and limit is not None and over > limit
    sys.exit(too_slow)


if __name__ == "__main__":
    main()
