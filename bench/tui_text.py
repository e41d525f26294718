"""A long, reproducible Markdown answer, and its deltas."""

from collections.abc import Iterator
from random import Random

_TEXT = (
    "the engine keeps every row that scrolled away exactly as it was and paints only what changed since "
    "the last frame so a long talk costs no more than a short one while the cursor stays where it is"
)
_WORDS = _TEXT.split()


def answer(size: int) -> str:
    """Return about `size` characters of paragraphs, lists, code, tables, quotes and links."""
    random = Random(7)
    parts: list[str] = []
    total = number = 0
    while total < size:
        number += 1
        part = _section(random, number)
        parts.append(part)
        total += len(part)
    return "".join(parts)[:size]


def deltas(text: str, count: int) -> Iterator[str]:
    """Split the text into this many pieces of about equal length."""
    for step in range(count):
        yield text[step * len(text) // count : (step + 1) * len(text) // count]


def _section(random: Random, number: int) -> str:
    kind = number % 6
    if kind == 1:
        return f"## Part {number}\n\n{_prose(random, 60)}\n\n"
    if kind == 2:
        return "".join(f"- {_prose(random, 12)}\n" for _ in range(5)) + "\n"
    if kind == 3:
        body = "".join(
            f"    total += step({line}, name={random.choice(_WORDS)!r})  # {line}\n" for line in range(12)
        )
        return f"```python\ndef run_{number}(total: int) -> int:\n{body}    return total\n```\n\n"
    if kind == 4:
        rows = "".join(
            f"| {random.choice(_WORDS)} | {line} | `{random.choice(_WORDS)}` |\n" for line in range(5)
        )
        return f"| name | count | code |\n|---|---|---|\n{rows}\n"
    if kind == 5:
        link = f"[the page](https://example.org/{number})"
        return f"> {_prose(random, 30)}\n\nSee {link} and **{_prose(random, 3)}**.\n\n"
    return f"{_prose(random, 80)} `code {number}` {_prose(random, 20)}\n\n"


def _prose(random: Random, words: int) -> str:
    return " ".join(random.choice(_WORDS) for _ in range(words))
