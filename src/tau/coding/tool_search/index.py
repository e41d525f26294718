"""A BM25+ index over tools: names weigh most, then labels and servers, then descriptions and parameters."""

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from tau.agent.tool import Tool
from tau.base.errors import ToolError
from tau.base.text import clean_line

K1, B, DELTA = 1.2, 0.75, 1.0
WEIGHTS = {"name": 6, "label": 4, "tool": 4, "server": 2, "summary": 2, "key": 1}
SUMMARY_CHARS = 200
NO_WORDS = "Query must contain at least one letter or number."


class ToolDocument(Struct, frozen=True):
    """What is searched and shown of a tool."""

    name: str
    label: str
    summary: str
    server: str = ""
    tool: str = ""
    keys: tuple[str, ...] = ()

    @classmethod
    def of(cls, tool: Tool[Any]) -> "ToolDocument":
        properties = tool.spec.parameters.get("properties")
        keys = tuple(properties) if isinstance(properties, Mapping) else ()
        summary = tool.description if tool.origin.kind == "mcp" else tool.description[:SUMMARY_CHARS]
        return cls(tool.name, tool.label, clean_line(summary), tool.origin.server, tool.origin.tool, keys)


class ToolMatch(Struct, frozen=True):
    document: ToolDocument
    score: float


class ToolIndex:
    """Built once per set of tools; a query costs about a millisecond for hundreds of them."""

    def __init__(self, documents: Iterable[ToolDocument]) -> None:
        self.documents = list(documents)
        self._lengths: list[int] = []
        self._postings: dict[str, list[tuple[int, int]]] = {}
        for number, document in enumerate(self.documents):
            counts = _counts(document)
            self._lengths.append(sum(counts.values()))
            for word, count in counts.items():
                self._postings.setdefault(word, []).append((number, count))

    def search(self, query: str) -> list[ToolMatch]:
        """All that match, best first. Raises ToolError for a query without words."""
        words = tokenize(query)
        if not words:
            raise ToolError(NO_WORDS)
        total = len(self.documents)
        average = sum(self._lengths) / total if total else 1.0
        scores: dict[int, float] = {}
        for word in dict.fromkeys(words):
            found = self._postings.get(word, ())
            rarity = math.log(1 + (total - len(found) + 0.5) / (len(found) + 0.5))
            for number, count in found:
                norm = K1 * (1 - B + B * self._lengths[number] / average)
                part = rarity * (count * (K1 + 1) / (count + norm) + DELTA)
                scores[number] = scores.get(number, 0.0) + part
        matches = [ToolMatch(self.documents[number], score) for number, score in scores.items()]
        return sorted(matches, key=lambda match: (-match.score, match.document.name))


def _counts(document: ToolDocument) -> Counter[str]:
    fields: Sequence[tuple[str, str]] = (
        ("name", document.name),
        ("label", document.label),
        ("tool", document.tool),
        ("server", document.server),
        ("summary", document.summary),
        *(("key", key) for key in document.keys),
    )
    counts: Counter[str] = Counter()
    for field, text in fields:
        for word in tokenize(text):
            counts[word] += WEIGHTS[field]
    return counts


def tokenize(text: str) -> list[str]:
    """Words in lowercase, without accents; `createIssue2DB` has four."""
    if not text.isascii():
        text = "".join(
            letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter)
        )
    text = re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1 \2", text)
    text = re.sub(r"([a-z0-9])([A-Z])", r"\1 \2", text)
    return re.findall(r"[^\W_]+", text.lower())
