"""Empty rows."""

from tau.tui.component import Component


class Spacer(Component):
    """Some empty rows."""

    def __init__(self, rows: int = 1) -> None:
        self._rows = [""] * max(rows, 0)

    def set_rows(self, rows: int) -> None:
        """Change the height."""
        if rows != len(self._rows):
            self._rows = [""] * max(rows, 0)

    def render(self, width: int) -> list[str]:
        return self._rows
