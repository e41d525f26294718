"""Images in a block: drawn if the terminal can, described otherwise."""

from binascii import Error as Base64Error
from binascii import a2b_base64
from collections.abc import Sequence

from tau.ai.wire import ImageContent
from tau.base.late import late
from tau.base.text import quantity
from tau.modes.interactive.tool_views.body_parts import remark
from tau.modes.interactive.tool_views.view import RenderedCall, ToolCallView
from tau.tui.component import Component
from tau.tui.images.budget import ImageBudget
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities

image_widget = late("tau.tui.widgets.image")

COLLAPSED_PICTURES = 2
COLLAPSED_ROWS = 12
EXPANDED_ROWS = 24
MAX_COLUMNS = 80
MAX_PICTURES = 20


class ResultImage(Component):
    """An image of a result, decoded only when drawn.

    Its block sets the terminal capabilities (`use`), and closes it before drawing something else.
    """

    def __init__(self, theme: Theme, content: ImageContent, alt: str = "", max_rows: int = 12) -> None:
        self._theme = theme
        self._content = content
        self._alt = alt
        self._max_rows = max_rows
        self._capabilities = Capabilities()
        self._budget: ImageBudget | None = None
        self._image: image_widget.Image | None = None

    def use(self, capabilities: Capabilities, budget: ImageBudget | None = None) -> None:
        """Set the terminal it will be drawn on."""
        if capabilities != self._capabilities or budget is not self._budget:
            self.close()
            self._capabilities, self._budget = capabilities, budget

    def close(self) -> None:
        """No longer shown: the terminal may forget it."""
        if self._image is not None:
            self._image.close()
            self._image = None

    def render(self, width: int) -> Sequence[str]:
        if self._image is None:
            self._image = self._decode()
        return self._image.render(width)

    def invalidate(self) -> None:
        if self._image is not None:
            self._image.invalidate()

    def _decode(self) -> "image_widget.Image":
        try:
            data = a2b_base64(self._content.data)
        except (Base64Error, ValueError):
            data = b""
        return image_widget.Image(
            self._theme,
            data,
            self._content.mime_type,
            self._capabilities.images,
            self._budget,
            MAX_COLUMNS,
            self._max_rows,
            self._alt,
            cell_pixels=self._capabilities.cell_pixels,
            placeholders=self._capabilities.kitty_placeholders,
        )


def pictures(view: ToolCallView, theme: Theme, alt: str = "") -> list[Component]:
    """All images of a result, or the first ones."""
    images = view.images
    most = MAX_PICTURES if view.expanded else COLLAPSED_PICTURES
    rows = EXPANDED_ROWS if view.expanded else COLLAPSED_ROWS
    parts: list[Component] = [ResultImage(theme, image, alt, rows) for image in images[:most]]
    if len(images) > most:
        parts.append(remark(theme, f"{quantity(len(images) - most, 'more image')}.", "dim"))
    return parts


def show_pictures(drawn: RenderedCall, capabilities: Capabilities, budget: ImageBudget | None = None) -> None:
    """Set the terminal capabilities for all images of a block."""
    for part in drawn.body:
        if isinstance(part, ResultImage):
            part.use(capabilities, budget)


def close_pictures(drawn: RenderedCall) -> None:
    """Before a block is redrawn or removed: the terminal may forget its images."""
    for part in drawn.body:
        if isinstance(part, ResultImage):
            part.close()
