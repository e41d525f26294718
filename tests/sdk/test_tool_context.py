"""A tool sees the same context in a session, in a single call, and in tool tests."""

import asyncio
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

import tau
from tau.agent.approved_effects import ApprovedEffects
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolResultMessage, text_of
from tau.coding.ports import CodingContext
from tests.coding.context import CallContext, call_context
from tests.support.limits import HANG_S


class NoParams(Struct):
    pass


class Look(tau.Tool[NoParams]):
    """Keeps the context it was given."""

    name, label, description = "look", "Look", "Looks."

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def effects(self, params: NoParams, cwd: Path) -> tau.Effects:
        return tau.Effects(runs=("look",))

    async def run(self, params: NoParams, ctx: tau.ToolContext) -> tau.ToolOutput:
        self.seen.append(ctx)
        return tau.ToolOutput.text("ok")


def options(script: list[list[FauxStep]], folder: Path, **more: Any) -> tau.SessionOptions:
    return tau.SessionOptions(cwd=folder, stream=Faux(script).stream, save=False, **more)


async def results(
    script: list[list[FauxStep]], folder: Path, opened: Callable[[], object] = lambda: None, **more: Any
) -> list[str]:
    """The tool results in a session; calls `opened` before the prompt."""
    async with tau.create_session(options(script, folder, **more)) as session:
        opened()
        await session.prompt("go")
        messages = session.log.messages()
    return [text_of(message.content) for message in messages if isinstance(message, ToolResultMessage)]


def layers(part: Any) -> list[str]:
    """The classes of a port from the outside in: a wrapper, and what it wraps."""
    found = [type(part).__name__]
    inner = [value for value in vars(part).values() if hasattr(value, "read_part")]
    return found + [name for each in inner for name in layers(each)]


def test_tool_tests_use_the_ports_of_a_session(tmp_path: Path) -> None:
    look = Look()
    script: list[list[FauxStep]] = [[Use("look")], [Say("ok")]]
    tau.run_sync("go", options(script, tmp_path, add_tools=(look,)))
    [real] = look.seen
    ports = [name for name, value in vars(CodingContext).items() if isinstance(value, property)]
    ports += [name for name, value in vars(tau.ToolContext).items() if isinstance(value, property)]
    assert {"fs", "run", "artifacts", "urls", "snapshots", "models", "jobs", "todos"} <= set(ports)
    with call_context(tmp_path) as plain:
        ctx = plain.bound(ApprovedEffects(tau.Effects(runs=("look",))))
        assert isinstance(ctx, CallContext)
        for name in ports:
            tested, used = getattr(ctx, name), getattr(real, name)
            assert type(tested) is type(used), name
        assert layers(ctx.fs) == layers(real.fs)
        assert layers(ctx.fs) == ["BoundFileSystem", "RecordingFileSystem", "LocalFileSystem"]


def test_links_in_a_folder_are_not_shown_as_files(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("x")
    (tmp_path / "alias.txt").symlink_to("real.txt")
    (tmp_path / "loop").symlink_to(".")
    os.mkfifo(tmp_path / "pipe")
    [listing] = asyncio.run(results([[Use("read", path=".")], [Say("ok")]], tmp_path))
    assert "- alias.txt -> real.txt" in listing and "- loop -> ." in listing
    assert "- pipe (no regular file)" in listing and len(listing.splitlines()) == 4


class BlockedListing:
    """A disk on which listing a folder blocks until `go` is set; `entered` says that it has started."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entered, self.go = threading.Event(), threading.Event()
        self.waited = False
        self._scandir = os.scandir
        self._monkeypatch = monkeypatch

    def block(self) -> None:
        self._monkeypatch.setattr(os, "scandir", self.scandir)

    def scandir(self, path: Any) -> Any:
        self.entered.set()
        self.waited = self.go.wait(10)
        return self._scandir(path)


def test_listing_a_large_folder_does_not_block_the_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(50):
        (tmp_path / str(number)).touch()
    held = BlockedListing(monkeypatch)

    async def main() -> list[str]:
        async def go_on() -> None:
            while not held.entered.is_set():  # noqa: ASYNC110 - a thread says it
                await asyncio.sleep(0.001)
            held.go.set()

        async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
            tasks.create_task(go_on())
            # Only this tool: others look for code in the folder when they are offered.
            script: list[list[FauxStep]] = [[Use("read", path=".")], [Say("ok")]]
            listed = tasks.create_task(results(script, tmp_path, held.block, tools=("read",)))
        return listed.result()

    [listing] = asyncio.run(main())
    assert held.waited, "the event loop could not run while the folder was listed"
    assert len(listing.splitlines()) == 50


def test_escape_stops_the_listing_of_a_large_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").touch()
    ended = threading.Event()
    scandir = os.scandir

    class Endless:
        def __enter__(self) -> "Endless":
            return self

        def __exit__(self, *_: object) -> None:
            ended.set()

        def __iter__(self) -> Iterator[Any]:
            with scandir(tmp_path) as entries:
                [entry] = entries
            while True:
                begun.set()
                time.sleep(0.001)
                yield entry

    begun = threading.Event()

    async def main() -> None:
        look = options([[Use("read", path=".")], [Say("ok")]], tmp_path, tools=("read",))
        async with tau.create_session(look) as session:
            monkeypatch.setattr(os, "scandir", lambda path: Endless())

            async def stop() -> None:
                while not begun.is_set():  # noqa: ASYNC110 - a thread says it
                    await asyncio.sleep(0.001)
                session.abort()

            async with asyncio.timeout(HANG_S), asyncio.TaskGroup() as tasks:
                tasks.create_task(stop())
                outcome = await session.prompt("go")
            assert outcome.aborted

    asyncio.run(main())
    assert ended.is_set()


def test_single_command_has_a_fresh_shell(tmp_path: Path) -> None:
    output = asyncio.run(tau.call_tool("bash", {"command": "echo $0 >&2; pwd; exit 3"}, tmp_path))
    text = text_of([part for part in output.content if isinstance(part, tau.TextContent)])
    assert text.endswith(f"{tmp_path}\n[Exit code 3]") and output.is_error


def test_single_call_records_no_undo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "a.txt").write_text("one\n")
    asyncio.run(tau.call_tool("write", {"path": "a.txt", "content": "two\n"}, tmp_path))
    assert (tmp_path / "a.txt").read_text() == "two\n"
    assert list((tmp_path / "temporary").iterdir()) == []
