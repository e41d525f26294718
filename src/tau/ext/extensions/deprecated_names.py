"""Names that the API has dropped: they work for one minor version more, with a warning and its line."""

import sys
from types import FrameType

from tau.ext.extensions.calls import current_run

RENAMED: dict[str, str] = {}
"""What to use instead of a name of `tau.ext`, or of `ExtensionAPI.NAME`."""


def new_name(old: str) -> str | None:
    """The name to use instead; warns the extension that still uses the old one, with the place."""
    new = RENAMED.get(old)
    run = current_run.get()
    if new is not None and run is not None:
        frame: FrameType | None = sys._getframe()  # noqa: SLF001
        while frame is not None and not run.extension.owns(frame.f_code.co_filename):
            frame = frame.f_back
        place = f"{frame.f_code.co_filename}:{frame.f_lineno}: " if frame is not None else ""
        run.extension.warnings.append(f"{place}{old} goes with the next minor version of tau; use {new}.")
    return new
