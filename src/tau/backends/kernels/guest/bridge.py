"""The helpers of Python cells that ask tau for something: tools, completions, and work side by side."""

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class ToolText(str):
    """What a tool said, as text, with its `details` and `images` beside it. `await` gives the same."""

    details: "Any" = None
    images: "Any" = ()

    @property
    def text(self) -> str:
        return str(self)

    def __await__(self) -> "Iterator[Any]":
        return iter(_already(self).__await__())


def call_tool(kernel: "Any", name: str, *args: "Any", **arguments: "Any") -> ToolText:
    """Run a tool of the session; what goes wrong there is raised here."""
    if len(args) > 1 or (args and not isinstance(args[0], dict)):
        raise TypeError(f"tool.{name} takes its arguments by name, or as one dictionary.")
    given = dict(args[0] if args else {}, **arguments)
    answer = kernel.call("tool", {"name": name, "arguments": given})
    result = ToolText(answer["text"])
    result.details = answer.get("details")
    result.images = answer.get("images", [])
    return result


def completion(
    kernel: "Any",
    prompt: str,
    *,
    model: str = "default",
    system: "str | None" = None,
    schema: "dict[str, Any] | None" = None,
) -> "Any":
    """One question to a model (`smol`, `default`, `slow`): its text, or with a JSON schema the object."""
    wish = {"prompt": prompt, "model": model, "system": system, "schema": schema}
    return kernel.call("completion", wish)


def agent(
    kernel: "Any",
    prompt: str,
    *,
    agent_type: str = "task",
    model: "str | None" = None,
    label: "str | None" = None,
    schema: "dict[str, Any] | None" = None,
) -> "Any":
    """One piece of work for another agent: what it reports."""
    wish = {"prompt": prompt, "agentType": agent_type, "model": model, "label": label, "schema": schema}
    return kernel.call("agent", wish)


def output(kernel: "Any", id: "Any", *, offset: int = 1, limit: "int | None" = None) -> str:
    """The full text of an earlier output of this session, by the id of its artifact."""
    path = kernel.call("output", {"id": str(id).replace("artifact://", "")})
    text = kernel.load("prelude").read(kernel, path, offset, limit)
    return str(text)


def parallel(kernel: "Any", thunks: "Iterable[Callable[[], Any]]") -> "list[Any]":
    """Call functions side by side, so many at a time as the settings allow: their results in order."""
    return _side_by_side(kernel, [_thunk(kernel, thunk) for thunk in thunks])


def pipeline(kernel: "Any", items: "Iterable[Any]", *stages: "Callable[[Any], Any]") -> "list[Any]":
    """Send each item through all stages, the items side by side: the results in the order of the items."""
    return _side_by_side(kernel, [_through(kernel, item, stages) for item in items])


def _thunk(kernel: "Any", thunk: "Any") -> "Callable[[], Any]":
    if not callable(thunk):
        raise TypeError("parallel takes functions without arguments, as in parallel([lambda: work(1)]).")
    return lambda: _settled(kernel, thunk())


def _through(kernel: "Any", item: "Any", stages: "Any") -> "Callable[[], Any]":
    def work() -> "Any":
        value = item
        for stage in stages:
            value = _settled(kernel, stage(value))
        return value

    return work


def _settled(kernel: "Any", value: "Any") -> "Any":
    """A coroutine's result, run to its end on this thread; anything else as it is."""
    return kernel.load("event_loop").asyncio.run(value) if type(value).__name__ == "coroutine" else value


def _side_by_side(kernel: "Any", works: "list[Callable[[], Any]]") -> "list[Any]":
    """The first failure is raised; what has not begun then does not begin any more."""
    width = kernel.call("concurrency", {}) or len(works)
    results: list[Any] = [None] * len(works)
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
    except BaseException as error:  # interrupted: let the threads end after what they are at
        failures.append(error)
        raise
    if failures:
        raise failures[0]
    return results


async def _already(value: "Any") -> "Any":
    return value
