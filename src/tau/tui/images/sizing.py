"""Computes how many cells an image takes."""

from typing import NamedTuple


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
