"""Rows of SWE-bench: an issue of a repository, and the tests that must pass afterwards."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from tau.base.errors import ConfigError
from tau.modes.batch.check_verdict import Judge
from tau.modes.batch.suite_task import SuiteTask

HOST = "https://github.com/"
TEST_COMMAND = "python3 -m pytest -rA"
PROMPT = "Resolve this issue of the repository in the current directory. Do not change its tests.\n\n{issue}"
_CHANGED = re.compile(r"^diff --git a/(.+?) b/(.+)$", re.MULTILINE)


class _Row(Struct, kw_only=True):
    instance_id: str
    repo: str
    base_commit: str
    problem_statement: str
    patch: str = ""
    test_patch: str = ""
    fail_to_pass: list[str] | str = field(name="FAIL_TO_PASS")
    pass_to_pass: list[str] | str = field(name="PASS_TO_PASS", default="[]")
    test_cmd: str = TEST_COMMAND  # in variants of the data set


def load_swe_bench(path: Path) -> dict[str, SuiteTask]:
    """Of a JSONL file, or a JSON file with a list. Raises OSError and ConfigError."""
    found: dict[str, SuiteTask] = {}
    for number, row in _rows(path):
        try:
            one = msgspec.convert(row, _Row)
            found[one.instance_id] = _task(one)
        except (ValueError, msgspec.MsgspecError) as error:
            raise ConfigError(f"{error}.".replace("..", "."), path=path, line=number) from None
    return found


def _rows(path: Path) -> Iterator[tuple[int, object]]:
    text = path.read_bytes()
    try:
        if text.lstrip().startswith(b"["):
            yield from enumerate(msgspec.json.decode(text, type=list[Any]), 1)
            return
    except msgspec.MsgspecError as error:
        raise ConfigError(f"Not JSON: {error}.", path=path) from None
    for number, line in enumerate(text.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, msgspec.json.decode(line)
            except msgspec.DecodeError as error:
                raise ConfigError(f"Not JSON: {error}.", path=path, line=number) from None


def _task(row: _Row) -> SuiteTask:
    tests = [*_names(row.fail_to_pass), *_names(row.pass_to_pass)]
    if not tests:
        raise ValueError("FAIL_TO_PASS: no test is named")
    files = sorted({name for pair in _CHANGED.findall(row.test_patch) for name in pair})
    is_address = "://" in row.repo or Path(row.repo).expanduser().exists()
    return SuiteTask(
        prompt=PROMPT.format(issue=row.problem_statement),
        repo=row.repo if is_address else f"{HOST}{row.repo}",
        commit=row.base_commit,
        check=_check(row, files, tests),
        solution=_apply(row.patch) if row.patch else "",
        judge=Judge("pytest", tests),
    )


def _check(row: _Row, files: list[str], tests: list[str]) -> str:
    """Undo what the agent did to the tests, add those of the row, and run the named ones."""
    steps: list[str] = []
    if files:
        restore = f'git checkout -q {row.base_commit} -- "$name" 2>/dev/null || rm -f -- "$name"'
        steps.append(f"for name in {shlex.join(files)}; do {restore}; done")
        steps.append(_apply(row.test_patch))
    return "\n".join([*steps, f"{row.test_cmd} {shlex.join(tests)}"])


def _apply(patch: str) -> str:
    end = "END_OF_PATCH"
    while end in patch:
        end += "_"
    return f"git apply --whitespace=nowarn - <<'{end}'\n{patch.rstrip(chr(10))}\n{end}"


def _names(given: list[str] | str) -> list[str]:
    return msgspec.json.decode(given, type=list[str]) if isinstance(given, str) else given
