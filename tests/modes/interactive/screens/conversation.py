"""Screens of a conversation: answers, thinking, calls and their endings."""

from typing import Any

from tau.ai.faux import Count, Fail, Say, Stop, Think, Use, Wait
from tau.base.errors import ProviderError
from tests.modes.interactive.screens.screen_rig import Screen, Stage

ANSWER = """\
`greet` cannot work yet: it returns `nmae`, which is **not defined**.

1. The parameter is called `name`, so the fix is one word.
2. `tests/test_greeting.py` covers it already.

| file | lines | state |
|---|---|---|
| greeting.py | 2 | broken |
| README.md | 3 | fine |

```python
def greet(name):
    return "Hello, " + name
```

> The rest is *fine*; see [the docs](https://example.com/docs).
"""
THOUGHT = (
    "The function returns nmae, but the parameter is name. That is a typing error. "
    "The test would have shown it, so nobody ran it."
)
USAGE = Count(input=5200, output=140, cache_read=1800)
BUSY = "until [ -e go ]; do sleep 0.02; done"
CHANGE: dict[str, Any] = {"path": "greeting.py", "old_text": "nmae", "new_text": "name"}
REPLACE = {"edit.mode": "replace"}


async def nothing(stage: Stage) -> None:
    await stage.show("/help")


async def answered(stage: Stage) -> None:
    await stage.ask("What is wrong with greet?", "the docs")


async def half_way(stage: Stage) -> None:
    await stage.send("What is wrong with greet?")
    await stage.show("Writing" if stage.linear else "covers it al")
    await stage.wait(7)


async def thought(stage: Stage) -> None:
    await stage.ask("What is wrong with greet?", "It returns nmae.")


async def unfolded(stage: Stage) -> None:
    await thought(stage)
    await stage.press("ctrl+o")
    await stage.show("nobody ran it")


async def searched(stage: Stage) -> None:
    await unfolded(stage)
    if not stage.linear:
        await stage.type("/typing error")
        await stage.press("enter")
        await stage.show("Continued from the top.")
        await stage.type("/nobody")


async def hidden(stage: Stage) -> None:
    await stage.press("ctrl+t")
    await thought(stage)


async def thinking(stage: Stage) -> None:
    await stage.send("What is wrong with greet?")
    await stage.show("Thinking")
    await stage.show("The function returns nmae")
    await stage.wait(4)


async def running(stage: Stage) -> None:
    await stage.send("Run the tests")
    await stage.show("Running bash" if stage.linear else "2 passed")
    await stage.wait(12)


async def done(stage: Stage) -> None:
    await stage.send("Fix the greeting")
    await stage.show("Running bash")
    (stage.project / "go").touch()
    await stage.show("It says hello by name now.")
    await stage.until(lambda: not stage.session.busy, "the end")


async def failed(stage: Stage) -> None:
    await stage.ask("Run the tests", "They fail.")


async def stopped(stage: Stage) -> None:
    await stage.send("Run the tests")
    await stage.show("Running bash")
    await stage.until((stage.session.cwd / "begun").exists, "the command")
    stage.skip(3.1)
    await stage.press("escape")
    await stage.show("Type to continue, or /retry.")


async def refused(stage: Stage) -> None:
    await stage.send("What is wrong with greet?")
    await stage.show("or /retry.")
    await stage.until(lambda: not stage.session.busy, "the end")


async def again(stage: Stage) -> None:
    await stage.send("What is wrong with greet?")
    await stage.show("Retry 1 of 3 in 8 s")


async def tried_again(stage: Stage) -> None:
    await stage.ask("What is wrong with greet?", "It returns nmae.")


async def cut_off(stage: Stage) -> None:
    await stage.ask("Tell me everything", "for the rest.")


async def compacted(stage: Stage) -> None:
    await stage.ask("What does this project do?", "It says hello.")
    await stage.ask("Which test is missing?", "One for an empty name.")
    await stage.send("/compact")
    await stage.show("Summarized earlier messages")
    await stage.until(lambda: not stage.session.busy, "the end")


async def queued(stage: Stage) -> None:
    await stage.send("Run the tests")
    await stage.show("Running bash")
    await stage.send("Only those of greeting.py, please.")
    await stage.type("Then write the changelog.")
    await stage.press("alt+enter")
    await stage.show("Then write the changelog.")
    await stage.show("edits the last one")


async def tasks(stage: Stage) -> None:
    await stage.ask("Fix the greeting", "I begin with the test.")


async def reads(stage: Stage) -> None:
    await stage.ask("Look around", "That is all.")


TYPED = "请修复 greet 函数 👩‍👩‍👧‍👦 Zürich é"


async def strange(stage: Stage) -> None:
    await stage.ask(TYPED, "完成")
    await stage.type("日本語のメモ 🎉 é")


async def usage(stage: Stage) -> None:
    await stage.ask("What is wrong with greet?", "$0.0")


async def shell_lines(stage: Stage) -> None:
    await stage.send("!cat README.md")
    await stage.show("Says hello.")
    await stage.send("!!exit 3")
    await stage.show("exit 3")
    await stage.until(lambda: not stage.session.busy, "the end")


PYTEST = "FAILED tests/test_greeting.py::test_greeting - NameError: name 'nmae' is not defined"
LIST = [
    {"phase": "Look", "items": ["Read greeting.py", "Run the test"]},
    {"phase": "Mend", "items": ["Correct the name", "Run the test again", "Write the changelog"]},
]
WIDE = """\
# 结果

完成 ✅: `greet` 返回 **你好**。

| 语言 | 词 |
|---|---|
| 日本語 | こんにちは |
| العربية | مرحبا |

Добрый день 👋🏽, e\u0301 = é."""

SCREENS = {
    "welcome": Screen(nothing, ("Type a message and press Enter.", "/help shows more", "example-large")),
    "answer": Screen(
        answered,
        (
            "What is wrong with greet?",
            "greet cannot work yet",
            "one word",
            "broken",
            "README.md",
            "The rest is",
        ),
        [[Say(ANSWER), USAGE]],
        announced=("What is wrong with greet?", "greet cannot work yet", "one word", "broken", "The rest is"),
    ),
    "answer-streaming": Screen(
        half_way,
        ("greet cannot work yet", "covers it al", "Esc stops it"),
        [[Say(ANSWER[:180], pieces=4), Wait()]],
        wide=("7 s",),
        announced=("Writing", "Esc stops it"),
    ),
    "answer-usage": Screen(
        usage,
        ("5,200 tokens in", "140 out"),
        [[Say("It returns nmae."), USAGE]],
        settings={"display.showTokenUsage": True},
    ),
    "answer-cut-off": Screen(
        cut_off,
        ("Everything begins with", 'Type "continue" for the rest.'),
        [[Say("Everything begins with a"), USAGE, Stop("length")]],
    ),
    "thinking": Screen(
        thinking,
        ("Thought", "The function", "Esc stops it"),
        [[Think(THOUGHT), Wait()]],
        announced=("Thinking",),
    ),
    "thinking-shown": Screen(
        thought,
        ("Thought", "The function", "It returns nmae."),
        [[Think(THOUGHT), Say("It returns nmae."), USAGE]],
    ),
    "transcript": Screen(
        unfolded,
        ("typing error", "It returns nmae.", "Block 4 of 4", "prompts"),
        [[Think(THOUGHT), Say("It returns nmae."), USAGE]],
        wide=("nobody ran it", "Transcript", "Tab next block"),
        announced=("typing error", "nobody ran it"),
        opens="commands.display.transcript",
        command="transcript",
        typed=None,
    ),
    "transcript-search": Screen(
        searched,
        ("typing error", "/nobody"),
        [[Think(THOUGHT), Say("It returns nmae."), USAGE]],
        announced=("typing error", "nobody ran it"),
        opens="commands.display.transcript",
        typed="/nobody",
    ),
    "thinking-hidden": Screen(
        hidden, ("It returns nmae.",), [[Think(THOUGHT), Say("It returns nmae."), USAGE]]
    ),
    "tool-running": Screen(
        running,
        ("$ sh check.sh", "Running bash", "Esc stops it"),
        [[Use("bash", command="sh check.sh"), USAGE]],
        wide=("12 s", "2 passed"),
        announced=("Running bash",),
        files={"check.sh": f"echo '2 passed'\n{BUSY}\n"},
    ),
    "tool-done": Screen(
        done,
        ("greeting.py", "README.md", "name", "It says hello by name now."),
        [
            [Use("read", path="greeting.py", id="a"), Use("read", path="README.md", id="b")],
            [Use("edit", **CHANGE)],
            [Use("bash", command=f"tail -n 1 greeting.py; {BUSY}")],
            [Say("It says hello by name now."), USAGE],
        ],
        settings=REPLACE,
    ),
    "tool-failed": Screen(
        failed,
        ("exit 1", "NameError", "They fail."),
        [
            [Use("read", path="missing.py")],
            [Use("bash", command="sh check.sh")],
            [Say("They fail."), USAGE],
        ],
        files={"check.sh": f'echo "{PYTEST}"\nexit 1\n'},
    ),
    "turn-aborted": Screen(
        stopped,
        ("stopped", "Stopped. Type to continue, or /retry."),
        [[Say("I run them."), Use("bash", command=f"touch begun; {BUSY}"), USAGE]],
    ),
    "turn-failed": Screen(
        refused,
        ("Failed: The server of Example is overloaded (529).", "or /retry."),
        [[Fail(ProviderError("The server of Example is overloaded (529).", status=529))]],
    ),
    "turn-retrying": Screen(
        again,
        ("Too many requests", "Retry 1 of 3 in 8 s"),
        [[Fail(ProviderError("Too many requests (429).", status=429, retryable=True, retry_after=8.0))]],
        wide=("Esc stops it",),
        settings={"retry.maxRetries": 3},
    ),
    "turn-retried": Screen(
        tried_again,
        ("Too many requests (429). Retried.", "It returns nmae."),
        [
            [Fail(ProviderError("Too many requests (429).", status=429, retryable=True))],
            [Say("It returns nmae."), USAGE],
        ],
        settings={"retry.baseDelayMs": 1},
    ),
    "compacted": Screen(
        compacted,
        ("Summarized earlier messages",),
        [
            [Use("read", path="log.txt"), USAGE],
            [Say("It says hello."), USAGE],
            [Say("One for an empty name."), USAGE],
            [Say("## Goal\n\nSay hello by name.\n\n## Done\n\n- The typing error was found."), USAGE],
        ],
        command="compact",
        varies=r"to [\d,]+ tokens",
        settings={"compaction.keepRecentTokens": 20},
        files={"log.txt": "it said hello once more\n" * 400},
    ),
    "queued": Screen(
        queued,
        ("Next: Only those of greeting.py", "Later: Then write", "Alt+Up edits the last one"),
        [[Use("bash", command=BUSY), USAGE]],
        announced=("Next: Only those of greeting.py", "Later: Then write the changelog."),
    ),
    "todo": Screen(
        tasks,
        ("Look", "Read greeting.py", "Run the test", "I begin with the test."),
        [
            [Use("todo", ops=[{"op": "init", "list": LIST}, {"op": "done", "task": "Read greeting.py"}])],
            [Say("I begin with the test."), USAGE],
        ],
        settings={"todo.reminders.enabled": False},
    ),
    "reads": Screen(
        reads,
        ("README.md", "greeting.py", "hello", "That is all."),
        [
            [Use("find", pattern="**/*.py"), Use("search", pattern="hello", paths=["."], i=True)],
            [Use("read", path="README.md", id="a"), Use("read", path="greeting.py", id="b")],
            [Say("That is all."), USAGE],
        ],
    ),
    "wide-characters": Screen(
        strange,
        ("请修复", "结果", "こんにちは", "完成", "日本語のメモ"),
        [[Use("read", path="文档/읽어주세요 — читать-прочти.md"), USAGE], [Say(WIDE), USAGE]],
        files={"文档/읽어주세요 — читать-прочти.md": "нет\n"},
        wide=("читать-прочти.md",),
        own=TYPED,
        typed="日本語のメモ 🎉 é",
    ),
    "shell-lines": Screen(shell_lines, ("cat README.md", "Says hello.", "exit 3")),
}
