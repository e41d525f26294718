"""Screens of the editor: typing, completions, attachments, borders."""

import subprocess
from pathlib import Path

from PIL import Image

from tau.ai.faux import Say
from tests.modes.interactive.screens.conversation import USAGE
from tests.modes.interactive.screens.screen_rig import Play, Screen, Stage

NARROW = "A session with a name that is much longer than any status line has room for, and then some more"
FULL = {"statusLine.preset": "full"}


def typing(text: str, shows: str) -> Play:
    async def play(stage: Stage) -> None:
        await stage.type(text)
        await stage.show(shows)

    return play


async def pasted(stage: Stage) -> None:
    await stage.type("Look at this: ")
    stage.terminal.paste("\n".join(f"line {number}" for number in range(12)))
    await stage.show("[Pasted text #1 +12 lines]")


async def paste_shown(stage: Stage) -> None:
    await pasted(stage)
    await stage.press("alt+p")
    await stage.show("line 7")


async def picture(stage: Stage) -> None:
    await stage.type("What is ")
    stage.terminal.paste(f"{stage.project / 'shot.png'} ")
    await stage.show("[shot.png ")


async def picture_sent(stage: Stage) -> None:
    await picture(stage)
    await stage.press("enter")
    await stage.show("A red one.")
    await stage.until(lambda: not stage.session.busy, "the end")


async def path(stage: Stage) -> None:
    await stage.type("read ./")
    await stage.press("tab")
    await stage.show("README.md")


async def several_lines(stage: Stage) -> None:
    await stage.type("First line")
    await stage.press("shift+enter")
    await stage.type("second line that is so long that it does not fit into one row of eighty columns at all")


async def named(stage: Stage) -> None:
    stage.session.names.rename(NARROW)
    stage.parts.status_line.refresh()


async def figures(stage: Stage) -> None:
    await stage.ask("What is wrong?", "nmae")


async def clear(stage: Stage) -> None:
    await stage.type("never mind")
    await stage.press("ctrl+c")
    await stage.show("again")


async def unknown(stage: Stage) -> None:
    await stage.send("/modle")
    await stage.show("Did you mean /model?")


async def copied(stage: Stage) -> None:
    await figures(stage)
    await stage.press("alt+c")
    await stage.show("opied")


def shot(project: Path) -> None:
    Image.new("RGB", (64, 48), "red").save(project / "shot.png")


def repository(project: Path) -> None:
    for words in (["init", "-q", "-b", "main"], ["add", "README.md"]):
        subprocess.run(["git", *words], cwd=project, check=True)


WORDS = {".tau/commands/release.md": "---\ndescription: Write the notes of a release\n---\nWrite them.\n"}
SCREENS = {
    "typing-lines": Screen(
        several_lines, ("First line", "second line that is so long"), typed="columns at all"
    ),
    "complete-file": Screen(
        typing("Look at @", "README.md"),
        ("Look at @", "tests/", "README.md", "greeting.py"),
        typed="Look at @",
    ),
    "complete-file-search": Screen(
        typing("Look at @gree", "greeting.py"), ("greeting.py",), typed="Look at @gree"
    ),
    "complete-wide": Screen(
        typing("Look at @说", "说明书.md"),
        ("说明书.md",),
        typed="Look at @说",
        files={"文档/说明书.md": "x\n"},
    ),
    "complete-command": Screen(
        typing("/rel", "release"), ("/rel", "reload", "release"), typed="/rel", files=WORDS
    ),
    "complete-argument": Screen(
        typing("/thinking ", "medium"), ("off", "minimal", "low", "medium", "high"), typed="/thinking "
    ),
    "complete-path": Screen(path, ("tests/", "README.md", "greeting.py"), typed="read ./"),
    "paste-folded": Screen(
        pasted, ("Look at this: [Pasted text #1 +12 lines]",), typed="[Pasted text #1 +12 lines]"
    ),
    "paste-shown": Screen(paste_shown, ("Look at this: line 0", "line 7"), typed="Look at this: "),
    "picture": Screen(picture, ("What is [shot.png",), typed="bytes] ", before=shot),
    "picture-sent": Screen(
        picture_sent, ("What is", "shot.png", "A red one."), [[Say("A red one."), USAGE]], before=shot
    ),
    "bash-mode": Screen(typing("!ls -l", "!ls -l"), ("!ls -l",), wide=("sh",), typed="!ls -l"),
    "python-mode": Screen(typing("$1 + 1", "$1 + 1"), ("$1 + 1",), wide=("py",), typed="$1 + 1"),
    "session-name": Screen(named, ("example-large",)),
    "status-full": Screen(
        figures,
        ("example-large",),
        [[Say("It returns nmae."), USAGE]],
        wide=("4% of 200k", "main*"),
        settings=FULL,
        before=repository,
    ),
    "clear": Screen(clear, ("again",)),
    "unknown-command": Screen(
        unknown, ("Unknown command /modle.", "Did you mean /model?", "/modle"), typed="/modle"
    ),
    "copied": Screen(copied, ("opied",), [[Say("It returns nmae."), USAGE]]),
}
