"""Screens that ask the user: approvals, questions, plans, the setup, keys."""

import subprocess
from pathlib import Path

from tau.ai.faux import Say, Use
from tau.base.errors import ConfigError
from tests.modes.interactive.screens.conversation import CHANGE, REPLACE, USAGE
from tests.modes.interactive.screens.screen_rig import Screen, Script, Stage

ASK = {"tools.approvalMode": "ask"}
PLAN = """\
# Greet by name

1. Correct the name in `greeting.py`
2. Run the test
3. Write the changelog

## Risks

None that we know of.
"""
DATABASE = {
    "id": "database",
    "question": "Which database should it use?",
    "options": [
        {"label": "SQLite", "description": "One file and nothing to install."},
        {"label": "PostgreSQL", "description": "For many writers."},
    ],
    "recommended": 0,
}
PARTS = {
    "id": "parts",
    "question": "Which parts are to be built now?",
    "options": ["The command line", "The web page", "The documentation"],
    "multi": True,
}
NAME = {"id": "name", "question": "What is it called?"}
UNREACHABLE = "http://127.0.0.1:9/v1"
NO_MODEL = ConfigError("No model can be used: set ANTHROPIC_API_KEY.")


async def command(stage: Stage) -> None:
    await stage.send("Clean up")
    await stage.show("Allow this command?")


async def unread(stage: Stage) -> None:
    await command(stage)
    await stage.press("up", "up", "enter")
    await stage.show("Scroll to the end of the request")


async def reason(stage: Stage) -> None:
    await command(stage)
    await stage.press("down", "enter")
    await stage.type("keep build/x")
    await stage.show("keep build/x")


async def change(stage: Stage) -> None:
    await stage.send("Fix the greeting")
    await stage.show("Allow this write?")


async def question(stage: Stage) -> None:
    await stage.send("Begin")
    await stage.show("Which database should it use?")
    await stage.show("The agent asks")


async def several(stage: Stage) -> None:
    await stage.send("Begin")
    await stage.show("Which parts are to be built now?")
    await stage.show("The agent asks")
    await stage.type("12")


async def answers(stage: Stage) -> None:
    await question(stage)
    await stage.type("1")
    await stage.show("Which parts are to be built now?")
    await stage.type("13")
    await stage.press("enter")
    await stage.show("What is it called?")
    await stage.type("Ada")
    await stage.press("enter")
    await stage.show("Send the answers")


async def other(stage: Stage) -> None:
    await question(stage)
    await stage.press("down", "down")
    await stage.show("Something else")
    await stage.type("DuckDB")


async def planning(stage: Stage) -> None:
    await stage.send("/plan")
    await stage.show("lan mode")


async def review(stage: Stage) -> None:
    await stage.send("/plan Fix the greeting")
    await stage.show("Plan: Greet by name")


async def comment(stage: Stage) -> None:
    await review(stage)
    await stage.type("4")
    await stage.type("without the changelog")
    await stage.show("the changelog")


async def set_up(stage: Stage) -> None:
    await stage.show("choose a model")


async def explained(stage: Stage) -> None:
    await set_up(stage)
    await stage.type("3")
    await stage.show("Models and keys")


async def broken_file(stage: Stage) -> None:
    await stage.show("could not open a session")


async def providers(stage: Stage) -> None:
    await stage.send("/login")
    await stage.show("Which provider is the key for?")


async def key(stage: Stage) -> None:
    await stage.send("/login anthropic")
    await stage.show("Anthropic key")
    await stage.type("sk-ant-1234")


async def way(stage: Stage) -> None:
    await stage.send("/login openrouter")
    await stage.show("Log in with a browser")


async def price(stage: Stage) -> None:
    await set_up(stage)
    await stage.type("1")
    await stage.show("Which provider is the key for?")
    await stage.type("anthropic")
    await stage.press("enter")
    await stage.show("Anthropic key")
    await stage.type("sk-ant-api03-0123456789")
    await stage.press("enter")
    await stage.show("(cheaper)")


async def server(stage: Stage) -> None:
    await stage.send(f"/login {UNREACHABLE}")
    await stage.show("Server address")


async def served_model(stage: Stage) -> None:
    await server(stage)
    await stage.press("enter")
    await stage.show("Press Enter if the server needs none")
    await stage.press("enter")
    await stage.show("did not list its models")


async def forget(stage: Stage) -> None:
    stage.current.paths.auth.write_text('{"anthropic": {"type": "api_key", "key": "sk-ant-0"}}')
    await stage.send("/logout")
    await stage.show("Which key do you want to remove?")


async def delete(stage: Stage) -> None:
    await stage.ask("What is wrong?", "nmae")
    await stage.send("/session delete")
    await stage.show("Delete this session?")


def stage_whitespace(root: Path) -> None:
    path = root / "greeting.py"
    path.write_text("if name:\n  greet()\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@b")
    for words in (("init", "-q"), ("add", "greeting.py"), (*identity, "commit", "-q", "-m", "Start")):
        subprocess.run(["git", *words], cwd=root, check=True)
    path.write_text("if name:\n    greet()\n")
    subprocess.run(["git", "add", "greeting.py"], cwd=root, check=True)


async def commit(stage: Stage) -> None:
    stage_whitespace(stage.current.cwd)
    await stage.send("/commit")
    await stage.show("Commit?")


async def edit_tasks(stage: Stage) -> None:
    await stage.send("/todo append Read greeting.py")
    await stage.show("Read greeting.py")
    await stage.send("/todo edit")
    await stage.show("adds a line")


async def many(stage: Stage) -> None:
    options = [f"color {number}" for number in range(1, 21)]
    stage.parts.tasks.start(_select(stage, options))
    await stage.show("Which color?")


async def _select(stage: Stage, options: list[str]) -> None:
    await stage.parts.ui.select("Which color?", options)


async def line(stage: Stage) -> None:
    stage.parts.tasks.start(_line(stage))
    await stage.show("What is it called?")
    await stage.type("Ada")


async def _line(stage: Stage) -> None:
    await stage.parts.ui.input("What is it called?", "a name")


async def signs(stage: Stage) -> None:
    stage.parts.ui.widget("build", ["build: 3 of 7 files", "tests: waiting"])
    stage.parts.ui.status("cpu", "cpu 12 %")
    stage.parts.ui.status("net", "online")
    await stage.show("online")


async def trusting(stage: Stage) -> None:
    await stage.send("/trust")
    await stage.show("Decide later")


RM: Script = [[Use("bash", command="rm -r build && git clean -fd"), USAGE], [Say("Done."), USAGE]]
APPROVED, ASKED = "ui_controller.ScreenUi.approve", "ui_controller.ScreenUi.ask_questions"
SCREENS = {
    "approval-bash": Screen(
        command,
        (
            "Allow this command?",
            "rm -r build && git clean -fd",
            "Allow once",
            "Allow for this session",
            "Always allow",
            "No",
            "No, and tell the agent why",
            "A letter or Enter selects",
            "Esc stops the agent",
        ),
        RM,
        settings=ASK,
        opens=APPROVED,
        typed=None,
    ),
    "approval-reason": Screen(
        reason,
        ("rm -r build", "No, because:", "keep build/x", "Enter declines", "Esc goes back"),
        RM,
        settings=ASK,
        opens=APPROVED,
        typed="No, because: keep build/x",
    ),
    "approval-warning": Screen(
        command,
        (
            "rm -r /opt/old",
            "It may delete /opt/old, outside the workspace.",
            'The rule "run: rm" in tools.ask asks about it.',
            "Allow once",
            "No",
        ),
        [[Use("bash", command="rm -r /opt/old"), USAGE], [Say("Done."), USAGE]],
        settings={"tools.ask": ["run: rm"]},
        opens=APPROVED,
        typed=None,
    ),
    "approval-long": Screen(
        unread,
        ("echo 1", "echo 299", "Allow once", "Scroll to the end of the request", "No"),
        [[Use("bash", command="\n".join(f"echo {number}" for number in range(300))), USAGE]],
        settings=ASK,
        opens=APPROVED,
        typed=None,
    ),
    "approval-edit": Screen(
        change,
        (
            "Allow this write?",
            "nmae",
            "Allow once",
            "No",
            "No, and tell the agent why",
            "Esc stops the agent",
        ),
        [[Use("edit", **CHANGE), USAGE], [Say("Done."), USAGE]],
        settings={**ASK, **REPLACE},
        opens=APPROVED,
        typed=None,
    ),
    "approval-write": Screen(
        change,
        ("Allow this write?", "changes.md", "Allow once", "No, and tell the agent why"),
        [[Use("write", path="docs/changes.md", content="# Changes\n\n- Hello by name.\n"), USAGE]],
        settings=ASK,
        opens=APPROVED,
        typed=None,
    ),
    "trust": Screen(
        trusting,
        (
            "Trust this repository?",
            "MCP server",
            "npx database --write",
            "none of this runs",
            "Do not trust it",
            "Trust it",
            "Decide later",
        ),
        files={".mcp.json": '{"mcpServers": {"db": {"command": "npx", "args": ["database", "--write"]}}}'},
        opens="ui_controller.ScreenUi.select",
        command="trust",
        typed=None,
    ),
    "question": Screen(
        question,
        (
            "The agent asks",
            "Which database should it use?",
            "1. SQLite (recommended)",
            "2. PostgreSQL",
            "Something else",
            "Esc stops the agent",
        ),
        [[Use("ask", questions=[DATABASE]), USAGE]],
        wide=("One file and nothing to install.",),
        opens=ASKED,
        typed=None,
    ),
    "question-multi": Screen(
        several,
        (
            "Which parts are to be built now?",
            "The command line",
            "The web page",
            "The documentation",
            "Space check",
        ),
        [[Use("ask", questions=[PARTS]), USAGE]],
        opens=ASKED,
        typed=None,
    ),
    "question-other": Screen(
        other,
        ("Which database should it use?", "Something else", "DuckDB"),
        [[Use("ask", questions=[DATABASE]), USAGE]],
        opens=ASKED,
        typed="  DuckDB",
    ),
    "questions": Screen(
        answers,
        (
            "Which database should it use?",
            "SQLite",
            "The command line, The documentation",
            "Ada",
            "Send the answers",
            "Go back",
        ),
        [[Use("ask", questions=[DATABASE, PARTS, NAME]), USAGE]],
        opens=ASKED,
        typed=None,
    ),
    "plan-mode": Screen(planning, ("plan mode",), command="plan"),
    "plan-review": Screen(
        review,
        (
            "Plan: Greet by name",
            "Correct the name in greeting.py",
            "Approve and start",
            "Edit in your editor",
            "Send back with a comment",
            "Keep planning",
        ),
        [
            [Use("write", path="local://plan.md", content=PLAN)],
            [Use("resolve", action="apply", reason="ready"), USAGE],
        ],
        opens="dialogs.plan_review.PlanDialog.review",
        typed=None,
    ),
    "plan-comment": Screen(
        comment,
        ("Plan: Greet by name", "What should change:", "the changelog", "Enter sends it back"),
        [
            [Use("write", path="local://plan.md", content=PLAN)],
            [Use("resolve", action="apply", reason="ready"), USAGE],
        ],
        opens="dialogs.plan_review.PlanDialog.review",
        typed="the changelog",
    ),
    "first-run": Screen(
        set_up,
        (
            "Welcome to tau: choose a model",
            "No model can be used.",
            "Paste an API key",
            "How this works",
            "Quit",
            "Esc quits",
        ),
        refusals=(NO_MODEL,),
        opens="dialogs.startup_recovery.choose_recovery",
        typed=None,
    ),
    "first-run-help": Screen(
        explained,
        ("Models and keys", "ANTHROPIC_API_KEY", "Ollama", "Back", "Esc goes back"),
        refusals=(NO_MODEL,),
        opens="dialogs.startup_recovery._help.<locals>.show",
        typed=None,
    ),
    "first-run-file": Screen(
        broken_file,
        ("tau could not open a session", "Try again", "Open the file in your editor", "Quit"),
        refusals=(ConfigError("This is no JSON.", path=Path("/etc/tau.json"), line=3),),
        opens="dialogs.startup_recovery.choose_recovery",
        typed=None,
    ),
    "login": Screen(
        providers,
        ("Which provider is the key for?", "Anthropic", "OpenAI", "Enter select", "Esc cancel"),
        announced=("Which provider is the key for?", "Anthropic", "Enter select"),
        opens="dialogs.login.choose_provider",
        command="login",
        typed="Filter: ",
    ),
    "login-key": Screen(
        key,
        ("Anthropic key", "it stays hidden", "Enter confirms", "Esc cancels"),
        opens="dialogs.login._ask_key",
        command="login",
        typed="❯ •••••••••••",
    ),
    "login-way": Screen(
        way,
        ("Log in to OpenRouter", "Log in with a browser", "Paste an API key", "Esc cancels"),
        opens="dialogs.oauth_login.choose_way",
        command="login",
        typed=None,
    ),
    "first-run-price": Screen(
        price,
        ("Use Claude", "(cheaper)", "per million tokens", "/model changes it"),
        refusals=(NO_MODEL,),
        opens="dialogs.startup_recovery._choose_price",
        typed=None,
    ),
    "login-server": Screen(
        server,
        ("Server address", "OpenAI-compatible", UNREACHABLE),
        opens="dialogs.custom_server.add_server dialogs.custom_server._ask",
        command="login",
        typed=f"❯ {UNREACHABLE}",
    ),
    "login-server-model": Screen(
        served_model,
        ("Model", "127.0.0.1:9 did not list its models", "qwen3-coder"),
        opens="dialogs.custom_server._choose_model",
        command="login",
        typed="❯ ",
    ),
    "logout": Screen(
        forget,
        ("Which key do you want to remove?", "Cancel", "Remove Anthropic"),
        opens="dialogs.login._choose_stored",
        command="logout",
        typed=None,
    ),
    "commit": Screen(
        commit,
        ("Commit?", "style: change whitespace in greeting.py", "1. Yes", "2. No"),
        opens="commands.commit.commit.<locals>.approve",
        command="commit",
        typed=None,
    ),
    "session-delete": Screen(
        delete,
        ("Delete this session?", "moves to the trash", "1. Yes", "2. No"),
        [[Say("It returns nmae."), USAGE]],
        opens="commands.session._delete ui_controller.ScreenUi.confirm",
        command="session",
        typed=None,
    ),
    "todo-edit": Screen(
        edit_tasks,
        ("# Todos", "Read greeting.py", "Enter confirms", "Esc cancels"),
        opens="commands.todo._edit ui_controller.ScreenUi.editor",
        command="todo",
    ),
    "select-many": Screen(
        many,
        ("Which color?", "color 1", "Esc cancels"),
        announced=("Which color?", "color 1"),
        opens="ui_controller.ScreenUi.select",
        typed="Filter: ",
    ),
    "ask-line": Screen(
        line,
        ("What is it called?", "Ada", "Enter confirms"),
        opens="ui_controller.ScreenUi.input",
        typed="❯ Ada",
    ),
    "signs": Screen(signs, ("build: 3 of 7 files", "tests: waiting", "cpu 12 %", "online")),
}
