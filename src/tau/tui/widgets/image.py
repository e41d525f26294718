"""An image, drawn if the terminal supports it, else described in a line."""

from typing import TYPE_CHECKING, NamedTuple

from tau.base.image_header import ImageInfo, read_header
from tau.base.late import late
from tau.tui.component import CachedComponent
from tau.tui.images.budget import ImageBudget
from tau.tui.images.marks import ImageSequences, image_rows
from tau.tui.style import Theme
from tau.tui.terminal.port import Capabilities, ImageProtocol
from tau.tui.text.clean import clean_line
from tau.tui.text.wrap import wrap

if TYPE_CHECKING:
    from tau.tui.images.kitty import Pixels

convert = late("tau.tui.images.convert")
inline = late("tau.tui.images.iterm_sixel")
kitty = late("tau.tui.images.kitty")


MAX_BYTES = 16_000_000
"""Larger files are downscaled with Pillow if installed, else shown as text."""
_MAX_SIDE = 65_535
_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}
_LARGE_BYTES = 2_000_000
_SHARPNESS = 2
"""Pixels sent per cell pixel when an image is downscaled."""


class Cells(NamedTuple):
    columns: int
    rows: int


def fit_cells(
    width_px: int, height_px: int, cell_pixels: tuple[int, int], max_columns: int, max_rows: int
) -> Cells:
    """Return an image's cells at its aspect ratio: natural size, or as large as fits."""
    cell_width, cell_height = max(cell_pixels[0], 1), max(cell_pixels[1], 1)
    room_width, room_height = max(max_columns, 1) * cell_width, max(max_rows, 1) * cell_height
    scale = min(1.0, room_width / width_px, room_height / height_px)
    columns = -(-int(width_px * scale) // cell_width)
    rows = -(-int(height_px * scale) // cell_height)
    return Cells(max(1, min(columns, max_columns)), max(1, min(rows, max_rows)))


def format_size(byte_count: int) -> str:
    """Format a byte count: 812 B, 120 kB, 3.4 MB."""
    if byte_count < 1000:
        return f"{byte_count} B"
    if byte_count < 999_500:
        return f"{byte_count / 1000:.0f} kB"
    return f"{byte_count / 1_000_000:.1f} MB"


class Image(CachedComponent):
    """A PNG, JPEG, GIF or WebP image at its aspect ratio, with a text fallback.

    Its owner must call `close`, so that the terminal deletes the pixels.
    """

    def __init__(
        self,
        theme: Theme,
        data: bytes,
        mime: str = "",
        protocol: ImageProtocol = "none",
        budget: ImageBudget | None = None,
        max_columns: int = 80,
        max_rows: int = 24,
        alt: str = "",
        *,
        cell_pixels: tuple[int, int] = (9, 18),
        placeholders: bool = False,
        sequences: ImageSequences = image_rows,
    ) -> None:
        self._theme = theme
        self._data = data
        self.info = _drawable(data)
        """Format and size; None if the format is not supported."""
        self._mime = clean_line(mime)
        self._alt = clean_line(alt)
        self._protocol: ImageProtocol = protocol
        self._budget = budget
        self._max_columns = max(max_columns, 1)
        self._max_rows = max(max_rows, 1)
        self._cell_pixels = cell_pixels
        self._placeholders = placeholders
        self._sequences = sequences
        self._demoted = False
        self._was_drawn = False
        self._pixels: Pixels | None = None
        self._placement = 0
        self._registered = ""

    def use(self, capabilities: Capabilities) -> None:
        """Apply changed terminal capabilities."""
        wanted = (capabilities.images, capabilities.cell_pixels, capabilities.kitty_placeholders)
        if wanted != (self._protocol, self._cell_pixels, self._placeholders):
            self._free()
            self._protocol, self._cell_pixels, self._placeholders = wanted
            self._rows = None

    def demote(self) -> None:
        """Make room for newer images: show text of the same height from now on."""
        self._demoted = True
        self._free()
        self._rows = None

    def close(self) -> None:
        if self._budget is not None:
            self._budget.release(self)
        self._free()
        self._rows = None

    def _render_rows(self, width: int) -> list[str]:
        info = self.info
        if info is None or self._theme.linear or self._protocol == "none":
            return self._text(width)
        columns = min(self._max_columns, width)
        cells = fit_cells(info.width, info.height, self._cell_pixels, columns, self._max_rows)
        rows = None if self._demoted else self._graphic(info, cells)
        if rows is not None and self._budget is not None and not self._budget.admit(self):
            self._free()
            rows = None
        if rows is not None:
            self._was_drawn = True
            return rows
        text = self._text(width)
        if not self._was_drawn:
            return text
        return (text + [""] * cells.rows)[: max(cells.rows, 1)]

    def _text(self, width: int) -> list[str]:
        return [self._theme["muted"](row) for row in wrap(self._words(), width)]

    def _words(self) -> str:
        size = format_size(len(self._data))
        if self.info is None:
            kind = f"unreadable image{f' ({self._mime})' if self._mime else ''}, {size}"
        else:
            kind = f"{self.info.width}x{self.info.height} {_FORMATS[self.info.mime_type]}, {size}"
        if self._theme.linear:
            name = f"Image: {self._alt}, " if self._alt else "Image: "
            return name + kind
        return f"[image: {f'{self._alt}, ' if self._alt else ''}{kind}]"

    def _graphic(self, info: ImageInfo, cells: Cells) -> list[str] | None:
        if self._protocol == "kitty":
            return self._kitty(info, cells)
        sequence = self._iterm2(cells) if self._protocol == "iterm2" else self._sixel(cells)
        if sequence is None:
            return None
        return [
            *[""] * (cells.rows - 1),
            self._register(inline.paint_upwards(sequence, cells.rows), cells.rows - 1),
        ]

    def _kitty(self, info: ImageInfo, cells: Cells) -> list[str] | None:
        if self._pixels is None:
            png = self._data
            if info.mime_type != "image/png" or len(png) > _LARGE_BYTES:
                png = self._smaller_png() or (
                    png if info.mime_type == "image/png" and len(png) <= MAX_BYTES else b""
                )
            if not png:
                return None
            self._placement = self._placement or kitty.new_placement()
            self._pixels = kitty.share_pixels(png, self._sequences)
            self._pixels.use(self._placement)
        number, side = self._pixels.number, kitty.MAX_PLACEHOLDER_SIDE
        if self._placeholders and cells.columns <= side and cells.rows <= side:
            self._pixels.place_virtually(self._placement, *cells)
            return kitty.placeholder_rows(number, self._placement, *cells)
        return [self._register(kitty.place(number, self._placement, *cells)), *[""] * (cells.rows - 1)]

    def _iterm2(self, cells: Cells) -> str | None:
        data = self._data
        if len(data) > _LARGE_BYTES:
            data = self._smaller_png() or (data if len(data) <= MAX_BYTES else b"")
        return inline.encode_iterm2(data, *cells) if data else None

    def _sixel(self, cells: Cells) -> str | None:
        width, height = cells.columns * self._cell_pixels[0], cells.rows * self._cell_pixels[1]
        # A band beyond the last row would make the terminal scroll.
        picture = convert.open_image(self._data, width, max(height - height % 6, 6))
        return None if picture is None else inline.encode_sixel(picture)

    def _smaller_png(self) -> bytes | None:
        width, height = self._cell_pixels[0] * _SHARPNESS, self._cell_pixels[1] * _SHARPNESS
        return convert.as_png(self._data, self._max_columns * width, self._max_rows * height)

    def _register(self, sequence: str, rows_above: int = 0) -> str:
        if self._registered and self._registered != sequence:
            self._sequences.forget(self._registered)
        self._registered = self._sequences.add(sequence, rows_above)
        return sequence

    def _free(self) -> None:
        if self._registered:
            self._sequences.forget(self._registered)
            self._registered = ""
        if self._pixels is not None:
            self._pixels.release(self._placement)
            self._pixels = None


def _drawable(data: bytes) -> ImageInfo | None:
    info = read_header(data)
    return info if info and 0 < info.width <= _MAX_SIDE and 0 < info.height <= _MAX_SIDE else None
