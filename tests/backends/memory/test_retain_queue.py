"""The queue of a Hindsight server: what is on disk is never lost, and never goes to another server."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from tau.ai.http import HttpTransport
from tau.backends.memory import retain_queue
from tau.backends.memory.hindsight import HindsightClient
from tau.backends.memory.retain_queue import RetainQueue
from tau.backends.memory.store import MemoryStoreError
from tau.base.tasks import Background
from tests.support.fake_hindsight import FakeHindsight, fake_hindsight
from tests.support.raw_server import raw_server, read_head

WRITER = """
import asyncio, sys
from pathlib import Path
from tests.backends.memory.test_retain_queue import client, item
from tau.backends.memory.retain_queue import RetainQueue
from tau.base.tasks import Background

async def main():
    queue = RetainQueue(Path(sys.argv[1]), client("http://127.0.0.1:9"), Background())
    for number in range(10_000):
        await queue.add([item(f"fact {number}")], "tau")
        print(number, flush=True)

asyncio.run(main())
"""


async def no_key() -> str | None:
    return None


def client(url: str) -> HindsightClient:
    return HindsightClient(url, HttpTransport({}), no_key, {}, False)


def item(text: str, document: str = "") -> dict[str, object]:
    return {"content": text, "document_id": document or text}


def run(folder: Path, test: Callable[[FakeHindsight, RetainQueue], Awaitable[None]]) -> FakeHindsight:
    async def main() -> FakeHindsight:
        async with fake_hindsight() as server:
            background, asked = Background(), client(server.url)
            queue = RetainQueue(folder, asked, background)
            queue.warn = lambda text: warnings.append(text)
            try:
                await test(server, queue)
            finally:
                await background.close()
                await asked.transport.close()
            return server

    warnings.clear()
    return asyncio.run(main())


warnings: list[str] = []


def test_batches_have_16_items_and_the_last_text_of_a_document(tmp_path: Path) -> None:
    async def test(server: FakeHindsight, queue: RetainQueue) -> None:
        await queue.add([item(f"fact {number}") for number in range(20)], "tau")
        await queue.add([item("old", "session"), item("new", "session")], "tau")
        while not await queue.flush():  # noqa: ASYNC110 - the queue also sends automatically
            await asyncio.sleep(0.01)
        assert queue.waiting() == []

    server = run(tmp_path, test)
    assert len(server.asked("/memories")[0].body["items"]) == 16
    assert "new" in server.texts and "old" not in server.texts


def test_a_memory_that_the_server_refuses_does_not_stop_the_others(tmp_path: Path) -> None:
    async def test(server: FakeHindsight, queue: RetainQueue) -> None:
        server.fail = lambda asked: (422, b"{}") if "poison" in str(asked.body) else None
        await queue.add([item("one"), item("poison"), item("two")], "tau")
        (tmp_path / "0.json").write_text("garbled")
        assert await queue.flush() and queue.waiting() == []
        assert server.texts == ["one", "two"]

    run(tmp_path, test)
    assert len(list(tmp_path.glob("*.refused"))) == 2 and len(warnings) == 2


def test_nothing_goes_to_another_server(tmp_path: Path) -> None:
    async def test(server: FakeHindsight, queue: RetainQueue) -> None:
        background = Background()
        await RetainQueue(tmp_path, client("http://127.0.0.1:9"), background).add([item("private")], "tau")
        await background.close()
        assert await queue.flush() and len(queue.waiting()) == 1 and server.requests == []

    run(tmp_path, test)


def test_a_full_disk_is_an_error_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **more: object) -> None:
        raise OSError(28, "No space left on device")

    async def test(server: FakeHindsight, queue: RetainQueue) -> None:
        monkeypatch.setattr(retain_queue, "write_atomic", full)
        with pytest.raises(MemoryStoreError, match="No space left on device"):
            await queue.add([item("one")], "tau")

    run(tmp_path, test)


def test_a_killed_process_loses_nothing_that_was_queued(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / "queue")]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[3]
    ) as writer:
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(5)]
        writer.send_signal(signal.SIGKILL)
        lines += writer.stdout.readlines()
    kept = [path.read_text() for path in (tmp_path / "queue").glob("*.json")]
    assert len(kept) >= len(lines) >= 5
    assert all(any(f'"fact {int(line)}"' in text for text in kept) for line in lines)


@pytest.mark.parametrize("head", ["302 Found\r\nlocation: {other}", "200 OK"])
def test_a_hostile_answer_ends_and_a_redirect_is_not_followed(head: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with fake_hindsight() as other:

            async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                await read_head(reader)
                writer.write(f"HTTP/1.1 {head.format(other=other.url)}\r\n\r\n".encode())
                for _ in range(64):
                    writer.write(b"[" * 65_536)
                    await writer.drain()

            async with raw_server(talk) as place:
                asked = client(f"http://{place}")
                with pytest.raises(Exception, match=r"status 302|more than 1 MiB"):
                    await asked.ask("GET", "tau", "/stats")
                await asked.transport.close()
            assert other.requests == []

    asyncio.run(main())
