"""Events that extensions send each other."""

from collections.abc import Callable
from typing import Any

Call = Callable[[str, Callable[[Any], Any], Any], None]


class EventHub:
    """One extension's view of the events that all extensions of a session share."""

    def __init__(self, shared: "dict[str, list[tuple[Call, Callable[[Any], Any]]]]", call: Call) -> None:
        self._shared = shared
        self._call = call

    def on(self, name: str, function: Callable[[object], object]) -> Callable[[], None]:
        """Call `function(data)` for each event of this name; returns a function that stops that."""
        row = (self._call, function)
        self._shared.setdefault(name, []).append(row)

        def stop() -> None:
            if row in self._shared.get(name, []):
                self._shared[name].remove(row)

        return stop

    def emit(self, name: str, data: object = None) -> None:
        for call, function in tuple(self._shared.get(name, ())):
            call(f"events:{name}", function, data)

    def close(self) -> None:
        """Forget this extension's functions."""
        for rows in self._shared.values():
            rows[:] = [row for row in rows if row[0] is not self._call]
