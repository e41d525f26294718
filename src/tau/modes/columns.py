"""Aligns the cells of rows in columns, as lines of text."""

from collections.abc import Container, Sequence


def align_rows(rows: Sequence[Sequence[str]], right: Container[int] = ()) -> list[str]:
    """One line per row; `right` are the columns whose cells are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
