"""What the model layer costs: decoding tables, `--list-models`, long streams. Ratios, in CPU time.

.venv/bin/python bench/ai.py [--json]
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import msgspec

from tau.ai import dialect as d
from tau.ai.assembler import Assembler
from tau.ai.catalog import DATA, ModelRow, load_catalog
from tau.ai.model import Model

DELTAS = 20_000
WINDOW = 1_000
LIMIT = 1.2  # of the last deltas to the first


def main() -> None:
    results = {**decoding(), **listing(), **streaming()}
    if "--json" in sys.argv:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        print(f"{name:44} {value:9.3f}")


def best_ms(work: Callable[[], object], times: int = 25) -> float:
    """The shortest CPU time: the rest is noise of the machine."""
    found = []
    for _ in range(times):
        start = time.process_time()
        work()
        found.append(time.process_time() - start)
    return min(found) * 1000


def decoding() -> dict[str, float]:
    tables = [path.read_bytes() for path in (DATA / "models").glob("*.json")]
    largest = max(tables, key=len)
    return {
        "decode largest table, ms (limit 0.8)": best_ms(lambda: decode(largest)),
        "decode all tables, ms (limit 5.6)": best_ms(lambda: [decode(table) for table in tables]),
        "find one model of the largest, ms": best_ms(
            lambda: load_catalog().model("openrouter", "openai/gpt-5.4")
        ),
        "all models, ms": best_ms(lambda: load_catalog().models, 10),
    }


def decode(table: bytes) -> list[ModelRow]:
    return msgspec.json.decode(table, type=list[ModelRow])


def listing() -> dict[str, float]:
    """CPU time of `tau --list-models`, and its ratio to `tau --list-models` of one provider."""
    return {
        "--list-models, ms of CPU": min(command_ms("--list-models") for _ in range(5)),
        "--list-models --provider anthropic, ms of CPU": min(
            command_ms("--list-models", "--provider", "anthropic") for _ in range(5)
        ),
    }


def command_ms(*flags: str) -> float:
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "TAU_HOME": home}
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-m", "tau", *flags]
        subprocess.run(command, env=env, stdout=subprocess.DEVNULL, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def streaming() -> dict[str, float]:
    """How much more the last deltas of a long stream cost than the first, by kind."""
    kinds: dict[str, tuple[list[d.Delta], d.Delta]] = {
        "text": ([], d.TextPiece("word ")),
        "thinking": ([], d.ThinkingPiece("word ")),
        "arguments": ([d.CallStart(0, "c", "write")], d.CallPiece(0, "word ")),
        "custom input": ([d.CallStart(0, "c", "edit", "apply_patch")], d.CallPiece(0, "word ")),
    }
    return {
        f"last {WINDOW:,} of {DELTAS:,} to the first, {kind} (limit {LIMIT})": min(
            growth(start, piece) for _ in range(7)
        )
        for kind, (start, piece) in kinds.items()
    }


def growth(start: list[d.Delta], piece: d.Delta) -> float:
    model = Model(id="m", name="M", api="a", provider="p", base_url="")
    assembler = Assembler(model, 0)
    for delta in start:
        assembler.feed(delta)
    costs = []
    for _ in range(DELTAS // WINDOW):
        began = time.process_time()
        for _ in range(WINDOW):
            assembler.feed(piece)
        costs.append(time.process_time() - began)
    return costs[-1] / costs[1]  # the very first ones warm up


if __name__ == "__main__":
    main()
