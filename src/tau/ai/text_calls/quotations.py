"""Quotations in an answer that Markdown does not fence: HTML blocks, comments, diffs, JSON."""

import re

# Where a quotation begins, by its kind, and where it ends. Both are searched in one line.
_ELEMENTS = (
    "pre|code|samp|xmp|textarea|script|style|template|blockquote|details|examples?|quote|document|file|diff"
)
_KINDS = {
    "element": (
        re.compile(rf"\s*<(?:{_ELEMENTS})[\s>]", re.IGNORECASE),
        re.compile(rf"</(?:{_ELEMENTS})>", re.IGNORECASE),
    ),
    "HTML comment": (re.compile(r"\s*<!--"), re.compile(r"-->")),
    "comment": (re.compile(r"\s*/\*"), re.compile(r"\*/")),
    "string": (re.compile(r"""[^"']*(?:\"{3}|'{3})"""), re.compile(r"""\"{3}|'{3}""")),
    "JSON": (re.compile(r"[{\[]\s*(?:$|[\"{\[])"), re.compile(r"[}\]],?\s*$")),
}
_HUNK = "hunk"
_HUNK_START = re.compile(r"@@ .*@@")
_QUOTED_LINE = re.compile(r"\s*(?:>|[+#;%|$]|-(?!\s)|\*(?!\*)|//|<!--|\.\.\s)")


def is_quoted_line(line: str) -> bool:
    """Whether a line begins as those of quotes, diffs, comments, tables and terminals do."""
    return _QUOTED_LINE.match(line) is not None


def quotation_after(kind: str, line: str) -> str:
    """The kind of quotation that is open after a line, or empty. `kind` is the one open before it."""
    if kind == _HUNK:
        return _HUNK if not line or line[0] in " +-\\" else quotation_after("", line)
    if not kind:
        if _HUNK_START.match(line):
            return _HUNK
        for name, (start, _) in _KINDS.items():
            if begun := start.match(line):
                kind, line = name, line[begun.end() :]
                break
        else:
            return ""
    return "" if _KINDS[kind][1].search(line) else kind
