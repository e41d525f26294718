"""The states from which Escape must lead to idle, and how to get there: `STATES`."""

import os
from collections.abc import Callable, Sequence
from typing import Any

from tests.backends.ssh.loopback import Server
from tests.e2e.interactive.escape_rig import PLACE, STOPPED, Stage, State, is_idle
from tests.e2e.interactive.launcher import User
from tests.e2e.program import wait_for
from tests.support.fake_answers import Answer, Call, Scriptable, Silence, Status, Text, Thinking

Script = Callable[[Stage], Sequence[Scriptable]]
Reach = Callable[[Stage], object]

DEAF = "trap '' TERM INT HUP QUIT"
FOR_EVER = "while :; do sleep 1; done"
PARAGRAPH = "Some **words** of an answer, with `code` in it and more.\n\n"
STALLED = Silence(after_events=3)
SUMMARY = Silence(after_events=3, of=Answer((Text("## Goal of it all", deltas=6),)))
QUESTION = {"id": "db", "question": "Which database?", "options": ["SQLite", "PostgreSQL"]}
PLAN = (
    Call("write", {"path": "local://plan.md", "content": "# Mend it\n\n1. Find it\n"}),
    Call("resolve", {"action": "apply", "reason": "ready"}),
)
SLOW_RETRIES = {"retry.enabled": True, "retry.baseDelayMs": 60_000, "retry.maxDelayMs": 90_000}
ASK = {"tools.approvalMode": "ask"}
MAY_HAVE = ("it may have partly run",)
RESOLVER = f"""
import os, socket, time
ask = socket.getaddrinfo
def stuck(host, *rest, **more):
    if host == b"name.invalid" and not more.get("flags"):
        with open(os.environ["{PLACE}"] + "/looked-up", "w") as file:
            file.write("x")
        time.sleep(600)
    return ask(host, *rest, **more)
socket.getaddrinfo = stuck
"""
RIPGREP = f"""#!/bin/sh
{DEAF}
echo $$ > "${PLACE}/searching"
{FOR_EVER}
"""


def says(*answers: Scriptable) -> Script:
    return lambda stage: answers


def streams(part: Callable[[str], Text | Thinking | Call], delay_s: float = 0.003) -> Script:
    """A part with many deltas, made from the tag of the play."""
    return lambda stage: (Answer((part(stage.tag),), delay_s=delay_s),)


def runs(*commands: str, **more: Any) -> Script:
    """bash calls; MARK in a command says that it has started."""

    def script(stage: Stage) -> Sequence[Scriptable]:
        texts = [command.replace("MARK", f"echo $$ > {stage.mark.name}") for command in commands]
        return (tuple(Call("bash", {"command": text, **more}) for text in texts),)

    return script


def evaluates(code: str) -> Script:
    def script(stage: Stage) -> Sequence[Scriptable]:
        output = code.replace("MARK", f"open({stage.mark.name!r}, 'w').write('x')")
        return (Call("eval", {"cells": [{"language": "py", "code": output}]}),)

    return script


def waits_for_job(stage: Stage) -> Sequence[Scriptable]:
    command = f"echo $$ > {stage.mark.name}; sleep 1000"
    return (Call("bash", {"command": command, "async": True}), Call("job", {"poll": []}))


def asks_later(stage: Stage) -> Sequence[Scriptable]:
    """A command that waits, and then a question."""
    go = f"go-{stage.plays}"
    command = f"echo yes > {stage.mark.name}; until [ -e {go} ]; do sleep 0.02; done"
    return (Call("bash", {"command": command}), Call("write", {"path": "/outside.txt", "content": "x"}))


def sees(*texts: str) -> Reach:
    return lambda stage: stage.user.send("go").see(*texts)


def sees_tag(stage: Stage) -> None:
    stage.user.send("go").see(stage.tag)


def requests(stage: Stage) -> None:
    stage.user.send("go")
    stage.requested()


def appears(name: str) -> Reach:
    """A file written by something other than a command."""

    def reach(stage: Stage) -> None:
        (stage.project / name).unlink(missing_ok=True)
        stage.user.send("go")
        wait_for(stage.project / name)

    return reach


def queues(stage: Stage) -> None:
    user = stage.user.send("go")
    stage.requested()
    user.send("steer it").see("Next: steer it")
    user.write("and then").press("alt+enter").see("Later: and then")


def queues_before_a_question(stage: Stage) -> None:
    user = stage.user.send("go")
    wait_for(stage.mark)
    user.write("and then").press("alt+enter").see("Later: and then")
    (stage.project / f"go-{stage.plays}").touch()
    user.see("Allow once")


def talked(stage: Stage) -> User:
    """There is a conversation that can be summarized or left."""
    user = stage.user
    for number in (1, 2):
        user.send(f"say {number}").see(f"{stage.tag}-{number}.")
        user.until(is_idle, "the end of the answer")
    return user


def talks(stage: Stage) -> Sequence[Scriptable]:
    return ("Much was said. " * 300 + f"{stage.tag}-1.", "More of it. " * 300 + f"{stage.tag}-2.", SUMMARY)


def summarizes(command: str) -> Reach:
    def reach(stage: Stage) -> None:
        talked(stage).send(command)
        stage.requested(3)

    return reach


def leaves_a_branch(stage: Stage) -> None:
    user = talked(stage).send("/tree")
    user.see("Session tree")
    user.press("up", "up", "enter").see("Summarize with a custom prompt")
    user.press("down", "enter").see("Summarizing the branch")
    stage.requested(3)


def runs_line(line: str) -> Reach:
    def reach(stage: Stage) -> None:
        name = stage.mark.name
        begun = f"echo $$ > {name}" if line[0] == "!" else f"open({name!r}, 'w').write('x')"
        stage.user.term.paste(line.replace("MARK", begun))
        stage.user.press("enter")
        wait_for(stage.mark)

    return reach


def opens(keys: Sequence[str], *shown: str) -> Reach:
    def reach(stage: Stage) -> None:
        for key in keys:
            (stage.user.term.type if key == "/" else stage.user.press)(key)
        stage.user.see(*shown)

    return reach


def stuck_resolver(stage: Stage) -> dict[str, str]:
    """A name server that never answers."""
    folder = stage.launcher.tau.home / "resolver"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(RESOLVER)
    return {"PYTHONPATH": str(folder)}


def stuck_search(stage: Stage) -> dict[str, str]:
    """A ripgrep that never ends and ignores signals."""
    folder = stage.launcher.tau.home / "bin"
    folder.mkdir()
    (folder / "rg").write_text(RIPGREP)
    (folder / "rg").chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def write_call(tag: str) -> Call:
    lines = [f"{tag} line {number}" for number in range(9000)]
    return Call("write", {"path": "a.txt", "content": "\n".join(lines)}, deltas=3000)


STATES: dict[str, State] = {
    "no answer yet": State(requests, says(Silence(before_head=True))),
    "looking up a name": State(appears("looked-up"), provider="unknown", prepare=stuck_resolver),
    "waiting for a retry": State(
        sees("Retry 1 of"),
        says(Status(529, "Overloaded")),
        SLOW_RETRIES,
        says=("Overloaded", "Type to continue, or /retry"),
    ),
    "streaming text": State(sees_tag, streams(lambda tag: Text(f"{tag}\n\n" + PARAGRAPH * 500, deltas=5000))),
    "streaming text at full speed": State(
        sees_tag, streams(lambda tag: Text(f"{tag} and more. {PARAGRAPH}" * 3000, deltas=60_000), delay_s=0)
    ),
    "streaming thinking": State(sees_tag, streams(lambda tag: Thinking(f"{tag} " * 4000, deltas=4000))),
    "streaming arguments": State(
        sees_tag, streams(write_call), never=MAY_HAVE, says=(STOPPED, "Stopped before it started.")
    ),
    "a stalled answer": State(requests, says(STALLED)),
    "a command": State(Stage.begun, runs("MARK; sleep 1000")),
    "a command that is deaf": State(Stage.begun, runs(f"{DEAF}; MARK; {FOR_EVER}")),
    "a command with deaf children": State(
        Stage.begun,
        runs(
            f'({DEAF}; sleep 1001) & (setsid sh -c "{DEAF}; {FOR_EVER}" &); '
            "nohup sleep 1002 >/dev/null 2>&1 & MARK; wait"
        ),
    ),
    "a command that floods": State(Stage.begun, runs("MARK; yes")),
    "a deaf command that floods": State(Stage.begun, runs(f"{DEAF}; MARK; while :; do echo y; done")),
    "a command in a terminal": State(Stage.begun, runs("MARK; sleep 1000", pty=True)),
    "a command in a fresh shell": State(Stage.begun, runs(f"{DEAF}; MARK; {FOR_EVER}", fresh=True)),
    "several commands": State(Stage.begun, runs("sleep 1001", f"{DEAF}; {FOR_EVER}", "MARK; sleep 1002")),
    "a search": State(
        appears("searching"),
        says(Call("search", {"pattern": "x", "paths": "."})),
        prepare=stuck_search,
        never=MAY_HAVE,
        says=(STOPPED, "Stopped before it finished."),
    ),
    "a cell": State(Stage.begun, evaluates("MARK\nimport time\ntime.sleep(1000)"), lives_on="kernels/guest"),
    "a cell that computes": State(Stage.begun, evaluates("MARK\nwhile True: pass"), lives_on="kernels/guest"),
    "a cell that is deaf": State(
        Stage.begun,
        evaluates("import signal, time\nsignal.signal(2, signal.SIG_IGN)\nMARK\nwhile True: time.sleep(1)"),
        lives_on="kernels/guest",
    ),
    "waiting for a job": State(Stage.begun, waits_for_job, lives_on="sleep 1000"),
    "an approval": State(
        sees("Allow once"),
        runs("touch made"),
        ASK,
        writes=False,
        never=MAY_HAVE,
        says=(STOPPED, "Stopped before it started."),
    ),
    "several approvals": State(
        sees("Allow once"), runs("touch made", "touch made-2"), ASK, writes=False, never=MAY_HAVE
    ),
    "an approval with a message that waits": State(
        queues_before_a_question, asks_later, writes=False, queued="and then", lives_on="builtin"
    ),
    "a question": State(
        sees("1. SQLite"), says(Call("ask", {"questions": [QUESTION]})), writes=False, never=MAY_HAVE
    ),
    "a plan's review": State(
        lambda stage: stage.user.send("/plan make one").see("Approve and start"),
        says(*PLAN),
        writes=False,
    ),
    "a compaction": State(
        summarizes("/compact"), talks, {"compaction.keepRecentTokens": 100}, says=("Stopped.",)
    ),
    "a handoff": State(summarizes("/handoff"), talks, says=("Stopped.",)),
    "a line of the shell": State(runs_line("!MARK; sleep 1000"), says=("stopped",)),
    "a deaf line of the shell": State(runs_line(f"!{DEAF}; MARK; {FOR_EVER}"), says=("stopped",)),
    "a line of Python": State(
        runs_line("$MARK; import time; time.sleep(1000)"), says=("stopped",), lives_on="kernels/guest"
    ),
    "messages that wait": State(queues, says(STALLED), queued="steer it\n\nand then"),
    "a list of completions": State(
        opens("/", "Retry the last failed or stopped turn"), says=(), writes=False, queued="/", gone="/retry"
    ),
    "a selector": State(opens(("alt+m",), "Filter: type"), says=(), writes=False),
    "the settings": State(lambda stage: stage.user.send("/settings").see("Settings"), says=(), writes=False),
    "the transcript": State(opens(("ctrl+o",), "Q close"), says=(), writes=False, gone="Q close"),
    "the prompts to go back to": State(
        lambda stage: stage.user.ask("hello", "Hello.").send("/rewind").see("Rewind to before a message"),
        lambda stage: ("Hello.",),
        says=(),
        writes=False,
    ),
    "the tree": State(lambda stage: stage.user.send("/tree").see("Session tree"), says=(), writes=False),
}
"""Those that need a peer, or do not lead to the editor, are made below."""


def connecting(dialled: Callable[[], bool]) -> State:
    """The server's machine accepts packets and never answers."""

    def reach(stage: Stage) -> None:
        stage.user.send("go").until(lambda _: dialled(), "a connection that is being made")

    return State(reach, provider="deaf")


def remote(server: Server) -> State:
    """A command on another machine."""

    def prepare(stage: Stage) -> dict[str, str]:
        stage.launcher.tau.write("ssh.json", {"hosts": {"box": server.entry()}})
        return {"PATH": f"{server.bin}:{os.environ['PATH']}", "TMPDIR": str(server.tmp)}

    def script(stage: Stage) -> Sequence[Scriptable]:
        return (Call("ssh", {"host": "box", "command": f"echo $$ > {stage.mark}; sleep 1000"}),)

    unasked = {"tools.allow": ["tool: ssh"]}
    return State(Stage.begun, script, unasked, prepare=prepare, lives_on="ssh")


BRANCH = State(leaves_a_branch, talks, {"branchSummary.enabled": True}, writes=False, says=("Session tree",))
