"""Screens to choose from: models, sessions, the tree, settings, themes, keys, copying, debugging."""

import json
import os
import time
from pathlib import Path

from tau.ai.faux import Say, Use, Wait
from tests.modes.interactive.screens.conversation import ANSWER, USAGE
from tests.modes.interactive.screens.screen_rig import Play, Screen, Script, Stage

QUESTIONS = {
    "What does this project do?": "It says hello.",
    "Which test is missing?": "One for an empty name.",
}
TALK: Script = [
    [Say("It says hello."), USAGE],
    [Say("One for an empty name."), USAGE],
    [Say("Both of them."), USAGE],
]
PAST = {
    "Fix the greeting": 2,
    "Write a changelog for the release": 26,
    "为什么测试失败？": 24 * 40,
    "Explain how the names are looked up, and why the second one wins over the first": 24 * 3,
}
PICKED = "selectors.pick_list.pick"


def past_sessions(project: Path) -> None:
    """Sessions of this folder, each last changed this many hours ago."""
    folder = project.parent / ".tau" / "agent" / "sessions" / _folder_name(project)
    folder.mkdir(parents=True)
    for number, (text, hours) in enumerate(PAST.items()):
        moment_s = time.time() - hours * 3600 - 60
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(moment_s))
        id = f"01970000-0000-7000-8000-00000000000{number}"
        lines = [
            {"type": "session", "version": 3, "id": id, "timestamp": stamp, "cwd": str(project)},
            _message("u", None, stamp, {"role": "user", "content": text, "timestamp": int(moment_s * 1000)}),
            _message("a", "u", stamp, _answer("That is done.", int(moment_s * 1000))),
        ]
        path = folder / f"{stamp.replace(':', '-').replace('.', '-')}_{id}.jsonl"
        path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
        os.utime(path, (moment_s, moment_s))


def _folder_name(project: Path) -> str:
    return f"--{str(project).strip('/').replace('/', '-')}--"


def _message(id: str, parent: str | None, stamp: str, message: dict[str, object]) -> dict[str, object]:
    return {
        "type": "message",
        "id": id * 8,
        "parentId": parent and parent * 8,
        "timestamp": stamp,
        "message": message,
    }


def _answer(text: str, moment_ms: int) -> dict[str, object]:
    return {
        "role": "assistant",
        "content": [{"type": "text", "text": text}],
        "api": "faux",
        "provider": "faux",
        "model": "faux",
        "usage": {
            "input": 1,
            "output": 1,
            "cacheRead": 0,
            "cacheWrite": 0,
            "totalTokens": 2,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
        },
        "stopReason": "stop",
        "timestamp": moment_ms,
    }


async def talked(stage: Stage) -> None:
    for text, answer in QUESTIONS.items():
        await stage.ask(text, answer)


def typing(command: str, shows: str, then: str = "") -> Play:
    async def play(stage: Stage) -> None:
        await stage.send(command)
        await stage.show(shows)
        if then:
            await stage.type(then)

    return play


def pressing(command: str, shows: str, *keys: str) -> Play:
    async def play(stage: Stage) -> None:
        await stage.send(command)
        await stage.show(shows)
        await stage.press(*keys)

    return play


async def tree(stage: Stage) -> None:
    await talked(stage)
    await stage.send("/tree")
    await stage.show("Session tree")


async def branches(stage: Stage) -> None:
    """Two branches after the first answer."""
    await talked(stage)
    second = next(
        node
        for node in stage.session.log.nodes()
        if node.type == "message" and "missing" in str(stage.session.log.line(node))
    )
    await stage.session.goto(second.parent_id or "")
    stage.parts.transcript.rebuild()
    await stage.ask("Which test is wrong?", "Both of them.")
    await stage.send("/tree")
    await stage.show("Session tree")
    await stage.show("Which test is wrong?")


async def filtered(stage: Stage) -> None:
    await branches(stage)
    await stage.press("alt+u")
    await stage.show("user-only")
    await stage.type("test")


async def folded(stage: Stage) -> None:
    await branches(stage)
    await stage.press("ctrl+left", "ctrl+left")


async def everything(stage: Stage) -> None:
    await branches(stage)
    await stage.press("alt+a")


async def label(stage: Stage) -> None:
    await tree(stage)
    await stage.type("L")
    await stage.show("Label this entry")
    await stage.type("a good place")


async def labeled(stage: Stage) -> None:
    await label(stage)
    await stage.press("enter")
    await stage.show("[a good place]" if not stage.linear else "a good place")


async def summary(stage: Stage) -> None:
    await tree(stage)
    await stage.press("up", "up", "enter")
    await stage.show("Summarize the old branch?")


async def summary_wish(stage: Stage) -> None:
    await summary(stage)
    await stage.press("down", "down", "enter")
    await stage.show("What should the summary focus on?")
    await stage.type("the decisions")


async def summarizing(stage: Stage) -> None:
    await summary(stage)
    await stage.press("down", "enter")
    await stage.show("ummari")


async def search_settings(stage: Stage) -> None:
    await stage.send("/settings")
    await stage.show("Settings")
    await stage.type("thinking")


async def sub_list(stage: Stage) -> None:
    await stage.send("/settings")
    await stage.show("Settings")
    await stage.press("enter")
    await stage.show("Enter apply")


async def copying(stage: Stage) -> None:
    await stage.ask("What is wrong with greet?", "the docs")
    await stage.send("/copy")
    await stage.show("Everything")


async def going_back(stage: Stage) -> None:
    await talked(stage)
    await stage.send("/branch")
    await stage.show("Branch:")


async def history(stage: Stage) -> None:
    await talked(stage)
    await stage.press("ctrl+r")
    await stage.show("Prompt history")
    await stage.type("test")


async def sessions(stage: Stage) -> None:
    await stage.send("/resume")
    await stage.show("Fix the greeting")


async def found_sessions(stage: Stage) -> None:
    await sessions(stage)
    await stage.type("done")
    await stage.show("Answer: That is done.")


async def renaming(stage: Stage) -> None:
    await sessions(stage)
    await stage.press("ctrl+r")
    await stage.show("Rename")
    await stage.type("Hello")


async def deleting(stage: Stage) -> None:
    await sessions(stage)
    await stage.press("ctrl+d")
    await stage.show("Delete")


async def rewind(stage: Stage) -> None:
    await stage.ask("Fix the greeting", "It says hello by name now.")
    await stage.ask("And the manual", "It says so too.")
    (stage.project / "README.md").write_text("# Mine\n", encoding="utf-8")
    await stage.send("/rewind")
    await stage.show("Rewind to before a message")
    await stage.show("leaves what someone else changed since: README.md")
    await stage.press("down")
    await stage.show("restores greeting.py")


async def debug_log(stage: Stage) -> None:
    await stage.send("/debug")
    await stage.show("Debug")
    await stage.type("1")
    await stage.show("The log is empty.")


async def debug_profile(stage: Stage) -> None:
    await stage.send("/debug")
    await stage.show("Debug")
    await stage.type("8")
    await stage.show("Stop")


async def debug_requests(stage: Stage) -> None:
    await stage.send("/debug")
    await stage.show("Debug")
    await stage.type("2")
    await stage.show("No requests yet.")


async def debug_caches(stage: Stage) -> None:
    cache = stage.current.paths.cache / "files"
    cache.mkdir(parents=True)
    (cache / "one").write_bytes(b"x" * 3000)
    await stage.send("/debug")
    await stage.show("Debug")
    await stage.type("7")
    await stage.show("Remove these files?")


SCREENS = {
    "rewind": Screen(
        rewind,
        ("Fix the greeting", "restores greeting.py", "README.md", "Enter go back"),
        [
            [Use("edit", path="greeting.py", old_text="nmae", new_text="name")],
            [Say("It says hello by name now.")],
            [Use("edit", path="README.md", old_text="Says hello", new_text="Says hello by name")],
            [Say("It says so too.")],
        ],
        wide=("And the manual", "Tab choose what to rewind"),
        opens="selectors.rewind.choose_rewind",
        command="rewind",
        settings={"edit.mode": "replace"},
    ),
    "model": Screen(
        typing("/model", "Example Large"),
        (
            "Model",
            "Example Large",
            "Example Small",
            "Anthropic: no key",
            "Claude",
            "Enter use here",
            "Esc close",
        ),
        announced=("Model", "Example Large", "Enter use here", "Esc close"),
        opens="selectors.model_selector.choose_model",
        command="model",
        typed="Filter: ",
    ),
    "model-search": Screen(
        typing("/model", "Example Large", "opus"),
        ("Filter: opus", "Claude Opus"),
        opens="selectors.model_selector.choose_model",
        typed="Filter: opus",
    ),
    "thinking-level": Screen(
        typing("/thinking", "for hard problems"),
        (
            "Thinking: Example Large",
            "off",
            "minimal",
            "low",
            "medium",
            "high",
            "xhigh",
            "Enter use",
            "Esc close",
        ),
        wide=("for most work",),
        announced=("Thinking: Example Large", "high", "Enter use", "Esc close"),
        opens="selectors.thinking_selector.choose_thinking",
        command="thinking",
        typed=None,
    ),
    "theme": Screen(
        typing("/theme", "dusk"),
        ("Theme for", "dusk", "For dark terminals", "For both", "Enter use"),
        announced=("Theme for", "dusk", "Enter use"),
        opens="selectors.theme_selector.choose_theme",
        command="theme",
        typed="Filter: ",
    ),
    "hotkeys": Screen(
        typing("/hotkeys", "Keys"),
        ("Keys", "Esc", "Ctrl+C", "Esc close"),
        wide=("Clear the editor; twice: quit",),
        announced=("Keys", "Esc", "Stop the agent", "Esc close"),
        opens="selectors.hotkeys.choose_hotkeys",
        command="hotkeys",
        typed="Filter: ",
    ),
    "settings": Screen(
        typing("/settings", "Esc close"),
        ("Settings", "Appearance", "Dark", "dusk", "Light", "paper", "Enter change", "Esc close"),
        opens="selectors.settings_selector.choose_settings",
        command="settings",
        typed="Filter: ",
        announced=("Settings", "Dark: dusk", "Theme for dark terminals", "Enter change"),
    ),
    "settings-search": Screen(
        search_settings,
        ("Filter: thinking", "hinking"),
        opens="selectors.settings_selector.choose_settings",
        typed="Filter: thinking",
    ),
    "settings-choice": Screen(
        sub_list,
        ("dusk", "ember", "Enter apply", "Esc cancel"),
        announced=("dusk", "Enter apply", "Esc cancel"),
        opens="selectors.settings_selector.choose_settings",
        typed="Filter: ",
    ),
    "tree": Screen(
        tree,
        (
            "Session tree",
            "user: What does this project do?",
            "assistant: It says hello.",
            "Enter go there",
            "Esc close",
            "Ctrl+O next filter",
        ),
        TALK,
        announced=("Session tree", "One for an empty name.", "Enter go there", "Esc close"),
        opens="selectors.tree_selector.choose_entry",
        command="tree",
        typed="Filter: ",
    ),
    "tree-branches": Screen(
        branches,
        ("Session tree", "Which test is missing?", "Which test is wrong?", "Both of them."),
        TALK,
        announced=("Session tree", "Both of them."),
        opens="selectors.tree_selector.choose_entry",
        typed="Filter: ",
    ),
    "tree-filter": Screen(
        filtered,
        ("user-only", "Which test is missing?", "Which test is wrong?"),
        TALK,
        announced=("user-only, 2 entries", "Which test is wrong?"),
        opens="selectors.tree_selector.choose_entry",
        typed="Filter: test",
    ),
    "tree-all": Screen(
        everything,
        ("all", "What does this project do?"),
        TALK,
        opens="selectors.tree_selector.choose_entry",
        typed="Filter: ",
    ),
    "tree-folded": Screen(
        folded,
        ("Session tree", "It says hello."),
        TALK,
        opens="selectors.tree_selector.choose_entry",
        typed="Filter: ",
    ),
    "tree-label": Screen(
        label,
        ("Label this entry", "a good place", "Enter save", "Esc cancel"),
        TALK,
        opens="selectors.tree_selector.TreeSelector.label",
        typed="a good place",
    ),
    "tree-labeled": Screen(
        labeled,
        ("a good place", "One for an empty name."),
        TALK,
        opens="selectors.tree_selector.choose_entry",
        typed="Filter: ",
    ),
    "tree-summary": Screen(
        summary,
        (
            "Summarize the old branch?",
            "No summary",
            "Summarize",
            "Summarize with a custom prompt",
        ),
        TALK,
        announced=("Summarize the old branch?", "No summary"),
        opens="selectors.tree_selector.ask_summary",
        typed=None,
        settings={"branchSummary.enabled": True},
    ),
    "tree-summary-wish": Screen(
        summary_wish,
        ("What should the summary focus on?", "the decisions"),
        TALK,
        opens="selectors.tree_selector.ask_summary",
        typed="the decisions",
        settings={"branchSummary.enabled": True},
    ),
    "tree-summarizing": Screen(
        summarizing,
        ("Session tree", "ummari", "Esc"),
        [*TALK[:2], [Wait()]],
        opens="selectors.tree_selector.TreeSelector._summarize",
        typed=None,
        settings={"branchSummary.enabled": True},
    ),
    "copy": Screen(
        copying,
        ("Copy", "Last answer", "Everything", "Code: python", "Enter copy", "Esc cancel"),
        [[Say(ANSWER), USAGE]],
        announced=("Copy", "Everything", "Enter copy"),
        opens="selectors.copy.choose_copy",
        command="copy",
        typed="Filter: ",
    ),
    "branch": Screen(
        going_back,
        ("Branch:", "Which test is missing?", "What does this project do?", "Enter branch here"),
        TALK,
        announced=("Branch:", "Which test is missing?", "Enter branch here"),
        opens="selectors.branch.choose_branch",
        command="branch",
        settings={"interaction.doubleEscape": "branch"},
        typed="Filter: ",
    ),
    "history": Screen(
        history,
        ("Prompt history", "Filter: test", "Which test is missing?", "Enter insert into the editor"),
        TALK,
        opens="selectors.prompt_selector.choose_prompt",
        typed="Filter: test",
    ),
    "resume": Screen(
        sessions,
        (
            "Sessions",
            "Fix the greeting",
            "Write a changelog",
            "为什么测试失败",
            "Explain how the names",
            "Enter resume",
            "Esc close",
        ),
        before=past_sessions,
        own="…".join(PAST),
        announced=("Sessions", "Fix the greeting", "Enter resume", "Esc close"),
        opens="selectors.session_selector.choose_session",
        command="resume",
        typed="Filter: ",
    ),
    "resume-search": Screen(
        found_sessions,
        ("Filter: done", "Fix the greeting", "That is done."),
        before=past_sessions,
        own="…".join(PAST),
        opens="selectors.session_selector.choose_session",
        typed="Filter: done",
    ),
    "resume-rename": Screen(
        renaming,
        ('Rename "Fix the greeting"', "Hello", "Enter rename"),
        before=past_sessions,
        own="…".join(PAST),
        opens="selectors.session_selector.SessionSelector.rename",
        typed="Hello",
    ),
    "resume-delete": Screen(
        deleting,
        ('Delete "Fix the greeting"?', "Keep", "Move to trash"),
        before=past_sessions,
        own="…".join(PAST),
        announced=('Delete "Fix the greeting"?', "Keep"),
        opens="selectors.session_selector.SessionSelector.delete",
        typed=None,
    ),
    "debug": Screen(
        typing("/debug", "Debug"),
        (
            "Debug",
            "Log",
            "Raw responses",
            "System",
            "Write a report",
            "Export the session",
            "Clear caches",
            "Record a CPU profile",
        ),
        opens="debug.menu.open_menu",
        command="debug",
        typed=None,
    ),
    "debug-log": Screen(
        debug_log,
        ("The log is empty.", "Q close"),
        announced=("The log is empty.",),
        opens="debug.logs.show_logs",
        typed=None,
    ),
    "debug-profile": Screen(
        debug_profile,
        ("Recording a CPU profile", "Stop"),
        opens="debug.menu._profile",
        typed=None,
    ),
    "debug-requests": Screen(
        debug_requests,
        ("No requests yet.", "Q close"),
        announced=("No requests yet.",),
        opens="debug.requests.show_requests",
        typed=None,
    ),
    "debug-caches": Screen(
        debug_caches,
        ("Remove these files?", "Cache entries", "2. No"),
        opens="debug.menu._caches",
        typed=None,
    ),
}
