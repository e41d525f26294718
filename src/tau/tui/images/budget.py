"""Limits the number of live images: the newest stay, older ones become text of the same height."""

from collections.abc import Callable
from typing import Protocol

DEFAULT_LIMIT = 20


class DemotableImage(Protocol):
    """An image that can be replaced by text."""

    def demote(self) -> None: ...


class ImageBudget:
    """Keeps the `limit` newest images. `on_demote` lets the owner request a frame."""

    def __init__(self, limit: int = DEFAULT_LIMIT, on_demote: Callable[[], None] | None = None) -> None:
        self.limit = max(limit, 0)
        self.on_demote = on_demote
        self._shown: list[DemotableImage] = []

    @property
    def live(self) -> int:
        return len(self._shown)

    def admit(self, image: DemotableImage) -> bool:
        """Admit a new image, demoting the oldest if needed. False if none may be shown at all."""
        if image in self._shown:
            return True
        if self.limit == 0:
            return False
        self._shown.append(image)
        self._shrink()
        return True

    def release(self, image: DemotableImage) -> None:
        """Forget an image that was closed."""
        if image in self._shown:
            self._shown.remove(image)

    def _shrink(self) -> None:
        demoted = self._shown[: max(len(self._shown) - self.limit, 0)]
        if not demoted:
            return
        self._shown = self._shown[len(demoted) :]
        for image in demoted:
            image.demote()
        if self.on_demote is not None:
            self.on_demote()
