"""A frame around a component, with a title in its upper border."""

from collections.abc import Sequence

from tau.tui.component import CommitBoundary, Component
from tau.tui.input.key import InputEvent
from tau.tui.style import Theme
from tau.tui.text.clean import clean_line
from tau.tui.text.cut import fit, truncate
from tau.tui.text.width import visible_width

_NARROWEST = 5
"""Below this many columns there is no room for a frame: the child is shown alone."""


class Box(Component):
    """The child in a frame. For a screen reader it is the title as a line, then the child."""

    def __init__(
        self,
        theme: Theme,
        child: Component,
        title: str = "",
        *,
        padding_x: int = 1,
        padding_y: int = 0,
        border_token: str = "border",
        title_token: str = "accent",
        background: str = "",
    ) -> None:
        self.child = child
        self._theme = theme
        self._title = clean_line(title)
        self._padding_x = max(padding_x, 0)
        self._padding_y = max(padding_y, 0)
        self._border_token = border_token
        self._title_token = title_token
        self._background = background
        self._forget()

    def _forget(self) -> None:
        self._width = -1
        self._inside: Sequence[str] = ()
        self._shown: Sequence[str] = ()
        self._framed: list[str] = []
        self._rows: list[str] = []
        self._above = 0

    def set_title(self, title: str) -> None:
        """Another title."""
        self._title = clean_line(title)
        self._forget()

    def set_border(self, border_token: str) -> None:
        """Another style of the frame."""
        self._border_token = border_token
        self._forget()

    @property
    def focused(self) -> bool:
        """The focus goes on to the child, and so do the keys."""
        return self.child.focused

    @focused.setter
    def focused(self, focused: bool) -> None:
        self.child.focused = focused

    @property
    def wants_releases(self) -> bool:  # type: ignore[override]
        return self.child.wants_releases

    def handle_input(self, event: InputEvent) -> bool:
        return self.child.handle_input(event)

    def invalidate(self) -> None:
        self._forget()
        self.child.invalidate()

    def seam(self) -> CommitBoundary | None:
        seam = self.child.seam()
        if seam is None:
            return None
        deeper = seam.commit_safe_end
        return CommitBoundary(seam.live_start + self._above, None if deeper is None else deeper + self._above)

    def render(self, width: int) -> Sequence[str]:
        framed = width >= _NARROWEST and not self._theme.linear
        padding = self._padding_x if width >= _NARROWEST + 2 * self._padding_x else 0
        inside = self.child.render(width - 2 - 2 * padding if framed else width)
        if width != self._width or inside is not self._inside:
            if width != self._width:
                self._forget()
            self._rows = self._around(inside, width, padding) if framed else self._below_title(inside, width)
            self._width, self._inside = width, inside
        return self._rows

    def _below_title(self, inside: Sequence[str], width: int) -> list[str]:
        title = [truncate(self._title, width, self._theme.symbols.ellipsis)] if self._title else []
        self._above = len(title)
        return [*title, *inside]

    def _around(self, inside: Sequence[str], width: int, padding: int) -> list[str]:
        signs = self._theme.symbols.box
        border = self._theme[self._border_token]
        left, right = f"{border(signs[5])}{' ' * padding}", f"{' ' * padding}{border(signs[5])}"
        room = width - 2 - 2 * padding
        background = self._theme[self._background]

        def framed(row: str) -> str:
            middle = fit(row, room)
            if background.open:
                middle = background(f"{' ' * padding}{middle}{' ' * padding}")
                return f"{border(signs[5])}{middle}{border(signs[5])}"
            return f"{left}{middle}{right}"

        rows = inside[:]
        same = _common(self._shown, rows)
        self._framed = self._framed[:same] + [framed(row) for row in rows[same:]]
        self._shown = rows
        edge = [framed("")] * self._padding_y
        self._above = 1 + self._padding_y
        bottom = border(f"{signs[2]}{signs[4] * (width - 2)}{signs[3]}")
        return [self._top(signs, width), *edge, *self._framed, *edge, bottom]

    def _top(self, signs: str, width: int) -> str:
        border = self._theme[self._border_token]
        title = truncate(self._title, width - 6, self._theme.symbols.ellipsis) if self._title else ""
        if not title:
            return border(f"{signs[0]}{signs[4] * (width - 2)}{signs[1]}")
        rest = width - 5 - visible_width(title)
        styled = self._theme[self._title_token](title)
        return f"{border(signs[0] + signs[4])} {styled} {border(signs[4] * rest + signs[1])}"


def _common(old: Sequence[str], new: Sequence[str]) -> int:
    """How many rows at the beginning are the very same objects."""
    same = 0
    for one, other in zip(old, new, strict=False):
        if one is not other:
            break
        same += 1
    return same
