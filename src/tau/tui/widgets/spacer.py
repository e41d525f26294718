"""Empty rows."""

from tau.tui.component import Component


class Spacer(Component):
    """Nothing, some rows high."""

    def __init__(self, rows: int = 1) -> None:
        self._rows = [""] * max(rows, 0)

    def set_rows(self, rows: int) -> None:
        """Another height."""
        if rows != len(self._rows):
            self._rows = [""] * max(rows, 0)

    def render(self, width: int) -> list[str]:
        return self._rows
