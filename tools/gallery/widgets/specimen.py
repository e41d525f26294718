"""A specimen: a component in one state, and what it is built with."""

from collections.abc import Callable
from typing import NamedTuple

from tau.tui.component import Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.style import Theme
from tau.tui.timer import Timer


class Bench:
    """What a specimen is built with; closed when another specimen replaces it."""

    def __init__(
        self,
        theme: Theme,
        keys: Keymap,
        timer: Timer,
        request_render: Callable[[Component], None] = lambda component: None,
    ) -> None:
        self.theme = theme
        self.keys = keys
        self.timer = timer
        self.request_render = request_render
        self._closing: list[Callable[[], object]] = []

    def at_close(self, function: Callable[[], object]) -> None:
        """Call this function when the specimen is closed."""
        self._closing.append(function)

    def close(self) -> None:
        for function in self._closing:
            function()
        self._closing.clear()


class Specimen(NamedTuple):
    """`name` is "component/state"; `build` creates a new component each time."""

    name: str
    about: str
    build: Callable[[Bench], Component]

    @property
    def component(self) -> str:
        return self.name.partition("/")[0]


def pressed(component: Component, *names: str) -> Component:
    """Press some keys and return the component; a one-letter name types that letter."""
    for name in names:
        component.handle_input(Key(name, name if len(name) == 1 else ""))
    return component


def focused(component: Component) -> Component:
    """Give the component the focus and return it."""
    component.focused = True
    return component
