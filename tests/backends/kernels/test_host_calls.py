"""What cells ask of their host, over the kernel's channel."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tau.backends.kernels.cells import KernelError, KernelLanguage, NoHost
from tau.backends.kernels.running_cell import answer_call
from tau.base.errors import ToolError
from tests.backends.kernels.kernel_rig import World, in_world, needs_node, until


class FakeHost(NoHost):
    """Answers by rule and records the questions."""

    def __init__(self, width: int = 2) -> None:
        self.asked: list[Any] = []
        self.width = width
        self.at_work = self.most_at_work = self.wanted_at_work = 0

    async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        self.asked.append((name, arguments))
        self.at_work += 1
        self.most_at_work = max(self.most_at_work, self.at_work)
        await until(lambda: self.most_at_work >= self.wanted_at_work)
        await asyncio.sleep(0.01)
        self.at_work -= 1
        if name == "fails":
            raise ToolError("It cannot be done.")
        if name == "breaks":
            raise ValueError("a bug")
        if name == "hangs":
            await asyncio.sleep(1000)
        return {"text": f"{name} {sorted(arguments)}", "details": {"n": 1}, "images": []}

    async def completion(
        self, prompt: str, model: str, system: str | None, schema: dict[str, Any] | None
    ) -> Any:
        self.asked.append((prompt, model, system, schema))
        return "words" if schema is None else {"given": 1}

    async def concurrency(self) -> int:
        return self.width


BOTH = [pytest.param("python", id="python"), pytest.param("js", id="js", marks=needs_node)]
CODES: dict[str, dict[str, str]] = {
    "python": {
        "tool": "r = tool.read(path='a', n=1)\n"
        "print(r, r.details, r.upper(), (await tool.read({'path': 'b'})).text)",
        "fails": "tool.fails()",
        "breaks": "tool.breaks()",
        "completion": "print(completion('q'),"
        " completion('q', model='smol', system='s', schema={'type': 'object'}))",
        "agent": "agent('do it')",
        "parallel": "print(parallel([lambda i=i: tool.read(i=i) and i for i in range(6)]))",
        "pipeline": "print(pipeline([1, 2, 3], lambda v: v + 1, lambda v: v * 10))",
        "hangs": "tool.hangs()",
        "fails_among": "parallel([lambda: 1, lambda: tool.fails(), lambda: 2])",
    },
    "js": {
        "tool": "const r = await tool.read({path: 'a', n: 1}); print(r, r.details, r.toUpperCase(),"
        " (await tool.read({path: 'b'})).text)",
        "fails": "await tool.fails()",
        "breaks": "await tool.breaks()",
        "completion": "print(await completion('q'),"
        " await completion('q', {model: 'smol', system: 's', schema: {type: 'object'}}))",
        "agent": "await agent('do it')",
        "parallel": "const one = i => async () => { await tool.read({i}); return i };"
        "print(await parallel([0, 1, 2, 3, 4, 5].map(one)))",
        "pipeline": "print(await pipeline([1, 2, 3], v => v + 1, async v => v * 10))",
        "hangs": "await tool.hangs()",
        "fails_among": "await parallel([() => 1, () => tool.fails(), () => 2])",
    },
}


@pytest.mark.parametrize("language", BOTH)
def test_cells_can_call_tools_and_models(tmp_path: Path, language: KernelLanguage) -> None:
    host = FakeHost()
    code = CODES[language]

    async def work(made: World) -> None:
        first = await made.run(code["tool"])
        assert (
            "read ['n', 'path']" in first.text
            and "READ" in first.text
            and first.text.endswith("read ['path']\n")
        )
        assert host.asked == [("read", {"path": "a", "n": 1}), ("read", {"path": "b"})]
        assert "It cannot be done." in (await made.run(code["fails"])).text
        assert "ValueError: a bug" in (await made.run(code["breaks"])).text
        host.asked.clear()
        assert "words" in (await made.run(code["completion"])).text
        assert host.asked == [("q", "default", None, None), ("q", "smol", "s", {"type": "object"})]
        refused = await made.run(code["agent"])
        assert refused.end.status == "error" and "Agents cannot be started" in refused.text

    in_world(tmp_path, work, language, host=host)


@pytest.mark.parametrize("language", BOTH)
def test_parallel_work_is_bounded_and_keeps_its_order(tmp_path: Path, language: KernelLanguage) -> None:
    host = FakeHost(width=2)
    code = CODES[language]

    async def work(made: World) -> None:
        assert (await made.run(code["parallel"])).text.replace(" ", "") == "[0,1,2,3,4,5]\n"
        assert host.most_at_work == 2
        assert (await made.run(code["pipeline"])).text.replace(" ", "") == "[20,30,40]\n"
        host.width = 0
        host.wanted_at_work = 6
        await made.run(code["parallel"])
        assert host.most_at_work == 6
        failed = await made.run(code["fails_among"])
        assert failed.end.status == "error" and "It cannot be done." in failed.text

    in_world(tmp_path, work, language, host=host)


def test_error_of_an_interrupted_cell_was_shown_in_the_next_one(tmp_path: Path) -> None:
    host = FakeHost()

    async def work(made: World) -> None:
        running = asyncio.ensure_future(made.run("tool.hangs(); for (;;) {}"))
        await until(lambda: bool(host.asked))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await made.run("1 + 1")).text == "2\n"

    in_world(tmp_path, work, "js", host=host)


@pytest.mark.parametrize("language", BOTH)
def test_abort_ends_the_call_a_cell_waits_for(tmp_path: Path, language: KernelLanguage) -> None:
    host = FakeHost()

    async def work(made: World) -> None:
        running = asyncio.ensure_future(made.run(CODES[language]["hangs"]))
        await until(lambda: bool(host.asked))
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await made.run("1 + 1")).text.endswith("2\n")

    in_world(tmp_path, work, language, host=host)


def test_call_after_the_end_of_its_cell_is_refused(tmp_path: Path) -> None:
    code = """
import threading, os, time
said = []
def late():
    while not os.path.exists('go'):
        time.sleep(0.001)
    try:
        tool.read(path='x')
    except Exception as error:
        open('said', 'w').write(str(error))
threading.Thread(target=late).start()
"""

    async def work(made: World) -> None:
        await made.run(code)
        (tmp_path / "go").touch()
        await until(lambda: (tmp_path / "said").exists() and (tmp_path / "said").read_text() != "")
        assert (tmp_path / "said").read_text() == "No cell is running."

    in_world(tmp_path, work, host=FakeHost())


def test_cell_may_end_before_the_calls_of_its_threads(tmp_path: Path) -> None:
    host = FakeHost()
    code = """
import os, threading, time
def work():
    try:
        tool.hangs()
    except Exception as error:
        print(error)
thread = threading.Thread(target=work)
thread.start()
while not os.path.exists('asked'): time.sleep(0.005)
"""

    async def work(made: World) -> None:
        running = asyncio.ensure_future(made.run(code))
        await until(lambda: bool(host.asked))
        (tmp_path / "asked").touch()
        assert (await running).end.status == "ok"
        assert (await made.run("thread.join()")).text == "The cell has ended.\n"

    in_world(tmp_path, work, host=host)


def test_cell_cannot_wait_for_itself(tmp_path: Path) -> None:
    class Nested(FakeHost):
        world: World

        async def tool(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
            return {"text": (await self.world.run("1")).text}

    host = Nested()

    async def work(made: World) -> None:
        host.world = made
        ran = await made.run("tool.anything()")
        assert "it would deadlock" in ran.last

    in_world(tmp_path, work, host=host)


@pytest.mark.parametrize(
    ("op", "arguments"), [("tool", {}), ("completion", {"prompt": 1}), ("unknown", {}), ("output", {"id": 3})]
)
def test_invalid_host_calls_are_refused(op: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(ToolError):
        asyncio.run(answer_call(NoHost(), op, arguments))


def test_closed_pool_runs_nothing(tmp_path: Path) -> None:
    kept: list[World] = []

    async def main() -> None:
        async def work(made: World) -> None:
            kept.append(made)

        await asyncio.to_thread(lambda: in_world(tmp_path, work))
        with pytest.raises(KernelError, match="need an open session"):
            await kept[0].run("1")

    asyncio.run(main())
