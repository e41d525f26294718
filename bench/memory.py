"""Measures long-term memory: what searches find, and what they cost next to the bare full-text query.

python bench/memory.py [--facts 100000]
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[1])]

from tau.backends.memory.store import CANDIDATES, MemoryItem, MemoryStore, query_words  # noqa: E402
from tests.backends.memory.facts import facts, questions  # noqa: E402

KINDS = ("same words", "identifiers", "typos")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=100_000)
    count = parser.parse_args().facts
    with tempfile.TemporaryDirectory() as folder:
        store = _filled(Path(folder) / "small.db", facts())
        for kind in KINDS:
            asked = list(questions(kind))
            hits = sum(str(n) in [one.item.id for one in store.search(text)] for text, n in asked)
            print(f"{kind}: {hits / len(asked):.1%} among the first 8")
        many = [f"{text} Note {n}." for n in range(count // 1_000) for text in facts()]
        large = _filled(Path(folder) / "large.db", many)
        asked_words = [text for text, _ in questions("same words")][:100]
        bare = [_ms(lambda text=text: _bare(large, text)) for text in asked_words]  # type: ignore[misc]
        own = [_ms(lambda text=text: large.search(text)) for text in asked_words]  # type: ignore[misc]
        low, high = statistics.median(bare), statistics.median(own)
        print(f"{count:,} facts: bare query {low:.1f} ms, search {high:.1f} ms, {high / low:.2f} x")


def _filled(path: Path, texts: list[str]) -> MemoryStore:
    store = MemoryStore(path)
    with store._open() as db:  # noqa: SLF001 - not one transaction for each
        for number, text in enumerate(texts):
            store._insert(db, MemoryItem(str(number), text))  # noqa: SLF001
    return store


def _bare(store: MemoryStore, text: str) -> None:
    match = " OR ".join(f'"{word}"' for word in query_words(text))
    with store._open() as db:  # noqa: SLF001 - not one transaction for each
        db.execute(
            f"SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT {CANDIDATES}", (match,)
        ).fetchall()


def _ms(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1_000


if __name__ == "__main__":
    main()
