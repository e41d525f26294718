"""Extensions of the real program: when they are imported, what they write, and what Escape stops."""

from tests.e2e.interactive.launcher import OK, WELCOME, Launcher
from tests.e2e.program import wait_for

CODE = """
import asyncio, os, time
from pathlib import Path

here = Path(__file__).parent
(here / "importing").write_text("now")
while not (here / "painted").exists():
    time.sleep(0.01)

def noise():
    os.write(1, b"NOISE")
    os.write(2, b"NOISE")
    os.system("echo NOISE")

noise()

def extension(tau):
    @tau.tool(effects="none")
    def late_tool(text: str) -> str:
        "A tool."
        return text

    @tau.command("hang")
    async def hang(args, ctx):
        noise()
        ctx.ui.notify("Waiting for ever")
        await asyncio.sleep(1000)
"""


def test_extension_is_imported_after_the_first_paint_and_before_the_first_request(launcher: Launcher) -> None:
    (launcher.tau.project / "e.py").write_text(CODE)
    user = launcher.start("-e", "e.py", ready=WELCOME)  # its import waits for what this has seen
    wait_for(launcher.tau.project / "importing")
    user.send("hello")
    (launcher.tau.project / "painted").touch()
    user.see(OK)
    [request] = launcher.tau.server.requests
    assert "late_tool" in [tool["function"]["name"] for tool in request.body["tools"]]

    user.send("/hang").see("Waiting for ever")
    user.press("escape").see("Stopped /hang.")
    user.ask("and again", OK)
    user.miss("NOISE")
    assert user.leave() == 0
    log = launcher.tau.home / "logs" / "extension-output.log"
    assert log.read_text().count("NOISE") == 6
