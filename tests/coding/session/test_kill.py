"""kill -9 at every event of a run: nothing that was reported as ended is missing, and the session goes on."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from tau.ai.catalog import load_catalog
from tau.ai.dialect import Request
from tau.ai.history import sendable
from tau.ai.wire import UserMessage
from tau.coding.session.log import SessionLog
from tests.support.validators import validate_anthropic, validate_openai

VICTIM = """
import asyncio, os, signal, sys
from pathlib import Path
import msgspec
from tau.ai.faux import Say, Think, Use
from tests.coding.session.rig import scripted

folder, last = Path(sys.argv[1]), int(sys.argv[2])
script = [
    [Think("hm", "sig"), Say("Look.", 2), Use("bash", command="echo a"), Use("bash", command="echo b")],
    [Use("write", path="f.txt", content="text")],
    [Say("Done.")],
]
count = 0

def report(event):
    global count
    os.write(1, msgspec.json.encode(event) + b"\\n")
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)

async def main():
    opening, _ = scripted(script, folder)
    async with opening as session:
        session.subscribe(report)
        await session.prompt("go")

asyncio.run(main())
"""


def test_kill_at_every_event(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        ran = subprocess.run(
            [sys.executable, "-c", VICTIM, str(folder), str(number)],
            cwd=root,
            stdout=subprocess.PIPE,
            check=False,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        events = [json.loads(line) for line in ran.stdout.splitlines()]
        ended = [event["message"] for event in events if event["type"] == "message_end"]
        if ended:
            check(folder, ended)
        if ran.returncode != -signal.SIGKILL:
            assert ran.returncode == 0
            break
    assert number > 30


def check(folder: Path, ended: list[dict[str, object]]) -> None:
    [path] = (folder / "sessions").glob("*.jsonl")
    kept = [json.loads(line).get("message") for line in path.read_bytes().splitlines()]
    assert [message for message in ended if message not in kept] == []
    log = SessionLog.open(path)
    try:
        history = [*log.messages(), UserMessage("go on", 99)]
    finally:
        log.close()
    models = {model.api: model for model in load_catalog().models}
    for api, validate in (
        ("anthropic-messages", validate_anthropic),
        ("openai-completions", validate_openai),
    ):
        model = models[api]
        request = Request(system="s", messages=sendable(history, model), tools=[], max_tokens=100)
        assert validate(body(api, model, request)) == []


def body(api: str, model: object, request: Request) -> dict[str, object]:
    import importlib

    module = importlib.import_module(f"tau.ai.apis.{api.replace('-', '_')}")
    built = module.build_body(model, request)
    decoded: dict[str, object] = json.loads(built) if isinstance(built, bytes) else built
    return decoded
