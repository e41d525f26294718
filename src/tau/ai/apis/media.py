"""Detects errors caused by an image or a document rather than the whole request."""

import re
from collections.abc import Set

STATUS = frozenset({400, 404, 413, 415, 422, 500})  # some use 404 or 500 for a model without vision
KINDS = frozenset(
    {
        "invalid_image",
        "invalid_image_format",
        "invalid_image_url",
        "invalid_image_mode",
        "invalid_base64_image",
        "image_parse_error",
        "image_too_large",
        "image_too_small",
        "image_file_too_large",
        "empty_image_file",
        "failed_to_download_image",
        "unsupported_image_media_type",
        "image_content_policy_violation",
    }
)

_THING = r"(?:image|picture|pdf|document)"
_WORDS = re.compile(
    # what could not be done with it
    r"(?:could not|couldn't|cannot|can't|unable to|failed to|error(?: while)?) "
    r"(?:process|decode|load|parse|read|open|identify|download)(?:ing)? "
    rf"(?:the |this |your |provided |input |an? )*{_THING}\b"
    # what it is
    r"|(?:unsupported|invalid|corrupt(?:ed)?|malformed|empty|broken) (?:base64 |input )?(?:image|pdf)\b"
    rf"|\b{_THING}[\w ]{{0,30}} (?:exceeds?|exceeded|too (?:large|big|small|long)|appears to be"
    r"|(?:is |are |was |were )?(?:not valid|invalid|empty|corrupt|encrypted|password[- ]protected)"
    r"|cannot be empty|(?:does )?not (?:represent|match))\b"
    r"|\binvalid base64|unsupported (?:mime|media) type"
    # how many and how large they are
    r"|image dimensions|many-image requests|too (?:many|much) (?:images|media|pdf pages)"
    r"|(?:maximum|limit) of \d+ (?:images|pdf pages)"
    # where it stands
    r"|\b(?:image|document)\.source\b|\bimage_url\b"
    # that there may be none at all
    r"|\b(?:images?|vision|multimodal)[\w ]{0,20} (?:is|are) (?:not|only) supported"
    r"|(?:not|n't) (?:support|accept|take)s? (?:image|vision|multimodal|pdf)|support image input",
    re.I,
)


def is_refused(status: int | None, kinds: Set[str], text: str) -> bool:
    """`kinds` are the error's codes in lower case, `text` its message and parameter."""
    return status in STATUS and (bool(kinds & KINDS) or _WORDS.search(text) is not None)
