"""Helpers for Python cells that call tau: tools, completions, and parallel work."""

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Any

    from tau.backends.kernels.guest.cell_loop import GuestKernel


class ToolText(str):
    """A tool's result text, with `details` and `images` as attributes. Awaiting it returns itself."""

    details: object = None
    images: object = ()

    @property
    def text(self) -> str:
        return str(self)

    def __await__(self) -> "Iterator[Any]":
        return iter(_return(self).__await__())


def call_tool(
    kernel: "GuestKernel", name: str, *args: "Mapping[str, object]", **arguments: object
) -> ToolText:
    """Run a tool of the session; its errors are raised here."""
    if len(args) > 1 or (args and not isinstance(args[0], dict)):
        raise TypeError(f"tool.{name} takes its arguments by name, or as one dictionary.")
    all_arguments = dict(args[0] if args else {}, **arguments)
    answer = kernel.call("tool", {"name": name, "arguments": all_arguments})
    result = ToolText(answer["text"])
    result.details = answer.get("details")
    result.images = answer.get("images", [])
    return result


def completion(
    kernel: "GuestKernel",
    prompt: str,
    *,
    model: str = "default",
    system: "str | None" = None,
    schema: "dict[str, object] | None" = None,
) -> object:
    """Ask a model (`smol`, `default`, `slow`); returns its text, or an object if given a JSON schema."""
    request = {"prompt": prompt, "model": model, "system": system, "schema": schema}
    return kernel.call("completion", request)


def agent(
    kernel: "GuestKernel",
    prompt: str,
    *,
    agent_type: str = "task",
    model: "str | None" = None,
    label: "str | None" = None,
    schema: "dict[str, object] | None" = None,
) -> object:
    """Run a task in a subagent; returns its report."""
    request = {"prompt": prompt, "agentType": agent_type, "model": model, "label": label, "schema": schema}
    return kernel.call("agent", request)


def output(kernel: "GuestKernel", id: object, *, offset: int = 1, limit: "int | None" = None) -> str:
    """Return the full text of an earlier output of this session, by artifact id."""
    path = kernel.call("output", {"id": str(id).replace("artifact://", "")})
    text = kernel.load("prelude").read(kernel, path, offset, limit)
    return str(text)


def parallel(kernel: "GuestKernel", thunks: "Iterable[Callable[[], object]]") -> "list[object]":
    """Call functions in parallel, as many at once as the settings allow; returns results in order."""
    return _run_in_threads(kernel, [_thunk(kernel, thunk) for thunk in thunks])


def pipeline(kernel: "GuestKernel", items: "Iterable[Any]", *stages: "Callable[[Any], Any]") -> "list[Any]":
    """Run each item through all stages, items in parallel; returns results in item order."""
    return _run_in_threads(kernel, [_staged(kernel, item, stages) for item in items])


def _thunk(kernel: "GuestKernel", thunk: object) -> "Callable[[], object]":
    if not callable(thunk):
        raise TypeError("parallel takes functions without arguments, as in parallel([lambda: work(1)]).")
    return lambda: _run_coroutine(kernel, thunk())


def _staged(kernel: "GuestKernel", item: object, stages: "Any") -> "Callable[[], object]":
    def work() -> object:
        value = item
        for stage in stages:
            value = _run_coroutine(kernel, stage(value))
        return value

    return work


def _run_coroutine(kernel: "GuestKernel", value: object) -> object:
    """Run a coroutine to completion on this thread; return any other value unchanged."""
    return kernel.load("event_loop").asyncio.run(value) if type(value).__name__ == "coroutine" else value


def _run_in_threads(kernel: "GuestKernel", works: "list[Callable[[], object]]") -> "list[object]":
    """Run functions on threads. Raises the first failure; functions not yet started are skipped."""
    width = kernel.call("concurrency", {}) or len(works)
    results: list[object] = [None] * len(works)
    failures: list[BaseException] = []
    waiting = iter(range(len(works)))
    lock = threading.Lock()

    def work() -> None:
        while not failures:
            with lock:
                index = next(waiting, None)
            if index is None:
                return
            try:
                results[index] = works[index]()
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=work, daemon=True) for _ in works[:width]]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as error:  # interrupted: let the threads finish their current call
        failures.append(error)
        raise
    if failures:
        raise failures[0]
    return results


async def _return(value: "Any") -> "Any":
    return value
