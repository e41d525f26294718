"""One thing to look at: a component in a state, and what it stands on."""

from collections.abc import Callable
from typing import NamedTuple

from tau.tui.component import Component
from tau.tui.input.bindings import Keymap
from tau.tui.input.key import Key
from tau.tui.style import Theme
from tau.tui.timer import Timer


class Bench:
    """What a specimen is built with. It is closed when another one takes its place."""

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
        """Call this when the specimen is put away."""
        self._closing.append(function)

    def close(self) -> None:
        for function in self._closing:
            function()
        self._closing.clear()


class Specimen(NamedTuple):
    """`name` is "component/state"; `build` makes it anew each time."""

    name: str
    about: str
    build: Callable[[Bench], Component]

    @property
    def component(self) -> str:
        return self.name.partition("/")[0]


def pressed(component: Component, *names: str) -> Component:
    """The component after some keys; a name of one letter types it."""
    for name in names:
        component.handle_input(Key(name, name if len(name) == 1 else ""))
    return component


def focused(component: Component) -> Component:
    """The component as it looks with the focus."""
    component.focused = True
    return component
