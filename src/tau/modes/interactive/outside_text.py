"""A text that is not in the editor of the screen, changed in an editor of the user's own."""

import shutil
from typing import TYPE_CHECKING

from tau.base.errors import TauError
from tau.base.late import late
from tau.base.sizes import MIB, format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from tau.modes.interactive.app import App

external = late("tau.modes.interactive.editing.external")
tempfile = late("tempfile")
paths = late("pathlib")

MAX_BYTES = 4 * MIB


async def edited(app: "App", text: str, name: str = "text.md") -> str:
    """The text as the person has left it. Raises TauError; then nothing has changed."""
    argv = external.chosen()
    folder: Path = paths.Path(tempfile.mkdtemp(prefix="tau-edit-"))
    try:
        file = folder / name
        file.write_text(text, encoding="utf-8", errors="replace")
        app.screen.suspend()
        try:
            code = await external.run([*argv, str(file)], app.cwd)
        finally:
            app.screen.resume()
            app.screen.request_render(force=True)
        if code != 0:
            raise TauError(f"{argv[0]} ended with code {code}; the text is as it was.")
        return _read(file, text)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _read(file: "Path", before: str) -> str:
    try:
        size = file.stat().st_size
        if size > MAX_BYTES:
            raise TauError(f"The text has {format_bytes(size)}, which is too long; the old one is kept.")
        after = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TauError(f"The text cannot be read back: {error.strerror}; the old one is kept.") from None
    # Most editors end a file with a newline that nobody typed.
    return after if before.endswith("\n") else after.removesuffix("\n")
