"""Golden results of many good and bad patches."""

from pathlib import Path

import pytest

from tau.hashline.errors import HashlineError
from tau.hashline.parser import parse
from tau.hashline.patch import prepare, record_written, report
from tau.hashline.records import LineSpan
from tau.hashline.snapshots import SnapshotStore
from tests.support.golden import check, listed, read_cases

CASES, GOLDEN = Path(__file__).parent / "cases", Path(__file__).parent / "golden"
PATCHES = read_cases(CASES / "patches.txt")
TEXT = "".join(f"line {number}\n" for number in range(1, 21))
TEXTS = {
    "open": TEXT.removesuffix("\n"),
    "crlf": TEXT.replace("\n", "\r\n"),
    "mixed": TEXT.replace("5\n", "5\r\n").replace("6\n", "6\r\n"),
    "cr": TEXT.replace("\n", "\r"),
}


def block_at(path: str, text: str, line: int, /) -> LineSpan | None:
    """Lines 3 to 6 are a block."""
    return LineSpan(3, 6) if line in (3, 4) else None


def outcome(text: str, body: str, now: str | None = None, *, blocks: bool = True) -> str:
    """The report of a patch for a shown text that may have changed since."""
    store = SnapshotStore()
    tag = store.record("f", text)
    current = text if now is None else now
    try:
        patch = parse(f"¶f#{tag}\n{body}")
        prepared = prepare(patch, {"f": current}.get, store, resolver=block_at if blocks else None)
    except HashlineError as error:
        return f"{type(error).__name__}: {error}"
    [file] = prepared
    diff = file.diff("f")
    reported = [*patch.warnings, *file.warnings, report(file, record_written(store, file))]
    counts = f"+{diff.added} -{diff.removed}, first {diff.first_changed_line}"
    return "\n".join([*reported, counts, diff.text])


def test_patches() -> None:
    outcomes = [(name, outcome(TEXT, body)) for name, body in PATCHES.items()]
    check(GOLDEN / "patches.txt", listed(outcomes))


@pytest.mark.parametrize("kind", TEXTS)
def test_line_endings_after_patches(kind: str) -> None:
    def written(body: str) -> str:
        store = SnapshotStore()
        tag, read = store.record("f", TEXTS[kind]), {"f": TEXTS[kind]}.get
        try:
            [file] = prepare(parse(f"¶f#{tag}\n{body}"), read, store, resolver=block_at)
        except HashlineError as error:
            return type(error).__name__
        return file.new_text.replace("line ", "").replace("\r", "<CR>").replace("\n", "<LF>")

    outcomes = [(name, written(body)) for name, body in PATCHES.items()]
    check(GOLDEN / f"ends_{kind}.txt", listed(outcomes))


CHANGES = {
    "a line more at the top": lambda text: "new\n" + text,
    "a line more at the end": lambda text: text + "new\n",
    "a line less": lambda text: text.replace("line 9\n", ""),
    "another line 5": lambda text: text.replace("line 5\n", "line five\n"),
    "a line between 5 and 6": lambda text: text.replace("line 6\n", "new\nline 6\n"),
    "twice the same lines": lambda text: text.replace("line 9\n", "line 5\nline 6\n"),
    "nothing left": lambda text: "",
}


def test_patches_for_a_changed_file() -> None:
    chosen = [name for name in PATCHES if name.startswith(("replace", "delete", "insert", "rows", "a block"))]
    outcomes = [
        (f"{name}, {change}", outcome(TEXT, PATCHES[name], changed(TEXT)))
        for change, changed in CHANGES.items()
        for name in chosen
    ]
    check(GOLDEN / "changed_files.txt", listed(outcomes))


def test_unresolvable_blocks() -> None:
    chosen = [name for name in PATCHES if "block" in name]
    outcomes = [(name, outcome(TEXT, PATCHES[name], blocks=False)) for name in chosen]
    check(GOLDEN / "no_blocks.txt", listed(outcomes))
