"""The addresses `issue://` and `pr://`: what they name, and which host that asks."""

import re
from pathlib import Path
from typing import Literal, TypeAlias
from urllib.parse import parse_qs

from msgspec import Struct
from msgspec.structs import replace

from tau.backends.github.names import check_word, checkout_host, default_host, parse_repository
from tau.base.errors import ToolError
from tau.base.text import clean_line, shortened

LIST_LIMIT, MAX_LIST = 30, 100
STATES = {"issue": ("open", "closed", "all"), "pr": ("open", "closed", "merged", "all")}
_HOST = re.compile(r"[^/]*[.:][^/]*|localhost")

UrlKind: TypeAlias = Literal["issue", "pr"]


class ThreadUrl(Struct, frozen=True):
    """What a URL names. Without a number, a list; `diff` is "", "list", "all" or the number of a file."""

    host: str = ""
    repo: str = ""
    number: int | None = None
    diff: str = ""
    comments: bool = True
    state: str = "open"
    limit: int = LIST_LIMIT
    author: str = ""
    label: str = ""


def parse_thread_url(kind: UrlKind, rest: str) -> ThreadUrl:
    """Raises ToolError for whatever is not a thread, a list or a diff."""
    path, _, query = rest.partition("?")
    parts = path.removesuffix("/").split("/") if path else []
    name = shortened(clean_line(f"{kind}://{rest}"), 200)
    if any(part in ("", ".", "..") for part in parts):
        raise ToolError(f"{name} has an empty segment or `..`.")
    diff = ""
    if "diff" in parts[1:] and parts[parts.index("diff", 1) - 1].isdigit():
        at = parts.index("diff", 1)
        diff = "/".join(parts[at + 1 :]) or "list"
        parts = parts[:at]
        if kind == "issue":
            raise ToolError(f"{name}: an issue has no diff; read pr://{parts[-1]}/diff.")
        if diff not in ("list", "all") and not re.fullmatch(r"\d{1,6}", diff):
            raise ToolError(f"{name}: write /diff, /diff/all or /diff/N with the number of a file.")
    host = parts.pop(0) if len(parts) > 2 and _HOST.fullmatch(parts[0]) else ""
    number = parts.pop() if len(parts) in (1, 3) else None
    if len(parts) not in (0, 2):
        raise ToolError(f"{name}: write {kind}://N, {kind}://OWNER/REPO or {kind}://OWNER/REPO/N.")
    if number is not None and (not re.fullmatch(r"\d{1,9}", number) or int(number) == 0):
        raise ToolError(f'{name}: "{shortened(number, 40)}" is not a number.')
    repo = "/".join(parts)
    if repo:
        parse_repository(repo)
    return _with_query(
        kind, name, query, ThreadUrl(host, repo, None if number is None else int(number), diff)
    )


def _with_query(kind: UrlKind, name: str, query: str, url: ThreadUrl) -> ThreadUrl:
    asked = {key: values[-1] for key, values in parse_qs(query, keep_blank_values=True).items()}
    allowed = {"comments"} if url.number is not None else {"state", "limit", "author", "label"}
    if unknown := sorted(asked.keys() - allowed):
        first, known = shortened(clean_line(unknown[0]), 40), ", ".join(sorted(allowed))
        raise ToolError(f"{name}: unknown parameter {first}; there are {known}.")
    state, comments = asked.get("state", "open"), asked.get("comments", "1")
    limit = asked.get("limit", str(LIST_LIMIT))
    if state not in STATES[kind]:
        raise ToolError(f"{name}: state is one of {', '.join(STATES[kind])}.")
    if not re.fullmatch(r"\d{1,9}", limit) or not 1 <= int(limit) <= MAX_LIST:
        raise ToolError(f"{name}: limit is a number from 1 to {MAX_LIST}.")
    if comments not in ("0", "1"):
        raise ToolError(f"{name}: comments is 0 or 1.")
    words = {key: check_word(key, asked[key]) for key in ("author", "label") if key in asked}
    return replace(url, state=state, limit=int(limit), comments=comments == "1", **words)


def thread_host(kind: UrlKind, rest: str, cwd: Path) -> str:
    """Which host a URL asks, from a folder. Raises ToolError."""
    url = parse_thread_url(kind, rest)
    return url.host or (default_host() if url.repo else checkout_host(cwd))
