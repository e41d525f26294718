"""Runs one hook: a program with JSON on its standard input, or a request to a server."""

import asyncio
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from tau.ai.transport import Timeouts
from tau.base.errors import ProviderError, ToolError
from tau.base.files import typed_path
from tau.base.late import late
from tau.base.pipe import Pipe
from tau.base.run import OUTSIDE, Limits, Process
from tau.base.sizes import KIB, MIB
from tau.base.tasks import spawn
from tau.base.text import clean_line
from tau.ext.hooks.hook_answer import HookAnswer, read_exit, read_output
from tau.ext.hooks.hook_files import NESTED, CommandHook, HookScope

http = late("tau.ai.http")

MAX_OUTPUT_BYTES = MIB
MAX_ERROR_BYTES = 64 * KIB
MAX_WORDS = 1_000
MAX_FLOOD_BYTES = 16 * MIB  # then it is ended


class HookResult(Struct, frozen=True, kw_only=True):
    hook: CommandHook
    answer: HookAnswer
    ms: int
    code: int | None = None


async def run_hook(hook: CommandHook, payload: bytes, world: HookScope) -> HookResult:
    """Never raises but for a cancellation: what went wrong is in the answer."""
    began = time.monotonic()
    code: int | None = None
    if hook.fault:
        answer = HookAnswer(failure=_clause(hook.fault))
    elif hook.url:
        answer = await _request(hook, payload, world)
    else:
        try:
            code, answer = await _run(hook, payload, world)
        except (OSError, ToolError, ValueError) as error:
            answer = HookAnswer(failure=f"it cannot be started: {_reason(error)}")
    return HookResult(hook=hook, answer=answer, ms=round((time.monotonic() - began) * 1000), code=code)


async def _run(hook: CommandHook, payload: bytes, world: HookScope) -> tuple[int | None, HookAnswer]:
    variables = {
        "CLAUDE_PROJECT_DIR": str(world.project),
        "TAU_PROJECT_DIR": str(world.project),
        NESTED: hook.event,
    }
    if hook.plugin_root is not None:
        variables["CLAUDE_PLUGIN_ROOT"] = str(hook.plugin_root)
    command: str | list[str] = hook.command
    if hook.args is not None:  # without a shell, nobody else fills in variables
        command = [_filled(word, variables) for word in (hook.command, *hook.args)]
    inside = hook.level == "project"
    if not inside and not world.trusted and _names_project(hook, world):
        inside = True
        if not await world.runner.prepare():
            problem = "it names files of a folder that you do not trust, and no sandbox works here"
            return None, HookAnswer(failure=f"{problem} (see tau trust)")
    reading, writing = os.pipe()
    errors = Pipe(reading)
    try:
        try:
            process = await (world.runner if inside else world.outside).start(
                command,
                cwd=world.cwd,
                env=variables,
                sandbox=None if inside else OUTSIDE,
                limits=Limits(timeout=hook.timeout_s),
                stdin=payload,
                stderr=writing,
            )
        finally:
            os.close(writing)
        async with process, asyncio.TaskGroup() as group:
            said = spawn(group, _collect(errors.read, MAX_ERROR_BYTES))
            output, flooded = await _read_all(process)
            exit = await process.wait()
            errors.drain()
            stderr = (await said).decode(errors="replace")
    finally:
        if (left := errors.release()) >= 0:
            os.close(left)
    if exit.timed_out:
        return None, HookAnswer(failure=f"it did not end within {hook.timeout_s:g} s")
    if flooded:
        return None, HookAnswer(failure=f"it printed more than {MAX_OUTPUT_BYTES // MIB} MiB")
    return exit.code, read_exit(hook.event, exit.code, exit.signal, output, stderr)


async def _read_all(process: Process) -> tuple[bytes, bool]:
    """The output, and whether it is more than an answer may be."""
    kept, total = bytearray(), 0
    async for chunk in process.output():
        total += len(chunk)
        kept += chunk[: MAX_OUTPUT_BYTES - len(kept)]
        if total > MAX_FLOOD_BYTES:
            await process.kill()
            break
    return bytes(kept), total > MAX_OUTPUT_BYTES


async def _collect(read: Callable[[], Any], limit: int) -> bytes:
    """The end of a stream matters: that is where errors are."""
    kept = bytearray()
    while chunk := await read():
        kept += chunk
        del kept[: max(0, len(kept) - limit)]
    return bytes(kept)


async def _request(hook: CommandHook, payload: bytes, world: HookScope) -> HookAnswer:
    transport = http.HttpTransport(world.environ)
    limits = Timeouts(connect=hook.timeout_s, first_byte=hook.timeout_s, idle=hook.timeout_s)
    headers = {"content-type": "application/json", **dict(hook.headers)}
    try:
        async with (
            asyncio.timeout(hook.timeout_s),
            transport.open("POST", hook.url, headers=headers, body=payload, timeouts=limits) as response,
        ):
            body = await response.read(MAX_OUTPUT_BYTES + 1)
            if not 200 <= response.status < 300:
                return HookAnswer(failure=f"its server answered with status {response.status}")
        if len(body) > MAX_OUTPUT_BYTES:
            return HookAnswer(failure=f"its server sent more than {MAX_OUTPUT_BYTES // MIB} MiB")
        return read_output(hook.event, body)
    except TimeoutError:
        return HookAnswer(failure=f"its server did not answer within {hook.timeout_s:g} s")
    except (ProviderError, OSError, ValueError) as error:
        return HookAnswer(failure=f"its server cannot be asked: {_reason(error)}")
    finally:
        with suppress(OSError):
            await transport.close()


def _names_project(hook: CommandHook, world: HookScope) -> bool:
    """Whether the command names a file of the working folder: by variable, path or name."""
    words = " ".join((hook.command, *(hook.args or ())))
    if re.search(r"PROJECT_DIR|\bPWD\b|\bpwd\b|show-toplevel", words):
        return True
    for part in [part for part in re.split(r"[\s\"';|&()<>=`]+", words) if part][:MAX_WORDS]:
        if part[0] in "/~":
            path = os.path.realpath(typed_path(part))
            if Path(path).is_relative_to(os.path.realpath(world.project)):
                return True
        elif part[0] not in "$-" and ("/" in part or os.path.lexists(world.cwd / part)):
            return True
    return False


def _filled(word: str, variables: Mapping[str, str]) -> str:
    for name, value in variables.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{f' ({error.filename})' if error.filename else ''}"
    return clean_line(str(error)).rstrip(".")


def _clause(sentence: str) -> str:
    return f"{sentence[:1].lower()}{sentence[1:]}".rstrip(".")
