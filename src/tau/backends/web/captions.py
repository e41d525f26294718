"""Transcripts of videos: the watch page names caption tracks, and a track has the words with their times."""

import html
import json
import re
from collections.abc import Iterator

from msgspec import Struct, ValidationError, convert

from tau.backends.web.addresses import WebError

PARAGRAPH_S = 30
_PLAYER = re.compile(r"\bytInitialPlayerResponse\s*=\s*(?=\{)")


class _Track(Struct, frozen=True, rename="camel"):
    base_url: str
    language_code: str = ""
    kind: str = ""  # "asr": made by speech recognition


class _Segment(Struct, frozen=True):
    utf8: str = ""


class _Event(Struct, frozen=True, rename={"start_ms": "tStartMs"}):
    start_ms: float = 0
    segs: tuple[_Segment, ...] = ()


class _Line(Struct, frozen=True, rename={"text": "#text"}):
    start: float = 0
    text: str = ""


def player_data(page: str) -> dict[str, object]:
    """What a watch page tells its player. Raises WebError."""
    try:
        found = _PLAYER.search(page)
        data: dict[str, object] = json.JSONDecoder().raw_decode(page, found.end())[0] if found else {}
    except (ValueError, RecursionError):
        data = {}
    if not data:
        raise WebError("the watch page has no player data.")
    return data


def caption_track(tracks: object) -> tuple[str, str]:
    """The address of the best track, and its language: people's work first, then English. Raises WebError."""
    try:
        found = convert(tracks or [], list[_Track])
    except ValidationError:
        found = []
    if not found:
        raise WebError("the video has no captions.")
    best = min(found, key=lambda each: (each.kind == "asr", not each.language_code.startswith("en")))
    address = re.sub(r"&fmt=[^&]*", "", best.base_url) + "&fmt=json3"
    return address, best.language_code + ", automatic" * (best.kind == "asr")


def transcript(answer: object) -> str:
    """A paragraph for each half minute, of a track's JSON or XML. Raises WebError."""
    paragraphs: dict[int, list[str]] = {}
    try:
        for start_s, text in _spoken(answer):
            if words := text.split():
                paragraphs.setdefault(int(start_s // PARAGRAPH_S) * PARAGRAPH_S, []).extend(words)
    except (ValidationError, OverflowError):
        paragraphs = {}
    if not paragraphs:
        raise WebError("its captions are empty.")
    return "\n\n".join(f"[{at // 60}:{at % 60:02}] {' '.join(paragraphs[at])}" for at in sorted(paragraphs))


def _spoken(answer: object) -> Iterator[tuple[float, str]]:
    data = answer if isinstance(answer, dict) else {}
    for event in convert(data.get("events") or [], list[_Event]):
        yield event.start_ms / 1000, "".join(segment.utf8 for segment in event.segs)
    lines = data.get("transcript")
    for line in convert(lines.get("text") if isinstance(lines, dict) else [], list[_Line], strict=False):
        yield line.start, html.unescape(line.text)
