"""The core of a Python kernel: it serves the private channel and runs cells in order on the main thread.

A separate thread reads the channel, so answers and heartbeats get through while a cell runs. Cells stay on
the main thread, where signals and many libraries expect to run.
"""

import _ast
import _socket
import builtins
import json
import os
import sys
from _queue import SimpleQueue
from _signal import SIGINT, signal
from _thread import allocate_lock, start_new_thread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import CodeType, FrameType, ModuleType
    from typing import Any, NoReturn, TypedDict

    from tau.backends.kernels.guest.event_loop import GuestEventLoop

    class ChannelMessage(TypedDict, total=False):
        t: str
        id: int
        code: str
        ok: bool
        error: str
        value: object
        status: str
        exit: int


CHANNEL = "TAU_KERNEL"  # environment variable with the file descriptor of our end of the channel
NEEDS_LOOP = ("import", "await", "async")  # words without which no code can ask for a running event loop
STDIN = "Kernel requested stdin; interactive input is not supported."
MAX_MESSAGE_CHARS = 32 * 1024 * 1024
MAX_SOURCES = 500
HELPERS = {
    "display": ("display", "HTML", "Markdown"),
    "prelude": ("env", "read", "write", "append", "sort", "uniq", "counter", "tree", "diff", "log", "phase"),
    "bridge": ("output", "completion", "agent", "parallel", "pipeline"),
}


class CallFailed(RuntimeError):
    """A cell's call to tau failed."""

    __module__ = "__main__"  # tracebacks show the bare name


class NoStdin:
    """Replaces standard input; every read raises an error."""

    encoding = "utf-8"
    errors = "strict"
    closed = False
    name = "<stdin>"

    def __init__(self, refuse: "Callable[..., NoReturn]") -> None:
        self.read = self.readline = self.readlines = self.__next__ = refuse
        self._refuse = refuse

    def __iter__(self) -> "NoReturn":
        self._refuse()

    def fileno(self) -> int:
        return 0

    def isatty(self) -> bool:
        return False

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        pass


class GuestKernel:
    """The state of one kernel process."""

    def __init__(
        self, users: "ModuleType", output: int, load: "Callable[[str], Any]", flush: "Callable[[], None]"
    ) -> None:
        self.load = load
        self.flush = flush
        self.names = users.__dict__
        self.sources: dict[str, str] = {}
        self.running = False  # user code is running and can be interrupted
        self.stdin_wanted = False
        self.figures = False
        self.loop: GuestEventLoop | None = None
        self.pid = os.getpid()
        self._secret = os.urandom(8).hex()
        self._output = output
        self._sequence = 0
        self._cells: SimpleQueue[ChannelMessage | None] = SimpleQueue()
        self._calls: dict[int, SimpleQueue[ChannelMessage]] = {}
        self._last_call = 0
        self._lock = allocate_lock()
        self._channel = open_channel()

    def serve(self) -> None:
        """Run cells until the channel closes or tau asks us to exit."""
        self._add_helpers()
        start_new_thread(self._read, ())
        signal(SIGINT, self.on_interrupt)
        version = ".".join(map(str, sys.version_info[:3]))
        self._send({"t": "ready", "version": version, "mark": self._secret})
        while True:
            try:
                cell = self._cells.get() if self.loop is None else self.loop.wait_for(self._cells)
                if cell is None:
                    return
                self._run(cell)
                if "_tau_trace" not in sys.modules and self._cells.empty():
                    self.load("trace").register_all(self.sources)  # for `inspect` and later tracebacks
                    open_loop(self)
            except KeyboardInterrupt:
                self.running = False

    def call(self, op: str, arguments: "Mapping[str, object]") -> "Any":
        """Call tau and wait for the answer; safe from any thread of this process."""
        if os.getpid() != self.pid:
            raise CallFailed("Only the kernel process can call tau, not its forks.")
        answers: SimpleQueue[ChannelMessage] = SimpleQueue()
        with self._lock:
            self._last_call += 1
            number = self._last_call
            self._calls[number] = answers
        try:
            self._send({"t": "call", "id": number, "op": op, "args": arguments})
            answer = answers.get()
        finally:
            self._calls.pop(number, None)
        if not answer["ok"]:
            raise CallFailed(answer["error"])
        return answer["value"]

    def show(self, kind: str, **what: object) -> None:
        """Show something other than text, in order with printed text."""
        if os.getpid() != self.pid:
            self.write(f"[{kind} from a forked process: not shown]\n")
            return
        self.flush()
        self._sequence += 1
        try:
            self._send(dict(what, t="show", seq=self._sequence, kind=kind))
        except ValueError as error:
            self.write(f"[This {kind} is not shown: {error}]\n")
        else:
            self._mark()

    def status(self, op: str, **facts: object) -> None:
        """Report to the user what a helper did."""
        if os.getpid() == self.pid:
            self._send({"t": "status", "event": dict(facts, op=op)})

    def write(self, text: str) -> None:
        """Write text to the user's output."""
        self.flush()
        self._put(text.encode("utf-8", "backslashreplace"))

    def refuse_stdin(self, *_: object) -> "NoReturn":
        self.stdin_wanted = True
        raise EOFError(STDIN)

    def on_interrupt(self, number: int, frame: "FrameType | None") -> None:
        if self.loop is not None and self.loop.interrupt():
            return
        if self.running or (self.loop is not None and self.loop.is_busy()):
            raise KeyboardInterrupt

    def _run(self, cell: "ChannelMessage") -> None:
        name = f"<cell {cell['id']}>"
        self._remember(name, cell["code"])
        sys.stdin = NoStdin(self.refuse_stdin)
        builtins.input = self.refuse_stdin
        signal(SIGINT, self.on_interrupt)
        self.stdin_wanted = False
        try:
            status = self._execute(cell, name)
        except KeyboardInterrupt:
            status = {"status": "interrupted", "exit": 130}
        finally:
            self.running = False
        exit_fork(self, status["exit"])
        if self.stdin_wanted:
            status["exit"] = status["exit"] or 1
            status["status"] = "error" if status["status"] == "ok" else status["status"]
        self.flush()
        self._sequence += 1
        self._send(dict(status, t="done", id=cell["id"], seq=self._sequence, stdin=self.stdin_wanted))
        self._mark()

    def _execute(self, cell: "ChannelMessage", name: str) -> "ChannelMessage":
        code = cell["code"]
        shown = self.load("display") if "_tau_display" in sys.modules or "matplotlib" in code else None
        if shown is not None:
            shown.prepare_figures(self)
        if self.loop is None and ("asyncio" in sys.modules or any(word in code for word in NEEDS_LOOP)):
            open_loop(self)  # now: an interrupt would leave it half loaded
        self._send({"t": "begun", "id": cell["id"]})
        try:
            try:
                self.running = True
                value = self._evaluate(compile_cell(code, name), code)
                if value is not None:
                    self.names["_"] = value
                    self.load("display").show_value(self, value)
                if "matplotlib.pyplot" in sys.modules:
                    self.load("display").show_figures(self)
            finally:
                self.running = False
        except KeyboardInterrupt:
            raise
        except SystemExit as ending:
            return exit_result(ending, self.write)
        except BaseException as error:
            self.write(self.load("trace").describe(error, self.sources) + hint(error, code))
            return {"status": "error", "exit": 1}
        return {"status": "ok", "exit": 0}

    def _evaluate(self, parts: "list[CodeType]", code: str) -> object:
        if self.loop is not None:  # without it, nothing here can ask for a running loop
            value = self.loop.run(parts, self.names)
        else:
            value = None
            for part in parts:
                value = eval(part, self.names)
        return None if code.rstrip().endswith(";") else value

    def _remember(self, name: str, code: str) -> None:
        self.sources[name] = code
        if len(self.sources) > MAX_SOURCES:
            oldest = next(iter(self.sources))
            del self.sources[oldest]
            if "linecache" in sys.modules:
                sys.modules["linecache"].cache.pop(oldest, None)
        if "_tau_trace" in sys.modules:
            self.load("trace").register(name, code)
        elif "linecache" in sys.modules or "inspect" in code:
            self.load("trace").register_all(self.sources)

    def _add_helpers(self) -> None:
        for part, helpers in HELPERS.items():
            for helper in helpers:
                self.names[helper] = self._helper(part, helper)
        self.names["tool"] = GuestTools(self)
        self.names["tools"] = GuestToolSearch(self)

    def _helper(self, part: str, name: str) -> "Callable[..., object]":
        """Return a prelude helper whose file is loaded on first call."""

        def helper(*args: object, **kwargs: object) -> object:
            return getattr(self.load(part), name)(self, *args, **kwargs)

        helper.__name__ = helper.__qualname__ = name
        return helper

    def _read(self) -> None:
        """Read the channel on a separate thread; the process exits when it closes."""
        rest = b""
        try:
            while True:
                data = self._channel.recv(65536)
                if not data:
                    break
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))
        finally:
            os._exit(0)

    def _take(self, message: "ChannelMessage") -> None:
        kind = message["t"]
        if kind == "run":
            self._queue(message)
        elif kind == "close":
            self._queue(None)
        elif kind == "ping":
            self._send({"t": "pong", "id": message["id"]})
        elif kind == "reply":
            answers = self._calls.get(message["id"])
            if answers is not None:
                answers.put(message)

    def _queue(self, message: "ChannelMessage | None") -> None:
        self._cells.put(message)
        if self.loop is not None:
            self.loop.wake()

    def _send(self, message: "dict[str, object]") -> None:
        """Raises ValueError for values that are too long or that JSON cannot represent."""
        line = json.dumps(message, allow_nan=False, separators=(",", ":"))
        if len(line) > MAX_MESSAGE_CHARS:
            raise ValueError(f"it is larger than {MAX_MESSAGE_CHARS // 1048576} MB")
        with self._lock:
            self._channel.sendall(line.encode("utf-8", "surrogatepass") + b"\n")

    def _mark(self) -> None:
        self._put(f"\0{self._secret}{self._sequence:08x}\0".encode())

    def _put(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._output, data) :]


class GuestTools:
    """`tool.read(path="a.txt")`: the tools of the session, called like a model calls them."""

    def __init__(self, kernel: GuestKernel) -> None:
        self._kernel = kernel

    def __getattr__(self, name: str) -> "Callable[..., object]":
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]

    def __getitem__(self, name: str) -> "Callable[..., object]":
        kernel = self._kernel

        def call(*args: object, **arguments: object) -> object:
            return kernel.load("bridge").call_tool(kernel, name, *args, **arguments)

        call.__name__ = call.__qualname__ = name
        return call

    def __repr__(self) -> str:
        return "<session tools: tool.NAME(argument=value)>"


class GuestToolSearch:
    """`tools.search("weather")` and `tools.schema("mcp__x")`: the tools of servers, hidden ones too."""

    def __init__(self, kernel: GuestKernel) -> None:
        self._kernel = kernel

    def search(self, query: str, limit: int = 8) -> "Any":
        """The best matches, as dictionaries."""
        return self._ask({"query": query, "limit": limit, "activate": False})["tools"]

    def schema(self, name: str) -> "object":
        """The JSON schema of a tool's arguments."""
        return self._ask({"query": name, "schema_of": name})["schema"]

    def _ask(self, arguments: "dict[str, object]") -> "Any":
        return self._kernel.call("tool", {"name": "search_tool_bm25", "arguments": arguments})["details"]


def compile_cell(code: str, name: str) -> "list[CodeType]":
    """Compile a cell, with its last expression separate so its value can be shown."""
    flags = _ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    tree = compile(code, name, "exec", _ast.PyCF_ONLY_AST | flags, True)
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, _ast.Expr):
        return [compile(tree, name, "exec", flags, True)]
    rest = _ast.Module(body=tree.body[:-1], type_ignores=[])
    parts = [compile(rest, name, "exec", flags, True)] if rest.body else []
    return [*parts, compile(_ast.Expression(body=last.value), name, "eval", flags, True)]


def open_loop(kernel: GuestKernel) -> None:
    if kernel.loop is None:
        kernel.loop = kernel.load("event_loop").GuestEventLoop(lambda: exit_fork(kernel))


def exit_fork(kernel: GuestKernel, code: int = 0) -> None:
    """End a forked process that has left the code that forked it: there is one kernel."""
    if os.getpid() != kernel.pid:
        kernel.flush()
        os._exit(code)


def hint(error: BaseException, code: str) -> str:
    """Say what to use instead of a line that only IPython understands."""
    lines = code.splitlines()
    if not isinstance(error, SyntaxError) or not 0 < (error.lineno or 0) <= len(lines):
        return ""
    line = lines[(error.lineno or 1) - 1].strip()
    if line.startswith("!") or "= !" in line:
        return "Cells are plain Python: run a command with subprocess.run or the tool bash, not with `!`.\n"
    return "Cells are plain Python: there are no `%` magics.\n" if line.startswith("%") else ""


def exit_result(ending: SystemExit, write: "Callable[[str], None]") -> "ChannelMessage":
    """Handle `sys.exit` in a cell; its argument is an exit code, or text to show."""
    code = ending.code
    if code is None or code == 0:
        return {"status": "ok", "exit": 0}
    if not isinstance(code, int):
        write(f"{code}\n")
        code = 1
    return {"status": "error", "exit": code & 0xFF or 1}


def open_channel() -> _socket.socket:
    """Open the channel so that child processes do not inherit it."""
    number = int(os.environ.pop(CHANNEL))
    os.set_inheritable(number, False)
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0, number)
