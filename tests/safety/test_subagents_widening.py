"""Attempts of agents, down to the third level, to do more than their callers may: none changes a file."""

import asyncio
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tau.ai.faux import Act, Say, Use
from tau.coding.session.session import Session
from tau.config.paths import user_paths
from tau.config.trust import TrustStore
from tests.coding.task.play import Play, finish, results_in, session_of, task, text_in, yielded
from tests.coding.task.test_isolation import git

DEEP = {"task.maxRecursionDepth": 3, "task.isolation.mode": "worktree"}
ASK = {"tools.approvalMode": "ask"}
SPAWNER = "spawns: '*'"
WRITE = Use("write", path="new", content="x")
OUTSIDE = Use("write", path="../outside/new", content="x")
BASH = Use("bash", command="touch new")
CELL = Use("eval", cells=[{"language": "py", "code": "open('new', 'w')"}])
CELL_TOOL = Use("eval", cells=[{"language": "py", "code": "tool.write(path='new', content='x')"}])
STARTS = "agent('level 2', agent_type='a2')"
CELL_AGENT = Use("eval", cells=[{"language": "py", "code": STARTS}])
NEEDS, FORBIDS, PLANS = "needs the user's approval", "not allowed", "planned work into local"
ISOLATED = "isolated: true"


class Attempt(NamedTuple):
    """Agents `a1`, `a2`, `a3` with these fields start each other; the last one makes the calls.

    `says` is in the results that the last one, or the one that could not start it, reads.
    """

    name: str
    agents: tuple[str, ...]
    calls: Sequence[Any]
    says: str
    settings: dict[str, Any] = ASK
    change: str = ""  # the mode that the user chooses before the calls
    merged: bool = False  # the calls may run; it is the merge that must not


def rows() -> list[Attempt]:
    made = []
    for depth in (1, 2, 3):
        chain = (SPAWNER,) * depth
        for name, call in {"write": WRITE, "bash": BASH, "eval": CELL}.items():
            made.append(Attempt(f"{name} at level {depth} under ask", chain, (call,), NEEDS))
            made.append(Attempt(f"{name} at level {depth} after plan", chain, (call,), PLANS, {}, "plan"))
        made.append(Attempt(f"write outside at level {depth}", chain, (OUTSIDE,), NEEDS, {}))
    for mode in ("bypassPermissions", "acceptEdits", "dontAsk", "auto", "yolo", "default", "workspace"):
        fields = f"{SPAWNER}\npermissionMode: {mode}"
        made.append(Attempt(f"definition with {mode}", (fields,), (WRITE,), NEEDS))
        strict = f"{SPAWNER}\npermissionMode: ask"
        made.append(Attempt(f"{mode} below an agent that asks", (strict, fields), (WRITE,), NEEDS, {}))
    plan = f"{SPAWNER}\npermissionMode: plan"
    made += [
        Attempt("yolo below an agent that plans", (plan, "permissionMode: yolo"), (WRITE,), PLANS, {}),
        Attempt("user asks again meanwhile", (SPAWNER,) * 3, (WRITE,), NEEDS, {}, "ask"),
        Attempt(
            "user leaves yolo meanwhile", (SPAWNER,), (OUTSIDE,), NEEDS, {"tools.approvalMode": "yolo"}, "ask"
        ),
        Attempt(
            "tools that its caller lacks", ("tools: read\n" + SPAWNER, "tools: write"), (WRITE,), "write", {}
        ),
        Attempt("every tool", ("tools: read\n" + SPAWNER, "tools: '*'"), (BASH,), "bash", {}),
        Attempt(
            "a tool by another agent's name", ("tools: Read\n" + SPAWNER, "tools: Bash"), (BASH,), "bash", {}
        ),
        Attempt("a disallowed tool", ("disallowedTools: bash",), (BASH,), "bash", {}),
        Attempt("an agent that may start none", ("tools: read", ""), (WRITE,), "task", {}),
        Attempt("a cell that starts an agent", ("tools: eval", ""), (WRITE,), "may not start", {}),
        Attempt(
            "a cell without the tool task", (f"disallowedTools: task\n{SPAWNER}", ""), (WRITE,), "may not", {}
        ),
        Attempt("a cell that calls a tool it lacks", ("tools: eval",), (CELL_TOOL,), "write", {}),
        Attempt("a level too deep", (SPAWNER,) * 4, (WRITE,), "nest 3 deep|task", {}),
        Attempt("a denied tool", (SPAWNER,) * 3, (BASH,), FORBIDS, {"tools.deny": ["tool: bash"]}),
        Attempt("a denied command", (SPAWNER,) * 3, (BASH,), FORBIDS, {"tools.deny": ["run: touch"]}),
        Attempt("a denied write", (SPAWNER,) * 3, (WRITE,), FORBIDS, {"tools.deny": ["write: ./new"]}),
        Attempt(
            "a denied read",
            (SPAWNER,) * 3,
            (Use("read", path=".env"),),
            FORBIDS,
            {"tools.deny": ["read: ./.env"]},
        ),
    ]
    made += [
        Attempt(
            f"{name} in a copy of the repository",
            chain,
            calls,
            says,
            settings,
            merged=not says,
        )
        for name, chain, calls, says, settings in (
            (
                "denied read",
                (ISOLATED,),
                (Use("read", path=".env"),),
                FORBIDS,
                {"tools.deny": ["read: ./.env"]},
            ),
            ("denied write", (ISOLATED,), (WRITE,), FORBIDS, {"tools.deny": ["write: ./new"]}),
            (
                "denied write below",
                (f"{ISOLATED}\n{SPAWNER}", ""),
                (WRITE,),
                FORBIDS,
                {"tools.deny": ["write: ./n*"]},
            ),
            ("write under ask", (ISOLATED,), (WRITE,), NEEDS, ASK),
            ("merge of a denied file", (ISOLATED,), (BASH,), "", {"tools.deny": ["write: ./new"]}),
            ("merge of settings", (ISOLATED,), (Use("bash", command="echo {} > .mcp.json"),), "", {}),
            (
                "merge through a link",
                (ISOLATED,),
                (Use("bash", command="rm .gitignore; mkdir away && echo x > away/new"),),
                "",
                {},
            ),
            (
                "merge of a link through a link",
                (ISOLATED,),
                (Use("bash", command="rm .gitignore; mkdir away && ln -s a away/l"),),
                "",
                {},
            ),
            (
                "absolute path",
                (ISOLATED,),
                (Use("write", path="{project}/new", content="x"),),
                "You work in a copy",
                {},
            ),
        )
    ]
    return made


def prepare(folder: Path, attempt: Attempt) -> Path:
    """A project with a repository, a folder beside it, and the definitions of the user."""
    project, agents = folder / "project", Path(os.environ["TAU_HOME"]) / "agents"
    (folder / "outside").mkdir()
    project.mkdir()
    git(project, "init", "-q")
    (project / ".env").write_text("SECRET=1\n")
    (project / ".gitignore").write_text("away\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "first")
    (project / "away").symlink_to(folder / "outside")
    agents.mkdir(parents=True, exist_ok=True)
    for number, fields in enumerate(attempt.agents, 1):
        text = f"---\nname: a{number}\ndescription: x\n{fields}\n---\nWork.\n"
        (agents / f"a{number}.md").write_text(text)
    return project


def files_in(folder: Path) -> dict[str, str]:
    """The content of all files but Git's own."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else ""
        for path in sorted(folder.rglob("*"))
        if ".git" not in path.parts
    }


@pytest.mark.parametrize("attempt", rows(), ids=lambda one: one.name)
def test_agent_does_no_more_than_its_caller_may(
    attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)  # which may be above the project, and is writable
    project = prepare(tmp_path, attempt)
    before = files_in(tmp_path)
    read: list[str] = []

    async def main() -> None:
        sessions: list[Session] = []

        def agent(assignment: str, turn: int) -> Any:
            level = int(assignment.split()[1])
            if level == len(attempt.agents):
                calls = [[_placed(call, project)] for call in attempt.calls]
                if attempt.change:
                    calls = [[Act(lambda: sessions[0].permissions.set_mode(attempt.change)), *calls[0]]]
            elif "cell" in attempt.name:
                calls = [[CELL_AGENT]]
            else:
                calls = [[task(f"level {level + 1}", agent=f"a{level + 1}")]]
            return calls[turn] if turn < len(calls) else yielded("done")

        play = Play([[task("level 1", agent="a1")], [Say("ok")], [Say("ok")]], agent)
        settings = {"async.enabled": False, **DEEP, **attempt.settings}
        async with session_of(play, project, settings=settings) as session:
            sessions.append(session)
            await session.prompt("go")
            await finish(session)
            read.extend(text_in(one) for request in play.agent_requests for one in request.messages)
            read.extend(results_in(session))

    asyncio.run(main())
    assert files_in(tmp_path) == before
    said = "Not merged" if attempt.merged else attempt.says
    assert any(word in text for word in said.split("|") for text in read), "\n".join(read)


def _placed(call: Use, project: Path) -> Use:
    arguments = {
        name: value.replace("{project}", str(project)) if isinstance(value, str) else value
        for name, value in call.arguments.items()
    }
    return Use(call.tool, **arguments)


def test_revived_agent_keeps_the_limits_of_its_parked_caller(tmp_path: Path) -> None:
    strict = f"{SPAWNER}\npermissionMode: ask"
    project = prepare(tmp_path, Attempt("", (strict, ""), (), ""))
    before = files_in(tmp_path)

    def agent(assignment: str, turn: int) -> Any:
        if "level 1" in assignment and turn == 0:
            return [task("level 2", agent="a2", id="Low")]
        return [WRITE] if turn == 1 and "level 2" in assignment else yielded("done")

    async def main() -> str:
        play = Play([[task("level 1", agent="a1", id="High")], [Say("ok")], [Say("ok")]], agent)
        async with session_of(play, project, settings={"async.enabled": False, **DEEP}) as session:
            await session.prompt("go")
            team = session.team()
            for one in ("High.Low", "High"):
                await team.life.park(team.roster.agents[one])
            assert team.roster.agents["High"].session is None
            assert (await team.mail.send("Main", "High.Low", "Write it.")).outcome == "revived"
            await team.roster.agents["High.Low"].settled.wait()
            return "\n".join(text_in(one) for one in play.agent_requests[-1].messages)

    assert NEEDS in asyncio.run(main())
    assert files_in(tmp_path) == before


def test_revived_agent_has_no_tools_that_the_session_lost(tmp_path: Path) -> None:
    project = prepare(tmp_path, Attempt("", ("",), (), ""))
    before = files_in(tmp_path)

    def agent(assignment: str, turn: int) -> Any:
        return [WRITE] if turn == 1 else yielded("done")

    async def main() -> list[str]:
        first = Play([[task("level 1", agent="a1", id="One")], [Say("ok")]], agent)
        async with session_of(first, project, settings={"async.enabled": False}, save=True) as session:
            await session.prompt("go")
        again = Play([[Say("ok")]] * 3, agent)
        tools = ("read", "task", "irc")
        async with session_of(again, project, save=True, continue_recent=True, tools=tools) as session:
            team = session.team()
            await team.mail.send("Main", "One", "Write it.")
            await team.roster.agents["One"].settled.wait()
            return [tool.name for tool in again.agent_requests[0].tools]

    assert sorted(asyncio.run(main())) == ["irc", "read", "yield"]
    assert files_in(tmp_path) == before


def test_branch_of_an_agent_is_made_without_a_write_where_it_wants(tmp_path: Path) -> None:
    project = prepare(tmp_path, Attempt("", (ISOLATED,), (), ""))
    (victim := tmp_path / "outside/precious").write_text("mine")
    lead_away = f"rm -rf .git/refs/heads/*; ln -s {victim} .git/refs/heads/result; touch new"
    settings = {
        **DEEP,
        "async.enabled": False,
        "task.isolation.merge": "branch",
        "tools.approvalMode": "yolo",
    }

    def agent(assignment: str, turn: int) -> Any:
        return yielded("done") if turn else [Use("bash", command=lead_away)]

    async def main() -> None:
        play = Play([[task("level 1", agent="a1", id="One")], [Say("ok")]], agent)
        async with session_of(play, project, settings=settings) as session:
            await session.prompt("go")

    asyncio.run(main())
    assert victim.read_text() == "mine"
    assert git(project, "show", "--stat", "tau/task/One").count("new") == 1


@pytest.mark.parametrize("place", [".git/objects", ".git/objects/aa"])
def test_git_does_not_follow_a_link_that_an_agent_put_into_its_repository(place: str, tmp_path: Path) -> None:
    project = prepare(tmp_path, Attempt("", (ISOLATED,), (), ""))
    before = files_in(tmp_path)
    lead_away = f"rm -rf {place}; ln -s {tmp_path}/outside {place}; touch new"
    settings = {**DEEP, "async.enabled": False, "tools.approvalMode": "yolo"}

    def agent(assignment: str, turn: int) -> Any:
        return yielded("done") if turn else [Use("bash", command=lead_away)]

    async def main() -> list[str]:
        play = Play([[task("level 1", agent="a1", id="One")], [Say("ok")]], agent)
        async with session_of(play, project, settings=settings) as session:
            await session.prompt("go")
            return results_in(session)

    assert "is a link, so the changes cannot be read" in "".join(asyncio.run(main()))
    assert files_in(tmp_path) == before


@pytest.mark.parametrize(("count", "asks"), [(60, True), (600, False)])
def test_a_merge_is_asked_about_with_all_its_files_or_not_at_all(
    count: int, asks: bool, tmp_path: Path
) -> None:
    project = prepare(tmp_path, Attempt("", (ISOLATED,), (), ""))
    write = f"for n in $(seq {count}); do echo x > file$n; done; printf x > $(printf 'hid\\u202eden')"
    asked: list[str] = []

    class Reader:
        async def confirm(self, title: str, message: str, *, timeout: float | None = None) -> bool:
            asked.append(message)
            return False

        async def select(self, title: str, options: Sequence[str], *, timeout: float | None = None) -> str:
            return options[0]

        def __getattr__(self, name: str) -> Any:
            return lambda *given, **named: None

    def agent(assignment: str, turn: int) -> Any:
        return yielded("done") if turn else [Use("bash", command=write)]

    async def main() -> str:
        play = Play([[task("level 1", agent="a1", id="One")], [Say("ok")]], agent)
        settings = {**DEEP, "async.enabled": False, **ASK, "tools.allow": ["tool: bash"]}
        async with session_of(play, project, settings=settings, ui=Reader()) as session:
            await session.prompt("go")
            return "".join(results_in(session))

    said = asyncio.run(main())
    assert "Not merged" in said and not (project / "file1").exists()
    if asks:
        [message] = asked
        assert "file60" in message and "hid<U+202E>den" in message
    else:
        assert asked == [] and "too many to show" in said


def test_a_hook_that_an_agent_writes_does_not_run_for_the_next_agent(tmp_path: Path) -> None:
    """The repository is trusted as it was when the session began."""
    project = prepare(tmp_path, Attempt("", ("",), (), ""))
    trusted = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}}
    (project / ".claude").mkdir()
    (project / ".claude/settings.json").write_text(json.dumps(trusted))
    TrustStore(user_paths(os.environ)).trust(project)
    ran = tmp_path / "ran"
    evil = {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": f"touch {ran}"}]}]}}
    write = Use("bash", command=f"mkdir .tau && echo '{json.dumps(evil)}' > .tau/hooks.json")

    def agent(assignment: str, turn: int) -> Any:
        return [Use("read", path=".env")] if turn == 0 else yielded("done")

    async def main() -> None:
        play = Play([[write], [task("level 1", agent="a1")], [Say("ok")]], agent)
        settings = {"async.enabled": False, "tools.approvalMode": "yolo"}
        async with session_of(play, project, settings=settings) as session:
            assert session.trusted
            await session.prompt("go")
            assert len(play.agent_requests) == 2
        assert (project / ".tau/hooks.json").exists()

    asyncio.run(main())
    assert not ran.exists()
