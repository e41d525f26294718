"""Screens of informational commands: help, context, costs, jobs, tools."""

import asyncio
import socket

from tau.ai.faux import Say, Use
from tau.backends.sandbox.network.port_forwarding import SandboxPorts
from tau.coding.ports import JobReport
from tests.modes.interactive.screens.conversation import BUSY, USAGE
from tests.modes.interactive.screens.screen_rig import Play, Screen, Script, Stage

TALK: Script = [
    [Use("read", path="README.md"), USAGE],
    [Say("It says hello."), USAGE],
    [Say("One for an empty name."), USAGE],
]
WRITES: Script = [[Use("write", path="notes.md", content="Hello.\n"), USAGE], [Say("Written."), USAGE]]
YOLO = {"tools.approvalMode": "yolo"}


def command_play(command: str, shows: str, *questions: str) -> Play:
    async def play(stage: Stage) -> None:
        for text in questions:
            await stage.send(text)
            await stage.until(lambda: bool(stage.faux.requests), "a request")
            await stage.until(lambda: not stage.session.busy, "the end of the run")
        await stage.send(command)
        await stage.show(shows)

    return play


async def jobs(stage: Stage) -> None:
    async def work(report: JobReport) -> str:
        report("half way there")
        await asyncio.sleep(600)
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


async def job_output(stage: Stage) -> None:
    await jobs(stage)
    if stage.linear:
        await stage.send("/jobs bash-1")
    else:
        await stage.press("down", "enter")
    await stage.show("half way there")


class ServersInside:
    """A sandbox with two servers, one of them forwarded."""

    contained = True

    def __init__(self, group: asyncio.TaskGroup) -> None:
        self.commands = self
        self.ports = SandboxPorts(group, self.read_tables, self.make_socket)
        self.ports.forwarded = {3000: 3000}.get  # type: ignore[method-assign, assignment]

    async def read_tables(self) -> str:
        rest = "00000000:0000 0A 00000000:00000000 00:00000000 00000000 1000 0 0 1"
        return f"0: 0100007F:0BB8 {rest}\n1: 00000000:1F90 {rest}\n"

    async def make_socket(self, address: str) -> socket.socket:
        raise OSError("Nothing is there")


async def ports(stage: Stage) -> None:
    async with asyncio.TaskGroup() as group:
        stage.session.sandbox = ServersInside(group)  # type: ignore[assignment]
        await stage.send("/ports")
        await stage.show("stop PORT stops that.")


async def queue(stage: Stage) -> None:
    await stage.send("Run the tests")
    await stage.show("Running bash")
    await stage.send("Only those of greeting.py, please.")
    await stage.send("/queue")
    # A screen reader hears what follows a running call only when it has ended.
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
    await stage.show("Renamed the session")


async def system(stage: Stage) -> None:
    await stage.send("/debug")
    await stage.show("Debug")
    await stage.type("3")
    await stage.show("frames")


SCREENS = {
    "help": Screen(
        command_play("/help", "Prefixes and keys"),
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
        command_play("/help undo", "Undo the agent"),
        ("/undo [list] [N] [PATH ...]", "Undo the agent"),
        command="help",
    ),
    "context": Screen(
        command_play("/context", "Compacts automatically above", "What does this project do?"),
        ("of 200,000 tokens used", "system prompt", "tools", "your messages", "answers", "free"),
        TALK,
        command="context",
        varies=r"[\d.,]+k?  |\d+ tools|about [\d,]+|used, [\d.]+|  \d+ %",
    ),
    "usage": Screen(
        command_play("/usage", "came from the cache", "What does this project do?"),
        ("example/example-large", "requests", "cached", "output", "Total cost"),
        TALK,
        command="usage",
    ),
    "stats": Screen(
        command_play("/stats", "For details run", "What does this project do?"),
        ("1 session", "2 requests", "example-large", "~/greeting"),
        TALK,
        command="stats",
    ),
    "session": Screen(
        command_play("/session", "Entries", "What does this project do?"),
        ("Name", "File", "Folder", "Model", "1 message from you", "Tokens", "Cost"),
        TALK,
        command="session",
    ),
    "tools": Screen(
        command_play("/tools", "tokens per request"),
        ("read", "bash", "edit", "write"),
        command="tools",
        varies=r"  \d+  |about [\d,]+",
    ),
    "hooks": Screen(
        command_play("/hooks", "There are no command hooks."), ("hooks.json",), command="hooks", golden=False
    ),
    "extensions": Screen(
        command_play("/extensions", "Nothing found."), ("skills",), command="extensions", golden=False
    ),
    "permissions": Screen(
        command_play("/permissions", "connect: *.example.com"),
        (
            "ask mode",
            "Permission mode ask",
            "Denied (tools.deny)",
            "run: git push",
            "Allowed without asking (tools.allow)",
        ),
        command="permissions",
        settings={
            "tools.approvalMode": "ask",
            "tools.allow": ["run: make test", "write: ~/notes/**", "connect: *.example.com"],
            "tools.deny": ["run: git push", "read: ./.env"],
        },
    ),
    "jobs": Screen(
        jobs,
        ("make all", "completed", "make test", "Enter show its output"),
        wide=("bash-1 running",),
        announced=("running", "make all", "completed", "make test", "/jobs cancel ID stops it."),
        opens="commands.undo_and_jobs._choose_job",
        command="jobs",
        settings={"async.continueWhenDone": False},
    ),
    "jobs-output": Screen(
        job_output,
        ("bash-1 running", "half way there", "S stop"),
        announced=("bash-1 running", "half way there"),
        opens="selectors.job_pager.show_job",
        varies=r"running, [\d.]+ s",
        typed=None,
    ),
    "ports": Screen(
        ports,
        ("3000", "http://127.0.0.1:3000", "8080", "/ports PORT forwards a port to this machine"),
        command="ports",
    ),
    "queue": Screen(
        queue,
        ("Queued messages:", "Only those of", "/queue drop N"),
        [[Use("bash", command=BUSY), USAGE]],
        announced=("Next: Only those of greeting.py, please.",),
        command="queue",
    ),
    "todo-list": Screen(tasks, ("[x] Read greeting.py", "Run the test"), command="todo"),
    "undo-list": Screen(
        command_play("/undo list", "notes.md", "Write it down"),
        ("Write it down", "notes.md"),
        WRITES,
        settings=YOLO,
        command="undo",
    ),
    "undone": Screen(
        command_play("/undo", "Undone:", "Write it down"),
        ('Undone: "Write it down", 1 file.',),
        WRITES,
        settings=YOLO,
        command="undo",
    ),
    "changelog": Screen(
        command_play("/changelog", "make bench"), ("make bench",), command="changelog", golden=False
    ),
    "name": Screen(renamed, ('Renamed the session to "Greeting by name".',), command="name"),
    "doctor": Screen(
        command_play("/doctor", "is valid"), ("sandbox", "permissions"), command="doctor", golden=False
    ),
    "debug-system": Screen(system, ("processors", "tau memory", "frames"), command="debug", golden=False),
}
