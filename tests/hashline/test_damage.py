"""Patches with damaged syntax: an error or the meant text, never the patch's own syntax in a file."""

import random

import pytest

from tau.hashline.errors import HashlineError
from tau.hashline.parser import BARE_ROWS_WARNING, PASTED_ROWS_WARNING, parse
from tau.hashline.patch import prepare
from tau.hashline.snapshots import SnapshotStore

OLD = {name: "".join(f"{name} old {number}\n" for number in range(1, 13)) for name in ("a.py", "b.py")}
PROSE = ["Now the second file:", "Done.", "Here is the change", "I replaced the line."]
FENCES = ["```", "```python", "~~~", "  ```"]
BAD_HEADERS = [
    "[b.py]",
    "[b.py#12]",
    "File: b.py",
    "## b.py",
    "**File: b.py**",
    "¶b.py",
    "# b.py",
    "*** b.py",
    "b.py",
    "b.py:",
    "`b.py`",
    "b.py#1111",
    "=== b.py ===",
]
OPERATIONS = [
    "replace 3..4:",
    "delete 9",
    "insert after 7:",
    "insert head:",
    "replace 11..11:",
    "insert tail:",
]


def section(rng: random.Random, name: str, tag: str | None) -> list[str]:
    lines = [f"¶{name}#{tag}"]
    for operation in rng.sample(OPERATIONS, rng.randint(1, 4)):
        lines.append(operation)
        if not operation.startswith("delete"):
            lines += [
                f"+{rng.choice(['', '  '])}{name} new {rng.randint(1, 99)}" for _ in range(rng.randint(1, 3))
            ]
    return lines


def damage(rng: random.Random, lines: list[str]) -> list[str]:
    at = rng.randrange(len(lines))
    line = lines[at]
    match rng.randrange(9):
        case 0:
            return [*lines[:at], rng.choice(["  ", "    ", "\t"]) + line, *lines[at + 1 :]]
        case 1:
            return [row.capitalize() if row in OPERATIONS else row for row in lines]
        case 2:
            return [*lines[:at], rng.choice(PROSE), *lines[at:]]
        case 3:
            return [*lines[:at], rng.choice(FENCES), *lines[at:]]
        case 4:
            return [*lines, rng.choice(FENCES)]
        case 5:
            return [*lines[:at], rng.choice(["*", "* ", "**", " *3:", "> ", "`"]) + line, *lines[at + 1 :]]
        case 6:
            return [row if not row.startswith("¶b") else rng.choice(BAD_HEADERS) for row in lines]
        case 7:
            return [row.removeprefix("+") if rng.random() < 0.4 else row for row in lines]
        case _:
            return [f"{rng.choice(['  ', '    '])}{row}" for row in lines]


def damaged(seed: int, store: SnapshotStore) -> list[str]:
    rng = random.Random(seed)
    tags = {name: store.record(name, text) for name, text in OLD.items()}
    lines = section(rng, "a.py", tags["a.py"]) + section(rng, "b.py", tags["b.py"])
    for _ in range(rng.randint(1, 3)):
        lines = damage(rng, lines)
    return lines


def check(seed: int) -> bool:
    """Whether the patch was applied. Every new line must be a meant one, in its own file."""
    store = SnapshotStore()
    lines = damaged(seed, store)
    try:
        patch = parse("\n".join(lines) + "\n")
        files = prepare(patch, OLD.get, store)
    except HashlineError:
        return False
    warned = any(
        text[:20] in warning
        for warning in patch.warnings
        for text in (BARE_ROWS_WARNING, PASTED_ROWS_WARNING)
    )
    for file in files:
        for row in file.new_text.splitlines():
            meant = row.strip().startswith((f"{file.path} old ", f"{file.path} new "))
            prose = warned and row.strip() in PROSE  # in a body without any `+`, prose is a row like others
            assert meant or prose, (seed, row, lines)
    return True


@pytest.mark.parametrize("count", [500, pytest.param(10_000, marks=pytest.mark.soak)])
def test_damaged_patches_put_their_own_syntax_into_files(count: int) -> None:
    applied = sum(check(seed) for seed in range(count))
    assert count / 50 < applied < count
