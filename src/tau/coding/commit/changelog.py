"""Adds entries to the nearest changelog of the staged files."""

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath

from msgspec import DecodeError, Struct

from tau.base.files import write_atomic
from tau.base.text import clean_line
from tau.coding.commit.repository import CommitRepository
from tau.coding.commit.staged import StagedFile
from tau.coding.commit.writer import CommitModel, decode_answer, visible_patch
from tau.config.settings import CommitSettings

NAME = "CHANGELOG.md"
SECTIONS = ("Added", "Changed", "Deprecated", "Removed", "Fixed", "Security")
MAX_ENTRIES = 10
_UNRELEASED = re.compile(r"(?im)^##[ \t]+\[?unreleased\]?.*$")
_NEXT = re.compile(r"(?m)^##?[ \t]+\S|^\[[^\]\n]+\]:[ \t]")


class ChangelogUpdate(Struct, frozen=True):
    """The new text of a changelog in the index; `entries` by section are what it gains."""

    path: str
    mode: str
    entries: dict[str, list[str]]
    text: str


async def plan_changelogs(
    repository: CommitRepository, files: Sequence[StagedFile], settings: CommitSettings, model: CommitModel
) -> list[ChangelogUpdate]:
    """One update per changelog that has an Unreleased section and was not edited by hand. Raises TauError."""
    listed = await repository.git("ls-files", "--stage", "-z", "--full-name")
    logs: dict[str, str] = {}
    for row in listed.split(b"\0"):
        meta, _, path = row.partition(b"\t")
        if PurePosixPath(name := os.fsdecode(path)).name == NAME and meta.startswith(b"100"):
            logs[name] = meta.decode().split(" ")[0]
    groups: dict[str, list[StagedFile]] = {}
    for file in files if logs else ():
        folders = PurePosixPath(os.fsdecode(file.path)).parents
        nearest = next((str(folder / NAME) for folder in folders if str(folder / NAME) in logs), "")
        if nearest:
            groups.setdefault(nearest, []).append(file)
    updates: list[ChangelogUpdate] = []
    for changelog, members in groups.items():
        if any(os.fsdecode(file.path) == changelog for file in members):
            continue
        text = (await repository.git("cat-file", "blob", f":{changelog}")).decode("utf-8", "surrogateescape")
        if _UNRELEASED.search(text) is None:
            continue
        entries = await _entries(members, settings, model)
        changed = add_entries(text, entries)
        if changed != text:
            updates.append(ChangelogUpdate(changelog, logs[changelog], entries, changed))
    return updates


async def _entries(
    files: Sequence[StagedFile], settings: CommitSettings, model: CommitModel
) -> dict[str, list[str]]:
    names = "\n".join(file.change for file in files)
    diff = "\n".join(visible_patch(file, settings) for file in files)
    diff = diff[: min(settings.changelog_max_diff_chars, model.model.context_window * 2)]
    prompt = f"<files>\n{names}\n</files>\n<diff>\n{diff}\n</diff>"
    said = await model.ask("changelog", prompt, timeout_s=settings.map_reduce_timeout_ms / 1000)
    try:
        found: dict[str, list[str]] = decode_answer(said, dict[str, list[str]])
    except DecodeError:
        return {}
    return {
        section: [clean_line(entry).lstrip("-* ").strip() for entry in found[section][:MAX_ENTRIES]]
        for section in SECTIONS
        if found.get(section)
    }


def add_entries(text: str, entries: Mapping[str, Sequence[str]]) -> str:
    """The changelog with the entries that it lacks, in its Unreleased section."""
    head = _UNRELEASED.search(text)
    if head is None:
        return text
    end = "\r\n" if "\r\n" in text else "\n"
    after = _NEXT.search(text, head.end())
    stop = after.start() if after else len(text)
    body = text[head.end() : stop]
    known = {_normal(line) for line in body.splitlines()}
    for section, lines in entries.items():
        new = [line for line in lines if line and _normal(line) not in known]
        known |= {_normal(line) for line in new}
        if not new:
            continue
        bullets = "".join(f"- {line}{end}" for line in new)
        title = re.search(rf"(?im)^###[ \t]+{section}[ \t]*\r?$", body)
        if title is None:
            body = f"{body.rstrip()}{end}{end}### {section}{end}{end}{bullets}"
            continue
        following = re.search(r"(?m)^###[ \t]", body[title.end() :])
        at = title.end() + following.start() if following else len(body)
        kept = body[:at].rstrip()
        gap = end if kept.splitlines()[-1].lstrip()[:1] in ("-", "*", " ") else end * 2
        body = f"{kept}{gap}{bullets}{end if following else ''}{body[at:]}"
    if body == text[head.end() : stop]:
        return text
    return text[: head.end()] + body.rstrip() + end + (end if after else "") + text[stop:]


def _normal(line: str) -> str:
    return " ".join(re.findall(r"\w+", line.casefold()))


async def stage_changelogs(
    repository: CommitRepository, updates: Sequence[ChangelogUpdate]
) -> dict[str, bytes]:
    """Stage the new texts and write them to the work tree. Returns what files held before."""
    before: dict[str, bytes] = {}
    for update in updates:
        path = repository.root / update.path
        staged = await repository.git("cat-file", "blob", f":{update.path}")
        data = update.text.encode("utf-8", "surrogateescape")
        blob = (await repository.git("hash-object", "-w", "--stdin", stdin=data)).decode().strip()
        await repository.git("update-index", "--cacheinfo", f"{update.mode},{blob},{update.path}")
        if path.is_symlink() or not path.is_file():
            continue
        old = path.read_bytes()
        own = old.decode("utf-8", "surrogateescape")
        new = data if old == staged else add_entries(own, update.entries).encode("utf-8", "surrogateescape")
        before[update.path] = old
        write_atomic(path, new)
    return before
