"""Screens of commands that tell something: help, what fills the window, what it cost, jobs, tools."""

import asyncio

from tau.ai.faux import Say, Use
from tau.coding.ports import JobReport
from tests.modes.interactive.screens.stage import Play, Screen, Script, Stage
from tests.modes.interactive.screens.talking import BUSY, USAGE

TALK: Script = [
    [Use("read", path="README.md"), USAGE],
    [Say("It says hello."), USAGE],
    [Say("One for an empty name."), USAGE],
]
WRITES: Script = [[Use("write", path="notes.md", content="Hello.\n"), USAGE], [Say("Written."), USAGE]]
YOLO = {"tools.approvalMode": "yolo"}


def told(command: str, shows: str, *questions: str) -> Play:
    async def play(stage: Stage) -> None:
        for text in questions:
            await stage.send(text)
            await stage.until(lambda: bool(stage.faux.requests), "a request")
            await stage.until(lambda: not stage.current.busy, "the end of the run")
        await stage.send(command)
        await stage.show(shows)

    return play


async def jobs(stage: Stage) -> None:
    async def work(report: JobReport) -> str:
        report("half way there")
        await asyncio.sleep(60)
        return "never"

    async def quick(report: JobReport) -> str:
        return "all green"

    stage.session.jobs.start("bash", "make all", work)
    second = stage.session.jobs.start("bash", "make test", quick)
    known = stage.session.jobs
    await stage.until(
        lambda: not any(job.running for job in known.list() if job.id == second), "the quick one"
    )
    await stage.send("/jobs")
    await stage.show("make test")


async def queue(stage: Stage) -> None:
    await stage.send("Run the tests")
    await stage.show("Running bash")
    await stage.send("Only those of greeting.py, please.")
    await stage.send("/queue")
    # To a screen reader, what comes behind a call that runs is told when it has ended.
    await stage.show("Next: Only those of" if stage.linear else "Queued messages:")


async def tasks(stage: Stage) -> None:
    for text in ("Read greeting.py", "Run the test"):
        await stage.send(f"/todo append {text}")
        await stage.show(text)
    await stage.send("/todo done Read greeting.py")
    await stage.show("Done:")
    await stage.send("/todo")
    await stage.show("1 [x] Read greeting.py")


async def renamed(stage: Stage) -> None:
    await stage.send("/name Greeting by name")
    await stage.show("The session name is")


async def system(stage: Stage) -> None:
    await stage.send("/debug")
    await stage.show("Debug")
    await stage.type("3")
    await stage.show("frames")


SCREENS = {
    "help": Screen(
        told("/help", "Prefixes and keys"),
        (
            "Conversation",
            "/plan",
            "/resume",
            "/compact",
            "/undo",
            "/model",
            "/help",
            "/exit",
            "!COMMAND",
            "@FILE",
        ),
        command="help",
    ),
    "help-one": Screen(
        told("/help undo", "Undo the agent"),
        ("/undo [list] [N] [PATH ...]", "Undo the agent"),
        command="help",
    ),
    "context": Screen(
        told("/context", "Compacts automatically above", "What does this project do?"),
        ("of 200,000 tokens used", "system prompt", "tools", "your messages", "answers", "free"),
        TALK,
        command="context",
        varies=r"[\d.,]+k?  |\d+ tools|about [\d,]+|used, [\d.]+|  \d+ %",
    ),
    "usage": Screen(
        told("/usage", "came from the cache", "What does this project do?"),
        ("example/example-large", "requests", "cached", "output", "Total cost"),
        TALK,
        command="usage",
    ),
    "stats": Screen(
        told("/stats", "For details run", "What does this project do?"),
        ("1 session", "2 requests", "example-large", "~/greeting"),
        TALK,
        command="stats",
    ),
    "session": Screen(
        told("/session", "Entries", "What does this project do?"),
        ("Name", "File", "Folder", "Model", "1 message of yours", "Tokens", "Cost"),
        TALK,
        command="session",
    ),
    "tools": Screen(
        told("/tools", "tokens per request"),
        ("read", "bash", "edit", "write"),
        command="tools",
        varies=r"  \d+  |about [\d,]+",
    ),
    "jobs": Screen(
        jobs, ("running", "make all", "completed", "make test", "/jobs cancel ID stops it."), command="jobs"
    ),
    "queue": Screen(
        queue,
        ("Queued messages:", "Only those of", "/queue drop N"),
        [[Use("bash", command=BUSY), USAGE]],
        told=("Next: Only those of greeting.py, please.",),
        command="queue",
    ),
    "todo-list": Screen(tasks, ("[x] Read greeting.py", "Run the test"), command="todo"),
    "undo-list": Screen(
        told("/undo list", "notes.md", "Write it down"),
        ("Write it down", "notes.md"),
        WRITES,
        settings=YOLO,
        command="undo",
    ),
    "undone": Screen(
        told("/undo", "Undone:", "Write it down"),
        ('Undone: "Write it down", 1 file.',),
        WRITES,
        settings=YOLO,
        command="undo",
    ),
    "changelog": Screen(told("/changelog", "make bench"), ("make bench",), command="changelog", golden=False),
    "name": Screen(renamed, ('The session name is "Greeting by name".',), command="name"),
    "debug-system": Screen(system, ("processors", "tau memory", "frames"), command="debug", golden=False),
}
