"""Plays calls in one session, for a test that watches its system calls. Arguments: folder, file of calls."""

import asyncio
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

import tau
from tau.agent.hooks import Hooks, ToolQuestion
from tau.agent.output import ToolOutput
from tau.ai.faux import Faux, FauxStep, Say, Use
from tau.ai.wire import ToolCall, ToolResultMessage, text_of

# Opening these shows up in the trace.
BEGIN, END = "/tau-call-begins/", "/tau-call-ends/"


def mark(path: str) -> None:
    with suppress(OSError):
        os.close(os.open(path, os.O_RDONLY))


class Marks(Hooks):
    def __init__(self) -> None:
        self.declared: list[dict[str, list[str]]] = []

    async def before_tool(self, question: ToolQuestion) -> str | None:
        effects = question.effects
        reads, writes = (
            [os.path.realpath(path) for path in paths] for paths in (effects.reads, effects.writes)
        )
        self.declared.append({"reads": reads, "writes": writes, "runs": list(effects.runs)})
        mark(f"{BEGIN}{len(self.declared) - 1}")
        return None

    async def after_tool(self, call: ToolCall, output: ToolOutput) -> ToolOutput:
        mark(f"{END}{len(self.declared) - 1}")
        return output


async def main(folder: Path, calls: list[tuple[str, dict[str, object]]]) -> None:
    marks = Marks()
    script: list[list[FauxStep]] = [*([Use(name, **arguments)] for name, arguments in calls), [Say("ok")]]
    options = tau.SessionOptions(
        cwd=folder,
        stream=Faux(script).stream,
        save=False,
        hooks=(marks,),
        tools=tuple({name for name, _ in calls}),
        # The mounts of a sandbox are not what the test is about.
        settings={"tools.approvalMode": "yolo", "edit.mode": "apply_patch", "sandbox.mode": "off"},
    )
    async with tau.create_session(options) as session:
        await session.prompt("go")
        messages = session.log.messages()
    results = [text_of(each.content) for each in messages if isinstance(each, ToolResultMessage)]
    json.dump({"declared": marks.declared, "results": results}, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())))
