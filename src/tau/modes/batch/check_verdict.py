"""What a check says about the work: by its exit code, by a reward it wrote, or by the tests that passed."""

import math
import re
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from tau.base.sizes import MIB

MAX_LOG_BYTES = 64 * MIB
MAX_REWARD_BYTES = MIB
_ROW = re.compile(r"^(PASSED|FAILED|ERROR|XPASS|XFAIL)\s+(\S.*?)(?: - .*)?$", re.MULTILINE)


class Judge(Struct, frozen=True, omit_defaults=True):
    """`exit`: code 0. `reward`: at least 1 in reward.txt or reward.json. `pytest`: `tests` pass, or all."""

    by: Literal["exit", "reward", "pytest"] = "exit"
    tests: list[str] = []


class CheckVerdict(Struct, frozen=True):
    passed: bool
    reason: str = ""
    reward: float | None = None


def judge_reward(folder: Path) -> CheckVerdict:
    """Of the files in /logs/verifier."""
    try:
        found = _reward(folder)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        return CheckVerdict(False, f"The reward cannot be read: {error}.")
    if found is None:
        return CheckVerdict(False, "The check wrote no reward.")
    return CheckVerdict(found >= 1, "" if found >= 1 else f"The reward is {found:g}.", found)


def judge_tests(log: Path, wanted: list[str]) -> CheckVerdict:
    """Of the output of `pytest -rA`."""
    try:
        with log.open("rb") as file:
            text = file.read(MAX_LOG_BYTES).decode("utf-8", "replace")
    except OSError as error:
        return CheckVerdict(False, f"The output of the check cannot be read: {error}.")
    outcomes: dict[str, str] = {}
    for outcome, test in _ROW.findall(text):
        outcomes[test] = outcome
    good = ("PASSED", "XFAIL", "XPASS")
    if wanted:
        bad = [test for test in wanted if outcomes.get(test) not in good]
        return CheckVerdict(
            not bad, f"{len(bad)} of {len(wanted)} tests did not pass: {bad[0]}." if bad else ""
        )
    bad = [test for test, outcome in outcomes.items() if outcome not in good]
    if bad:
        return CheckVerdict(False, f"{len(bad)} of {len(outcomes)} tests did not pass: {bad[0]}.")
    return CheckVerdict(bool(outcomes), "" if outcomes else "The check ran no test.")


def _reward(folder: Path) -> float | None:
    data: object
    for name in ("reward.txt", "reward.json"):
        path = folder / name
        if path.is_symlink() or not path.is_file():
            continue
        with path.open("rb") as file:
            text = file.read(MAX_REWARD_BYTES)
        data = float(text) if name == "reward.txt" else msgspec.json.decode(text)
        if isinstance(data, dict):
            data = data["reward"] if "reward" in data else min(map(float, data.values()), default=0.0)
        value = float(data)
        if not math.isfinite(value):
            raise ValueError(f"{value} is no number")
        return value
    return None
