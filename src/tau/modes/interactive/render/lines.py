"""Lines of a text from either end, without taking the rest of it apart."""

_SQUEEZED_COLUMNS = 10


def squeezed(line: str, width: int) -> str:
    """A line that is a little too long, with fewer blanks or dashes: reports are made for 80 columns."""
    over = len(line) - width
    if not 0 < over <= _SQUEEZED_COLUMNS or not line.isascii():
        return line
    for sign in "=-_*~ ":
        at = line.find(sign * max(over + 3, _SQUEEZED_COLUMNS), len(line) - len(line.lstrip(" ")))
        if at >= 0:
            return line[:at] + line[at + over :]
    return line


def last_lines(text: str, most: int) -> tuple[list[str], int]:
    """The last lines of a text, without the empty ones at its end, and how many are above them."""
    end = len(text)
    while end and text[end - 1] in "\r\n":
        end -= 1
    if not end:
        return [], 0
    start = end
    for _ in range(most):
        start = text.rfind("\n", 0, start)
        if start < 0:
            return text[:end].split("\n"), 0
    return text[start + 1 : end].split("\n"), text.count("\n", 0, start + 1)


def first_lines(text: str, most: int) -> tuple[list[str], int]:
    """The first lines of a text, and how many are below them; empty ones at its end do not count."""
    at = 0
    for _ in range(most):
        at = text.find("\n", at) + 1
        if not at:
            return text.rstrip("\r\n").split("\n"), 0
    rest = text[at:].rstrip("\r\n")
    return text[: at - 1].split("\n"), rest.count("\n") + 1 if rest else 0
