"""The errors of a tab that are shown without a traceback."""


class TabError(Exception):
    """Something about the page or the call is wrong; the text says what."""

    __module__ = "__main__"
