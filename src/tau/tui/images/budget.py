"""How many pictures a terminal holds: the newest ones; older ones become text of the same height."""

from collections.abc import Callable
from typing import Protocol

DEFAULT_LIMIT = 20


class DemotableImage(Protocol):
    """A picture that can be told to make room."""

    def demote(self) -> None: ...


class ImageBudget:
    """Keeps the `limit` newest pictures. `on_demote` lets the owner ask for a frame that shows the change."""

    def __init__(self, limit: int = DEFAULT_LIMIT, on_demote: Callable[[], None] | None = None) -> None:
        self.limit = max(limit, 0)
        self.on_demote = on_demote
        self._shown: list[DemotableImage] = []

    @property
    def live(self) -> int:
        return len(self._shown)

    def admit(self, image: DemotableImage) -> bool:
        """A new picture is shown; the oldest one makes room. False if none may be shown at all."""
        if image in self._shown:
            return True
        if self.limit == 0:
            return False
        self._shown.append(image)
        self._shrink()
        return True

    def release(self, image: DemotableImage) -> None:
        """A picture is gone by itself."""
        if image in self._shown:
            self._shown.remove(image)

    def set_limit(self, limit: int) -> None:
        """Another limit; takes effect at once."""
        self.limit = max(limit, 0)
        self._shrink()

    def _shrink(self) -> None:
        demoted = self._shown[: max(len(self._shown) - self.limit, 0)]
        if not demoted:
            return
        self._shown = self._shown[len(demoted) :]
        for image in demoted:
            image.demote()
        if self.on_demote is not None:
            self.on_demote()
