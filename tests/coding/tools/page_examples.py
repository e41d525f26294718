"""The worked examples of a page, parsed from its Markdown and run verbatim.

A heading starts an example. A line that labels the block below it makes a step of it:

    Given `PATH`:               a file with this content; `sql` makes a database of it, `base64` any bytes
    Given the model's answer:   the answer of a model that a tool asks
    Call:                       arguments for the tool of the page, as JSON
    Call `TOOL`:                the same for another tool
    Call in the mode `MODE`:    the same with `edit.mode` set
    Run:                        a command, as a user types it
    Result:                     the whole output of the preceding call or command
    Error:                      the same if it fails
    Now `PATH`:                 the whole content of a file

Every block of a page must be such a step, so that nothing is shown that was not run.
"""

import binascii
import itertools
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tau.agent.tool import Tool
from tau.ai.dialect import Request
from tau.ai.model import Model
from tau.ai.wire import AssistantMessage, TextContent, Usage
from tau.base.errors import ToolError
from tau.coding.context import ModelRoles
from tau.coding.tools.registry import TOOLS, ToolParts
from tau.config.settings import Settings
from tau.config.tool_settings import EditSettings
from tests.coding.context import CallContext, call_in_conversation, text_of
from tests.support.limits import HANG_S

LEADS = {
    "given": r"Given `(?P<path>[^`]+)`:",
    "answer": r"Given the model's answer:",
    "call": r"Call(?: `(?P<tool>\w+)`)?(?: in the mode `(?P<mode>\w+)`)?:",
    "run": r"Run:",
    "result": r"Result:",
    "error": r"Error:",
    "now": r"Now `(?P<path>[^`]+)`:",
}
GIVEN_SECONDS_AGO = 36 * 3600  # so that listings say "1d ago", whenever they are made
SEEING = Model(id="model", name="Model", api="x", provider="example", base_url="", input=("text", "image"))


class BadPage(Exception):
    """A page has a block that is not a step, or a step in the wrong place."""


@dataclass(frozen=True)
class Step:
    kind: str
    words: dict[str, str | None]
    language: str
    text: str


@dataclass(frozen=True)
class Example:
    page: str
    title: str
    steps: list[Step] = field(default_factory=list)

    def __str__(self) -> str:
        return f"{self.page}: {self.title}"


def examples_of(page: Path) -> list[Example]:
    """The examples of a page in order. Raises BadPage."""
    found: list[Example] = []
    lead = ""
    lines = iter(page.read_text(encoding="utf-8").splitlines())
    for line in lines:
        fence = re.fullmatch(r"(`{3,})(\w*)", line)
        if fence is not None:
            found[-1].steps.append(_step(page.name, lead, fence[2], _block(lines, fence[1])))
            lead = ""
        elif line.startswith("#"):
            found.append(Example(page.stem, line.lstrip("# ")))
        elif line.strip():
            lead = line
    kept = [example for example in found if example.steps]
    for example in kept:
        _check(example)
    return kept


def _block(lines: Iterator[str], fence: str) -> str:
    return "".join(f"{line}\n" for line in itertools.takewhile(lambda line: line != fence, lines))


def _step(page: str, lead: str, language: str, text: str) -> Step:
    for kind, pattern in LEADS.items():
        match = re.fullmatch(pattern, lead)
        if match is not None:
            return Step(kind, match.groupdict(), language, text)
    raise BadPage(f'{page}: the block below "{lead}" is no step of an example')


def _check(example: Example) -> None:
    """Every action is followed by its outcome, and the other way round."""
    kinds = [step.kind for step in example.steps]
    for kind, following in itertools.pairwise(["", *kinds, ""]):
        if (kind in ("call", "run")) != (following in ("result", "error")):
            raise BadPage(f"{example}: a call or command and its result belong together")
    if "call" not in kinds and "run" not in kinds:
        raise BadPage(f"{example}: nothing is done")


class Stage:
    """Where one example runs: a folder, the tools of one session, and the output of the last step."""

    def __init__(self, ctx: CallContext) -> None:
        self.ctx = ctx
        self.outcome = ("", "")
        self._given = 0
        self._answer = ""
        self._tools: dict[tuple[str, str], Tool[Any]] = {}
        self._parts: dict[str, ToolParts] = {}
        ctx.models = ModelRoles(SEEING)

    def play(self, example: Example) -> None:
        for step in example.steps:
            match step.kind:
                case "given":
                    self._give(step)
                case "answer":
                    self._answer = step.text.strip()
                case "call":
                    self.outcome = self._call(step, step.words["tool"] or example.page)
                case "run":
                    self.outcome = self._run(step.text)
                case "now":
                    assert (self.ctx.cwd / str(step.words["path"])).read_text() == step.text
                case _:
                    assert self.outcome == (step.kind, step.text.removesuffix("\n"))

    def _give(self, step: Step) -> None:
        """Write an old file, a little newer than the one before; so is its folder."""
        path = self.ctx.cwd / str(step.words["path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        if step.language == "sql":
            with closing(sqlite3.connect(path)) as database:
                database.executescript(step.text)
        else:
            path.write_bytes(
                binascii.a2b_base64(step.text) if step.language == "base64" else step.text.encode()
            )
        self._given += 1
        moment = time.time() - GIVEN_SECONDS_AGO + self._given
        for one in (path, *path.parents):
            if one == self.ctx.cwd:
                break
            os.utime(one, (moment, moment))

    def _call(self, step: Step, name: str) -> tuple[str, str]:
        tool = self._tool(name, step.words["mode"] or "hashline")
        try:
            output = call_in_conversation(tool, self.ctx, **json.loads(step.text))
        except ToolError as error:
            return "error", str(error)
        return "error" if output.is_error else "result", text_of(output).removesuffix("\n")

    def _tool(self, name: str, mode: Any) -> Tool[Any]:
        settings = Settings(edit=EditSettings(mode=mode))
        parts = self._parts.setdefault(mode, ToolParts(settings, self._complete, urls=self.ctx.urls))
        if (name, mode) not in self._tools:
            self._tools[name, mode] = TOOLS[name].make(parts)
        return self._tools[name, mode]

    async def _complete(self, model: Model, request: Request) -> AssistantMessage:
        words = TextContent(self._answer)
        return AssistantMessage([words], model.api, model.provider, model.id, Usage(), "stop", timestamp=0)

    def _run(self, command: str) -> tuple[str, str]:
        ran = subprocess.run(
            ["sh", "-c", f'tau() {{ "$PYTHON" -m tau "$@"; }}\n{command}'],
            cwd=self.ctx.cwd,
            env={**os.environ, "PYTHON": sys.executable},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANG_S,
        )
        return "error" if ran.returncode else "result", ran.stdout.removesuffix("\n")
