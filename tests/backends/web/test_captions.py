"""Transcripts of videos: the best captions are shown, and their absence is explained."""

from collections.abc import Mapping
from typing import Any

import pytest

from tau.backends.web import captions
from tests.backends.web.test_sites import CASES, WATCH_PAGE, read, watch_page

TRACK = "www.youtube.com/api/timedtext?v=1&fmt=json3"
HERE = watch_page({"baseUrl": "/api/timedtext?v=1"})
AWAY = watch_page({"baseUrl": "https://127.0.0.1/timedtext?v=1"})
UNKNOWN = {"events": [{"segs": "x"}]}


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ({}, "www.youtube.com answered 404."),
        ({WATCH_PAGE: "<p>Before you continue"}, "the watch page has no player data."),
        (
            {WATCH_PAGE: "ytInitialPlayerResponse = {" + '"a":[' * 100_000},
            "the watch page has no player data.",
        ),
        ({WATCH_PAGE: watch_page()}, "the video has no captions."),
        ({WATCH_PAGE: watch_page({"kind": "asr"})}, "the video has no captions."),
        ({WATCH_PAGE: AWAY}, "its captions are on another host, 127.0.0.1."),
        ({WATCH_PAGE: HERE}, "www.youtube.com answered 404."),
        ({WATCH_PAGE: HERE, TRACK: ""}, "its captions are empty."),
        ({WATCH_PAGE: HERE, TRACK: UNKNOWN}, "its captions are empty."),
    ],
)
def test_a_video_without_a_transcript_says_why(answers: Mapping[str, Any], why: str) -> None:
    address, recorded, _ = CASES["youtube"]
    oembed = next(name for name in recorded if "oembed" in name)
    text, notes, client = read(address, {oembed: recorded[oembed], **answers})
    assert text.startswith("# A talk\nChannel: Eve\n") and "Transcript" not in text
    assert notes == [f"no transcript: {why}"]
    assert set(client.hosts) == {"www.youtube.com"}


def test_captions_may_be_xml() -> None:
    tree = {"transcript": {"text": [{"start": "31.5", "dur": "2", "#text": "It&#39;s  here"}]}}
    assert captions.transcript(tree) == "[0:30] It's here"
