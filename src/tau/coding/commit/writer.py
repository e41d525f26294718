"""Writes commit messages: from a model that sees the diff, or from the file names."""

import asyncio
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
from msgspec import Struct

from tau.agent.loop_owner import Complete
from tau.ai.model import Model, ThinkingLevel
from tau.ai.normalization import clean
from tau.ai.wire import Usage
from tau.base import log, secrets
from tau.base.errors import TauError
from tau.coding.commit.staged import StagedFile
from tau.coding.commit.style import CommitStyle
from tau.coding.side_request import ask_model
from tau.config.settings import CommitSettings

CORRECTIONS = 2
CHARS_PER_TOKEN = 3
ONE_CALL_TOKENS = 12_000  # of a diff; a longer one is summarized in parts
LIST_FILES = 200
_DOCS = re.compile(r"(?:^|/)docs?/|\.(?:md|rst|txt|adoc)$", re.IGNORECASE)
_TESTS = re.compile(r"(?:^|/)(?:tests?|__tests__|spec)/|(?:^|/)test_[^/]*$|[._](?:test|spec)\.\w+$")
_CI = re.compile(r"^\.(?:github|gitlab|circleci)/|(?:^|/)(?:Jenkinsfile|\.travis\.yml|\.gitlab-ci\.yml)$")
_BUILD = re.compile(
    r"(?:^|/)(?:Makefile|Dockerfile|CMakeLists\.txt|pyproject\.toml|package\.json|Cargo\.toml|go\.mod)$"
)


class WrittenMessage(Struct, frozen=True):
    """`fallback` says why no model wrote it; "" if one did, `automatic` if none was needed."""

    text: str
    fallback: str = ""
    automatic: bool = False


class CommitModel(Struct):
    """A model for side requests about a commit; `usage` adds up."""

    complete: Complete
    model: Model
    thinking: ThinkingLevel = "off"
    usage: Usage = Usage()

    @property
    def diff_tokens(self) -> int:
        """How much of a diff one request takes."""
        return min(ONE_CALL_TOKENS, max(1_000, self.model.context_window // 2))

    async def ask(self, prompt: str, *turns: str, timeout_s: float) -> str:
        """Ask with the system prompt in the file `prompt`. Raises TauError."""
        system = Path(__file__).with_name(f"{prompt}.md").read_text(encoding="utf-8").strip()
        text = "\n\n".join(turn for turn in turns if turn)
        return await ask_model(
            self.complete, self.model, system, text, thinking=self.thinking, timeout_s=timeout_s
        )


async def write_message(
    files: Sequence[StagedFile],
    style: CommitStyle,
    settings: CommitSettings,
    connect: Callable[[], Any],
    *,
    context: str = "",
    one_call: bool = False,
) -> WrittenMessage:
    """`connect` is awaited for a `CommitModel` only if a model is needed."""
    if text := _without_model(files, style):
        return WrittenMessage(text, automatic=True)
    try:
        model: CommitModel = await connect()
        diff = await describe_diff(files, settings, model, one_call=one_call)
        hint = f"<context>\n{context}\n</context>" if context else ""
        text = await _valid_message(model, settings, style, (style.describe(), hint, diff))
        return WrittenMessage(text)
    except TauError as error:
        log.warning("No model wrote the commit message.", error)
        return WrittenMessage(fallback_message(files, style), fallback=str(error))


async def _valid_message(
    model: CommitModel, settings: CommitSettings, style: CommitStyle, parts: tuple[str, ...]
) -> str:
    problem, text = "", ""
    for _ in range(1 + CORRECTIONS):
        again = (
            f"<previous_answer>\n{text}\n</previous_answer>\nThis was refused: {problem}" if problem else ""
        )
        said = await model.ask("message", *parts, again, timeout_s=settings.map_reduce_timeout_ms / 1000)
        text = secrets.mask(clean_message(said))
        problem = style.problem(text)
        if not problem:
            return text
    raise TauError(f"The model's messages were not valid: {problem}")


def clean_message(text: str) -> str:
    """The message in an answer, without a fence around it."""
    fenced = re.search(r"(?s)```[\w-]*\n(.*?)\n?```", text)
    lines = [line.rstrip() for line in (fenced[1] if fenced else text).strip().strip('"`').splitlines()]
    return "\n".join(lines).strip()


async def describe_diff(
    files: Sequence[StagedFile], settings: CommitSettings, model: CommitModel, *, one_call: bool = False
) -> str:
    """The files and their diff, or summaries of it if it is long."""
    seen = [(file, visible_patch(file, settings)) for file in files]
    names = "\n".join(file.change for file in files[:LIST_FILES])
    if len(files) > LIST_FILES:
        names += f"\n({len(files) - LIST_FILES} more files)"
    limit = model.diff_tokens * CHARS_PER_TOKEN
    total = sum(len(text) for _, text in seen)
    is_mapped = settings.map_reduce_enabled and not one_call and len(seen) >= settings.map_reduce_min_files
    head = f"<files>\n{names}\n</files>"
    if total <= limit or not is_mapped:
        diff = "\n".join(text for _, text in seen if text)
        cut = "" if len(diff) <= limit else f"\n[{len(diff) - limit:,} more characters]"
        return f"{head}\n<diff>\n{diff[:limit]}{cut}\n</diff>"
    said = await _summaries([text for _, text in seen if text], limit, settings, model)
    return f"{head}\n<summaries>\n{said[:limit]}\n</summaries>"


def visible_patch(file: StagedFile, settings: CommitSettings) -> str:
    """What a model sees of a file, at most the setting's tokens."""
    if file.is_hidden:
        return ""
    text = secrets.mask(file.patch.decode("utf-8", "replace"))
    limit = settings.map_reduce_max_file_tokens * CHARS_PER_TOKEN
    return text if len(text) <= limit else f"{text[:limit]}\n[{len(text) - limit:,} more characters]"


async def _summaries(texts: Sequence[str], limit: int, settings: CommitSettings, model: CommitModel) -> str:
    """Summaries of parts of at most `limit` characters. Raises TauError if a part has none."""
    parts: list[str] = [""]
    for text in texts:
        for at in range(0, len(text), limit):
            piece = text[at : at + limit]
            if len(parts[-1]) + len(piece) > limit:
                parts.append("")
            parts[-1] += piece
    gate = asyncio.Semaphore(settings.map_reduce_max_concurrency)

    async def one(part: str) -> str:
        async with gate:
            timeout_s = settings.map_reduce_timeout_ms / 1000
            return await model.ask("summary", f"<diff>\n{part}\n</diff>", timeout_s=timeout_s)

    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(part)) for part in parts if part]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from None
    return "\n\n".join(task.result() for task in tasks)


def decode_answer(text: str, type: Any) -> Any:
    """The JSON in an answer. Raises msgspec.DecodeError, also for another shape."""
    start, end = text.find("{"), text.rfind("}")
    return msgspec.json.decode(text[start : end + 1] if start >= 0 else text, type=type)


def _without_model(files: Sequence[StagedFile], style: CommitStyle) -> str:
    if files and all(file.is_rename_only for file in files):
        moved = (
            f"{_base(files[0].old_path)} to {_base(files[0].path)}"
            if len(files) == 1
            else f"{len(files)} files"
        )
        return style.subject("refactor", f"rename {moved}")
    if files and all(file.is_whitespace_only for file in files):
        where = _base(files[0].path) if len(files) == 1 else f"{len(files)} files"
        return style.subject("style", f"change whitespace in {where}")
    return ""


def _base(path: bytes) -> str:
    return clean(PurePosixPath(path.decode("utf-8", "replace")).name.replace("\n", " "))


def kind_of(files: Sequence[StagedFile]) -> str:
    """The type that fits these files by their names."""
    for kind, pattern in (("test", _TESTS), ("ci", _CI), ("docs", _DOCS), ("build", _BUILD)):
        if files and all(pattern.search(file.name) for file in files):
            return kind
    return "feat" if files and all(file.status == "A" for file in files) else "chore"


def fallback_message(files: Sequence[StagedFile], style: CommitStyle) -> str:
    """The same files always give the same message."""
    verbs = {"A": "add", "D": "remove", "R": "rename"}
    verb = (
        verbs.get(Counter(file.status for file in files).most_common(1)[0][0], "update") if files else "merge"
    )
    if len({file.status for file in files}) > 1:
        verb = "update"
    names = [_base(file.path) for file in files]
    what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more" if names else "branches"
    if len(names) == 2:
        what = " and ".join(names)
    return style.subject(kind_of(files), f"{verb} {what}")
