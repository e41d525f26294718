"""A slow second implementation of the patch language, written from its rules rather than the fast one."""

from dataclasses import dataclass

from tau.hashline.records import Hunk


@dataclass
class Line:
    """`end` is its line ending."""

    text: str
    end: str


def read_lines(text: str) -> list[Line]:
    """Character by character. LF ends a line, with the CR before it; CR does in a text without any LF."""
    only_cr = "\n" not in text
    result, row = [], ""
    for character in text:
        if character == "\n":
            end = "\r\n" if row.endswith("\r") else "\n"
            result.append(Line(row[:-1] if end == "\r\n" else row, end))
            row = ""
        elif character == "\r" and only_cr:
            result.append(Line(row, "\r"))
            row = ""
        else:
            row += character
    if row:
        result.append(Line(row, ""))
    return result


class Model:
    """The edits as operations on a list of numbered lines. The hunks must fit and not overlap."""

    def __init__(self, text: str) -> None:
        self.old = read_lines(text)
        self.default = "\r" if "\n" not in text and "\r" in text else "\n"
        self.is_open = bool(self.old) and self.old[-1].end == ""

    def near(self, number: int) -> str:
        for candidate in (number, number - 1, number + 1):
            if 1 <= candidate <= len(self.old) and self.old[candidate - 1].end:
                return self.old[candidate - 1].end
        return self.default

    def inserted(self, rows: list[str], before: int) -> list[Line]:
        end = self.near(max(before - 1, 1))
        return [Line(row, end) for row in rows]

    def replaced(self, rows: list[str], first: int, last: int) -> list[Line]:
        top: list[Line] = []
        bottom: list[Line] = []
        while rows and first <= last and self.old[first - 1].text == rows[0]:
            top, rows, first = [*top, self.old[first - 1]], rows[1:], first + 1
        while rows and first <= last and self.old[last - 1].text == rows[-1]:
            bottom, rows, last = [self.old[last - 1], *bottom], rows[:-1], last - 1
        if last < first:
            return top + self.inserted(rows, first) + bottom
        new = [Line(row, self.near(min(first + index, last))) for index, row in enumerate(rows)]
        if new:
            new[-1].end = self.old[last - 1].end or self.near(last)
        return top + new + bottom

    def at_line(self, number: int, hunks: list[Hunk]) -> list[Line]:
        """The result for the position before a line, and for the line itself."""
        result: list[Line] = []
        for kind, anchor in (("insert after", number - 1), ("insert before", number)):
            for hunk in hunks:
                if hunk.kind == kind and hunk.first == anchor:
                    result += self.inserted(list(hunk.rows), number)
        if number > len(self.old):
            return result
        ranges = [hunk for hunk in hunks if hunk.kind in ("replace", "delete")]
        inside = [hunk for hunk in ranges if hunk.first <= number <= hunk.last]
        if not inside:
            return [*result, self.old[number - 1]]
        if inside[0].first == number:
            result += self.replaced(list(inside[0].rows), inside[0].first, inside[0].last)
        return result

    def edited(self, hunks: list[Hunk]) -> list[Line]:
        result: list[Line] = []
        for hunk in hunks:
            if hunk.kind == "insert head":
                result += self.inserted(list(hunk.rows), 1)
        for number in range(1, len(self.old) + 2):
            result += self.at_line(number, hunks)
        for hunk in hunks:
            if hunk.kind == "insert tail":
                result += self.inserted(list(hunk.rows), len(self.old) + 1)
        return result


def apply_model(text: str, hunks: list[Hunk]) -> str:
    model = Model(text)
    result = model.edited(hunks)
    written = ""
    for index, line in enumerate(result):
        open_end = model.is_open and index == len(result) - 1 and line.text != ""
        written += line.text + ("" if open_end else line.end or model.near(len(model.old)))
    return written
