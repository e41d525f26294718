"""Broken patches of every kind raise only the documented errors, and quickly."""

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tau.hashline.errors import HashlineError
from tau.hashline.format import strip_pasted
from tau.hashline.parser import parse
from tau.hashline.patch import prepare
from tau.hashline.records import LineSpan
from tau.hashline.snapshots import SnapshotStore

TEXT = "one\ntwo\r\n\nfour \n\tfive\nsix"
SEEDS = (
    "¶f#{tag}\nreplace 1..2:\n+x\n+\ninsert after 3:\n++y\ndelete 5\n",
    "*** Begin Patch\n[f#{tag}]\ninsert head:\n+h\ninsert tail:\n+-t\n*** End Patch\n",
    "¶f#{tag}\nreplace block 1:\n+x\ndelete block 3\ninsert after block 5:\n+y\n¶g#0000\ndelete 1\n",
    "¶f#{tag}\r\nreplace 2 3\r\nbare\r\n\r\n7:text\r\n*** Abort\r\n",
)
SCRAPS = (
    *(
        "¶",
        "#",
        "+",
        "-",
        "..",
        "…",
        ":",
        "\n",
        "\r",
        "\r\n",
        " ",
        "\t",
        "@@",
        "@@ -1 +1 @@",
        "*** ",
        "*** Abort",
    ),
    *(
        "*** Update File: f",
        "*** End Patch\n",
        "replace ",
        "delete ",
        "insert ",
        "block ",
        "head:",
        "tail:",
        "after ",
    ),
    *(
        "0",
        "1",
        "9" * 20,
        "1..",
        "[f#",
        "]",
        "\ufeff",
        "\u2028",
        "\x00",
        "é",
        "\ud800",
        "¶f",
        "+\n",
        "1:a\n2:b\n",
    ),
)


def resolver(path: str, text: str, line: int, /) -> LineSpan | None:
    return LineSpan(line, line + 1) if line % 2 else None


def check(text: str) -> None:
    """Parsed and applied: all of it works or fails in the documented way."""
    store = SnapshotStore()
    tag = store.record("f", TEXT)
    assert tag is not None
    text = text.replace("{tag}", tag)
    strip_pasted(text)
    try:
        result = prepare(parse(text), {"f": TEXT}.get, store, resolver)
    except HashlineError as error:
        assert str(error)
        return
    for file in result:
        assert file.new_text != file.old_text
        assert file.preview()
        assert file.diff().text


def mutated(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 6)):
        at, end = sorted((rng.randint(0, len(text)), rng.randint(0, len(text))))
        match rng.randrange(6):
            case 0:
                text = text[:at] + rng.choice(SCRAPS) + text[at:]
            case 1:
                text = text[:at] + text[min(end, at + 8) :]
            case 2:
                text = text[:at] + text[at:end] + text[at:]
            case 3:
                text = text[:at] + chr(rng.randrange(0x300)) + text[at + 1 :]
            case 4:
                lines = text.split("\n")
                rng.shuffle(lines)
                text = "\n".join(lines)
            case _:
                text = text[:at] + rng.choice(SEEDS) + text[end:]
    return text[:5000]


@given(st.text())
def test_any_text(text: str) -> None:
    check(text)
    check("¶f#{tag}\n" + text)


@given(
    st.lists(
        st.sampled_from([*SCRAPS, "¶f#{tag}\n", "+x\n", "delete 2\n", "insert tail:\n+t\n"]), max_size=12
    )
)
def test_syntax_fragments_in_any_order(scraps: list[str]) -> None:
    check("".join(scraps))


def test_valid_patches_with_random_damage() -> None:
    rng = random.Random(20)
    for _ in range(3000):
        check(mutated(rng, rng.choice(SEEDS)))


@pytest.mark.soak
@pytest.mark.timeout(700)
def test_valid_patches_with_random_damage_for_ten_minutes() -> None:
    rng = random.Random()
    end = time.monotonic() + 600
    pool = list(SEEDS)
    while time.monotonic() < end:
        text = mutated(rng, rng.choice(pool))
        check(text)
        pool = [*pool[-200:], text, *SEEDS] if rng.random() < 0.05 else pool


@pytest.mark.parametrize(
    "text",
    [
        "replace 1" + " " * 1_000_000 + "x",
        "¶" + " " * 1_000_000 + "f",
        "¶" + "*" * 1_000_000,
        "¶" + "Update File:" * 100_000,
        "¶f#{tag}\ninsert tail:\n" + "\n" * 500_000 + "+x",
        "¶f#{tag}\ninsert tail:\n" + "+x\n" * 300_000,
        "¶f#{tag}\n" + "delete 1\n" * 20_000,
        "¶f#{tag}\ninsert tail:\n" + "1:x\n" * 100_000,
        "@@" + "@ " * 500_000,
        "*** " + " " * 1_000_000 + "Abort",
        "1" + " " * 1_000_000 + "2",
        "9" * 1_000_000,
    ],
    ids=lambda text: text[:24],
)
def test_long_repetitive_input_takes_linear_time(text: str) -> None:
    """Anything worse than about linear time would exceed the tests' time limit."""
    check(text)
