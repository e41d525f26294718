"""One server for a session and its agents; it ends with tau; a rename can be undone; lspmux."""

import asyncio
import os
import re
from pathlib import Path

import pytest

import tau
from tau.ai.faux import Say
from tau.backends.lsp.lspmux import Lspmux
from tau.base.run import LocalRunner
from tests.coding.task.play import Answer, Play, finish, session_of, task, text_in, yielded
from tests.coding.tools.killed import assert_nothing_lives_after_a_kill
from tests.coding.tools.test_lsp import edit, lsp, span, use_fake
from tests.coding.tools.test_lsp import session_of as lsp_session


def pids(play: Play) -> list[str]:
    found = [re.search(r"pid (\d+)", text_in(m)) for request in play.requests for m in request.messages]
    return [match[1] for match in found if match]


@pytest.mark.parametrize("shared", [True, False])
def test_agents_share_the_servers_if_they_may_have_them(tmp_path: Path, shared: bool) -> None:
    use_fake()
    (tmp_path / "a.txt").write_text("alpha\n")

    def agent(assignment: str, turn: int) -> Answer:
        calls = [lsp("hover", file="a.txt", symbol="alpha"), lsp("status")]
        return [calls[turn]] if turn < 2 else yielded()

    main_calls = [[lsp("hover", file="a.txt", symbol="alpha")], [lsp("status")], [task("look")]]
    play = Play([*main_calls, [Say("ok")], [Say("ok")]], agent)

    async def main() -> None:
        settings = {"task.enableLsp": shared}
        async with session_of(play, tmp_path, settings=settings) as session:
            await session.prompt("go")
            await finish(session)

    asyncio.run(main())
    offered = any(tool.name == "lsp" for tool in play.agent_requests[0].tools)
    assert offered == shared
    assert len(set(pids(play))) == 1
    agent_saw = [text_in(m) for m in play.agent_requests[-1].messages if "pid " in text_in(m)]
    assert bool(agent_saw) == shared


def test_undo_takes_a_rename_back(tmp_path: Path) -> None:
    one, two = tmp_path / "one.txt", tmp_path / "two.txt"
    one.write_bytes(b"old\r\nold\r\n")
    two.write_text("old\n")
    changes = {**edit(one, span(0, 0, 3), span(1, 0, 3)), **edit(two, span(0, 0, 3))}
    use_fake(**{"textDocument/rename": {"result": {"changes": changes}}})

    async def main() -> None:
        options, _ = lsp_session(
            tmp_path, lsp("rename", file="one.txt", line=1, symbol="old", new_name="new")
        )
        async with tau.create_session(options) as session:
            await session.prompt("go")
            assert (one.read_bytes(), two.read_text()) == (b"new\r\nnew\r\n", "new\n")
            undo = session.recorder.undo
            await asyncio.to_thread(lambda: undo.apply(undo.plan()))

    asyncio.run(main())
    assert (one.read_bytes(), two.read_text()) == (b"old\r\nold\r\n", "old\n")


def test_a_killed_tau_leaves_no_server_behind(tmp_path: Path) -> None:
    use_fake(ignores_end=True)
    (tmp_path / "a.txt").write_text("alpha\n")
    assert_nothing_lives_after_a_kill(
        tmp_path, "lsp", {"action": "hover", "file": "a.txt", "symbol": "alpha"}
    )


def lspmux(folder: Path, status: int) -> str:
    folder.mkdir(exist_ok=True)
    program = folder / "lspmux"
    program.write_text(f"#!/bin/sh\n[ $1 = status ] && exit {status}\n")
    program.chmod(0o755)
    return f"{folder}{os.pathsep}{os.environ['PATH']}"


@pytest.mark.parametrize(
    ("status", "off", "state"), [(0, "0", "active"), (1, "0", "stopped"), (0, "1", "missing")]
)
def test_lspmux_is_used_for_what_it_knows_where_it_runs(
    tmp_path: Path, status: int, off: str, state: str
) -> None:
    environ = {**os.environ, "PATH": lspmux(tmp_path / "bin", status), "TAU_DISABLE_LSPMUX": off}

    async def main() -> None:
        runner = LocalRunner()
        multiplexer = Lspmux(tmp_path, runner, environ)
        assert await multiplexer.state() == state
        wrapped = await multiplexer.wrap("rust-analyzer", ["/bin/ra", "-v"])
        if state == "active":
            assert wrapped[1:] == ["client", "--server-path", "/bin/ra", "--", "-v"]
        else:
            assert wrapped == ["/bin/ra", "-v"]
        assert await multiplexer.wrap("clangd", ["clangd"]) == ["clangd"]
        runner.close()

    asyncio.run(main())
