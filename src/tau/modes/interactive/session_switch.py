"""A request to switch sessions."""

from typing import Literal, NamedTuple

from tau.ai.wire import ImageContent


class SessionSwitch(NamedTuple):
    """Which session to open next."""

    kind: Literal["first", "new", "resume", "fork"]
    session: str = ""
    """Id or path of the session to resume or fork."""
    prompt: str = ""
    """What to send first."""
    draft: str = ""
    """Initial text of the editor,"""
    images: tuple[ImageContent, ...] = ()
    """with its images."""
    notice: str = ""
    model: str = ""
    """The model the user chose, overriding flags and settings."""


FIRST = SessionSwitch("first")
