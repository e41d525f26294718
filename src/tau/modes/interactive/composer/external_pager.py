"""Shows text in the user's own pager."""

from tau.base.errors import TauError
from tau.base.late import late
from tau.modes.interactive.screen_protocols import Display

editor_process = late("tau.modes.interactive.composer.editor_process")


async def page(text: str, display: Display) -> str:
    """Show the text in $PAGER until it ends; returns what went wrong, if anything."""
    try:
        argv = editor_process.pager_command()
        with editor_process.private_file(f"{text}\n", "transcript.txt") as file:
            display.screen.suspend()
            try:
                code = await editor_process.run([*argv, str(file)], file.parent, variables="PAGER")
            finally:
                display.screen.resume()
    except TauError as error:
        return str(error)
    return f"{argv[0]} exited with code {code}." if code else ""
