"""The diff of a pull request as a list of files, and one of them."""

import re
from collections.abc import Sequence

from msgspec import Struct

from tau.base.text import clean_line

_START = re.compile(r"^diff --git ", re.MULTILINE)
_HEADER = re.compile(r'diff --git (?:"?a/(.*?)"?) (?:"?b/(.*?)"?)$', re.MULTILINE)


class FileDiff(Struct, frozen=True):
    """The part of a diff that is about one file."""

    path: str
    text: str

    @property
    def hint(self) -> str:
        """What happens to it, in a few words."""
        head = self.text.partition("\n@@")[0]
        lines = self.text.splitlines()
        added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
        removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
        kinds = {"\nnew file": "added", "\ndeleted file": "deleted", "\nrename from": "renamed"}
        kind = next((name for mark, name in kinds.items() if mark in head), "modified")
        is_binary = "\nBinary files " in self.text or "\nGIT binary patch" in self.text
        return f"{kind}, binary" if is_binary else f"{kind}, +{added} -{removed}, {len(lines)} lines"


def split_diff(text: str) -> list[FileDiff]:
    """The files of a unified diff, in its order."""
    starts = [found.start() for found in _START.finditer(text)]
    parts = [text[start:end] for start, end in zip(starts, [*starts, len(text)][1:], strict=True)]
    return [FileDiff(_path(part), part) for part in parts]


def _path(part: str) -> str:
    found = _HEADER.match(part)
    return clean_line(found[2] if found else part.partition("\n")[0])


def list_files(number: int, files: Sequence[FileDiff]) -> str:
    """A numbered list; the numbers are those of `pr://N/diff/NUMBER`."""
    rows = [f"# Diff of Pull Request #{number}: {len(files)} files", ""]
    rows += [f"{index}. {file.path} ({file.hint})" for index, file in enumerate(files, 1)]
    rows += ["", f"Read pr://{number}/diff/1 for one file, pr://{number}/diff/all for all."]
    return "\n".join(rows) + "\n"
