"""A program for child processes: one scripted session, killed at each of its points.

`kill_points.py FOLDER COUNT` plays the session once to count its points: every event, and the moments before
and after every log entry and every change of the queue file. It is then played again for COUNT of them,
spread evenly, or for `all`, each in a separate child and folder (FOLDER/<point>), and killed with signal 9
right there. Each child writes what was reported to it so far to FOLDER/<point>/report, one line of JSON each.
Prints the points that were played.
"""

import asyncio
import os
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from tau.agent.events import AgentEvent, BashEnd, MessageEnd
from tau.agent.hooks import Hooks, ToolQuestion
from tau.ai.faux import Act, Fail, FauxStep, Say, Think, Use, Wait
from tau.ai.wire import CustomMessage
from tau.base.clock import now_ms
from tau.base.errors import ProviderError
from tau.coding.session import queue_file
from tau.coding.session.entries import CompactionEntry
from tau.coding.session.session import Session
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.rig import scripted

BUSY = ProviderError("busy, come back", status=529, retryable=True)
WORDS = "There is a lot to say about this, and it comes in many small pieces. "


class Victim:
    """Counts points and dies at one of them; 0 survives."""

    def __init__(self, folder: Path, last: int) -> None:
        self.count = 0
        self.last = last
        self.report = os.open(folder / "report", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def point(self) -> None:
        self.count += 1
        if self.count == self.last:
            os.kill(os.getpid(), signal.SIGKILL)

    def note(self, kind: str, value: Any) -> None:
        os.write(self.report, msgspec.json.encode({kind: value}) + b"\n")

    def on_event(self, event: AgentEvent) -> None:
        match event:
            case MessageEnd(message=message):
                self.note("ended", message)
            case BashEnd(message=message):
                self.note("ran", message.command)
        self.point()

    def watch(self, owner: type, name: str) -> None:
        """Make the moments before and after each call of a method points too."""
        real = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            self.point()
            result = real(*args, **kwargs)
            self.point()
            return result

        setattr(owner, name, watched)


class SideLine(Hooks):
    """The user runs a command whenever a file is about to be read: in the middle of a turn."""

    def __init__(self) -> None:
        self.run: Callable[[str], Any] | None = None
        self.count = 0

    async def before_tool(self, question: ToolQuestion) -> str | None:
        if question.call.name == "read" and self.run is not None:
            self.count += 1
            await self.run(f"echo beside {self.count}")
        return None


class ScriptedConversation:
    """A conversation with everything that must not be lost."""

    def __init__(self, victim: Victim) -> None:
        self.victim = victim
        self.session: Session | None = None

    def queue(self, kind: str, *texts: str) -> Act:
        def act() -> None:
            assert self.session is not None
            for text in texts:
                if kind == "aside":
                    self.session.queue.aside(CustomMessage("job", text, True, now_ms()))
                else:
                    {"steer": self.session.steer, "follow": self.session.follow_up}[kind](text)
                self.victim.note("queued", text)

        return Act(act)

    def take_back(self) -> Act:
        def act() -> None:
            assert self.session is not None
            text = self.session.queue.waiting()[-1].text
            self.victim.note("taking", text)
            self.session.queue.take_back()

        return Act(act)

    def abort(self) -> Act:
        return Act(lambda: self.session and self.session.abort())

    def script(self) -> list[list[FauxStep]]:
        return [
            [
                Think("hm", "sig"),
                Say(WORDS, 20),
                self.queue("follow", "f1", "f2"),
                Use("bash", command="echo a"),
                Use("write", path="f.txt", content="text\n"),
            ],
            [self.queue("steer", "s1"), Use("write", path="g.txt", content="x"), Say(WORDS, 20)],
            [Say("Well", 4), Fail(BUSY)],
            [Fail(BUSY)],
            [self.queue("aside", "j1"), Use("read", path="f.txt"), Use("read", path="g.txt")],
            [self.queue("steer", "s2", "s3"), Say(WORDS, 20)],
            [self.queue("steer", "never"), self.take_back(), Say("Yes.", 4)],
            [self.queue("aside", "j2"), Say("And that.", 9)],
            [Say(WORDS, 20)],
            [Say("That, too.", 10)],
            # the second prompt
            [self.queue("follow", "f3"), Use("read", path="f.txt"), self.queue("steer", "s4", "s5")],
            [Say(WORDS, 20), self.queue("follow", "f4"), self.queue("aside", "j3"), self.abort(), Wait()],
            # the third
            [Use("edit", path="none.txt", input="x"), Say("Once more.", 10)],
            [Say(WORDS, 30)],
            [Say("Done.", 5)],
        ]


async def play(folder: Path, victim: Victim) -> None:
    conversation, hooks = ScriptedConversation(victim), SideLine()
    opening, _ = scripted(conversation.script(), folder, hooks=(hooks,))
    async with opening as session:
        conversation.session = session
        session.subscribe(victim.on_event)
        hooks.run = lambda command: session.bash(command)
        await session.prompt("go")
        await session.bash("echo alone")
        await session.bash("echo unseen", exclude=True)
        kept = session.log.branch()[-4].id
        session.log.append(CompactionEntry(summary="Much was said.", first_kept_entry_id=kept))
        session.queue.steering_mode = "all"
        await session.prompt("go on")
        await session.prompt("and on")


def live(folder: Path, last: int) -> int:
    folder.mkdir()
    victim = Victim(folder, last)
    victim.watch(SessionLog, "append")
    victim.watch(queue_file._QueueSaver, "save")
    asyncio.run(play(folder, victim))
    return victim.count


def in_child(work: Callable[[], int]) -> int:
    """How the child ended: its exit code, negative for a signal."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.write(writer, str(work()).encode())
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answer:  # noqa: PTH123 - it is a descriptor
        text = answer.read()
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), code
    return int(text) if text else code


def main() -> None:
    folder, wanted = Path(sys.argv[1]), sys.argv[2]
    total = in_child(lambda: live(folder / "0", 0))
    assert total > 0
    step = 1 if wanted == "all" else max(total // int(wanted), 1)
    points = range(1, total + 1, step)
    for point in points:
        lived_to = in_child(lambda point=point: live(folder / str(point), point))
        assert lived_to == -signal.SIGKILL or lived_to < point  # parallel calls vary a little
    print(msgspec.json.encode([0, *points]).decode())


if __name__ == "__main__":
    main()
