"""Errors of a patch, all of them ToolErrors.

HashlineError            base: `line` is a line of the patch, None if the error has no single line
├── ParseError           the input is not a patch
├── ApplyError           a hunk does not fit the text: out of range, overlapping, no such block, no such file
├── NoChangeError        every hunk fits, and nothing would change
├── MismatchError        the file is not the one that the tag identifies, and the edit cannot be moved to it
└── PatchError           several sections failed, each with its own error
"""

from collections.abc import Sequence

from tau.base.errors import ToolError


class HashlineError(ToolError):
    """An unusable patch; nothing was changed."""

    def __init__(self, message: str, *, line: int | None = None) -> None:
        super().__init__(message if line is None else f"line {line}: {message}")
        self.line = line


class ParseError(HashlineError):
    """The input is not a patch; `line` says where."""


class ApplyError(HashlineError):
    """A hunk does not fit the text it is for."""


class NoChangeError(HashlineError):
    """The patch fits and changes nothing."""


class MismatchError(HashlineError):
    """The tag does not match the current file.

    `recognized` says whether the tag was ever issued for this file; `current_tag` is the one to use next,
    None if the file is too large to have one.
    """

    def __init__(
        self, message: str, *, path: str, tag: str, current_tag: str | None, recognized: bool
    ) -> None:
        super().__init__(message)
        self.path = path
        self.tag = tag
        self.current_tag = current_tag
        self.recognized = recognized


class PatchError(HashlineError):
    """More than one section failed; `errors` has them in the order of the patch."""

    def __init__(self, errors: Sequence[HashlineError]) -> None:
        super().__init__("\n\n".join(str(error) for error in errors))
        self.errors = tuple(errors)
