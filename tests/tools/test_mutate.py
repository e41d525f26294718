"""The mutation tester: its mutants, the draw, which tests it runs first, what it leaves running."""

import ast
import importlib
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.limits import HANG_S
from tools.mutants import find_mutants

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def mutate(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    return importlib.import_module("mutate")


def mutated(tmp_path: Path, source: str) -> set[str]:
    """Each mutant of `source`, as the lines that changed."""
    (tmp_path / "code.py").write_text(source)
    before = source.splitlines()
    versions = [mutant.apply(source.encode()).decode() for mutant in find_mutants(tmp_path, ["code.py"])]
    for version in versions:
        ast.parse(version)
    return {
        "; ".join(line.strip() for line in version.splitlines() if line not in before) for version in versions
    }


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a = b < c", {"a = (b <= c)"}),
        ("a = b < c == d", {"a = (b <= c == d)", "a = (b < c != d)"}),
        ("a = b and not c", {"a = (b or not c)", "a = b and (c)"}),
        ("a = b + c * 2", {"a = (b - c * 2)", "a = b + (c // 2)", "a = b + c * 3"}),
        ("a = f'{b + 1}' + c", set()),
        ("if a:\n    b()", {"if True:", "if False:", "pass"}),
        ("while a:\n    b += 1", {"while False:", "pass", "b -= 1", "b += 2"}),
        ("for a in b:\n    break", {"continue"}),
        ("a.b = c\nd = e", {"pass"}),
        ("a = [b for b in c if b]", {"a = [b for b in c if True]"}),
        ("a = min(b, c)", {"a = max(b, c)"}),
        ("def a(b=1):\n    return b", {"def a(b=2):", "return None"}),
        ("def a() -> bool:\n    return b", {"return (not b)"}),
        ("def a() -> bool:\n    return b < c", {"return (not b < c)", "return (b <= c)"}),
        ("def a() -> bool:\n    return b == c", {"return (b != c)"}),
        ("def a() -> bool:\n    return not b", {"return (b)"}),
        ("def a() -> bool:\n    return False", {"return True"}),
        ("with suppress(A):\n    b()", {"with suppress():", "pass"}),
        ("try:\n    a()\nexcept B:\n    c()\nfinally:\n    d()", {"pass", "raise"}),
        (
            "match a:\n    case B() if c:\n        return_()",
            {"case B() if True:", "case B() if False:", "pass"},
        ),
    ],
)
def test_each_kind_of_mutation_is_made(tmp_path: Path, source: str, expected: set[str]) -> None:
    assert mutated(tmp_path, source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "if TYPE_CHECKING:\n    a = 1",
        'if __name__ == "__main__":\n    main()',
        "def __repr__(self):\n    return 1",
        "def a(b: Literal[1]) -> Literal[2]: ...",
        "a: Literal[1]",
        "class A(Struct, frozen=True, gc=False): ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "log.debug(f'{a}', 1)",
        "__all__ = [1]",
        "assert a == 1",
        "assert_never(a)",
        "A = Bc | De | None",
    ],
)
def test_unnoticeable_mutations_are_skipped(tmp_path: Path, source: str) -> None:
    assert mutated(tmp_path, source) == set()


def test_every_mutant_of_real_code_is_a_different_program() -> None:
    path = "src/tau/agent/queue.py"
    source = (ROOT / path).read_bytes()
    found = find_mutants(ROOT, [path])
    assert len(found) > 50
    programs = {ast.dump(ast.parse(mutant.apply(source))) for mutant in found}
    assert len(programs) > 0.9 * len(found) and ast.dump(ast.parse(source)) not in programs


def test_tests_run_nearest_first_and_the_real_program_last(mutate: Any, tmp_path: Path) -> None:
    files = {
        "src/tau/agent/queue.py": "",
        "src/tau/agent/loop.py": "from tau.agent import queue",
        "src/tau/modes/face.py": 'loop = late("tau.agent.loop")',
        "src/tau/modes/other.py": "",
        "tests/agent/test_loop.py": "from tau.agent.loop import run",
        "tests/agent/test_queue.py": "from tau.agent.queue import Queue",
        "tests/e2e/test_program.py": "",
        "tests/modes/test_face.py": "import tau.modes.face",
        "tests/modes/test_other.py": "import tau.modes.other",
    }
    for path, source in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(source)
    assert mutate.Imports(tmp_path).order_tests("src/tau/agent/queue.py") == (
        ["tests/agent/test_queue.py", "tests/agent/test_loop.py", "tests/modes/test_face.py"],
        ["tests/e2e/test_program.py"],
    )


def test_process_that_left_its_group_is_killed_by_its_mark(mutate: Any) -> None:
    command = ["sleep", "60"]
    marked = subprocess.Popen(command, env={"MUTATED": "here"}, start_new_session=True)
    other = subprocess.Popen(command, env={"MUTATED": "elsewhere"}, start_new_session=True)
    try:
        while not Path(f"/proc/{marked.pid}/environ").read_bytes():  # for a moment after its start
            time.sleep(0.001)
        mutate.kill_marked("MUTATED=here")
        assert marked.wait(HANG_S) == -9
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_same_seed_draws_the_same_mutants() -> None:
    def listed(seed: int) -> str:
        options = ["--list", "--sample", "5", "--seed", str(seed), "--path", "src/tau/agent/queue.py"]
        return subprocess.check_output([sys.executable, "tools/mutate.py", *options], cwd=ROOT, text=True)

    first = listed(1)
    assert first == listed(1) != listed(2)
    assert len(first.splitlines()) == 6


def ranks(tmp_path: Path, source: str) -> list[bytes]:
    (tmp_path / "code.py").write_text(source)
    return [mutant.rank(1) for mutant in find_mutants(tmp_path, ["code.py"])]


def test_edit_elsewhere_leaves_the_draw_alone(tmp_path: Path) -> None:
    old = "def a():\n    b(1)\n    b(1)\n    return c < d"
    before = ranks(tmp_path, old)
    after = ranks(tmp_path, f"def new():\n    b(1)\n\n{old.replace('c < d', 'c  <  e')}")
    assert len(set(before)) == len(before) == 6
    assert set(before[:4]) < set(after) and not {*before[4:]} & {*after}


def test_scope_without_code_is_refused() -> None:
    command = [sys.executable, "tools/mutate.py", "--path", "docs/images"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2 and "nothing to mutate" in run.stderr
