"""The wish for another session."""

from typing import Literal, NamedTuple

from tau.ai.wire import ImageContent


class SessionSwitch(NamedTuple):
    """Which session comes next."""

    kind: Literal["first", "new", "resume", "fork"]
    session: str = ""
    """Id or path of the one to resume or fork."""
    prompt: str = ""
    """What to send first."""
    draft: str = ""
    """What stands in the editor then,"""
    images: tuple[ImageContent, ...] = ()
    """with its pictures."""
    notice: str = ""
    model: str = ""
    """The one that the person has chosen for it, whatever flags and settings name."""


FIRST = SessionSwitch("first")
