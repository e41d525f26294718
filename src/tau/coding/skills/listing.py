"""The list of skills in the system prompt, within its share of the context window."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from tau.base.late import late
from tau.base.text import shortened
from tau.coding.skills.catalog import Skill

fences = late("tau.coding.untrusted_text")

BYTES_PER_TOKEN = 3.5
MIN_TOKENS = 2_000
WINDOW_SHARE = 0.01
RECENT = 20
HEAD = (
    "\nSkills: instructions for special tasks. When a task fits a description, read skill://NAME first and"
    " follow it; skill://?q=WORDS searches all."
)


class SkillListing(NamedTuple):
    """`shortened` are the names of those whose description was cut."""

    text: str
    shortened: list[str]


def list_skills(skills: Sequence[Skill], budget_tokens: int, used: Mapping[str, int]) -> SkillListing:
    """A line for each listed skill. Names are always kept.

    Over the budget, descriptions are shortened evenly; those of recently used skills come last.
    """
    listed = [skill for skill in skills if skill.listed and not skill.always]
    if not listed:
        return SkillListing("", [])
    limits = _limits(listed, int(budget_tokens * BYTES_PER_TOKEN), used)
    cut = [skill.name for skill in listed if _size(skill) > limits[skill.name]]
    lines = {skill.name: _line(skill, limits[skill.name]) for skill in listed}
    own = [lines[skill.name] for skill in listed if skill.trusted]
    others = [lines[skill.name] for skill in listed if not skill.trusted]
    parts = [HEAD]
    if own:
        parts += ["<skills>", *own, "</skills>"]
    if others:
        parts += fences.fence_list("skills", others)
    return SkillListing("\n".join(parts) + "\n", cut)


def listing_budget(setting: int, window: int) -> int:
    """In tokens: the setting, or a share of the window."""
    return setting or max(int(window * WINDOW_SHARE), MIN_TOKENS)


def _limits(skills: Sequence[Skill], budget: int, used: Mapping[str, int]) -> dict[str, int]:
    """How many characters of each description fit."""
    fixed = sum(len(_line(skill, 0).encode()) + 3 for skill in skills)
    lengths = {skill.name: _size(skill) for skill in skills}
    room = max(budget - fixed, 0)
    recent = sorted((name for name in lengths if name in used), key=lambda name: -used[name])[:RECENT]
    others = [name for name in lengths if name not in recent]
    kept = sum(lengths[name] for name in recent)
    if kept > room:
        return {
            **dict.fromkeys(others, 0),
            **dict.fromkeys(recent, _even([lengths[name] for name in recent], room)),
        }
    return {
        **{name: lengths[name] for name in recent},
        **dict.fromkeys(others, _even([lengths[name] for name in others], room - kept)),
    }


def _even(lengths: Collection[int], room: int) -> int:
    """The largest limit with which all of them fit."""
    rest, limit = sorted(lengths), room
    while rest:
        limit = room // len(rest)
        if rest[0] > limit:
            return limit
        room -= rest.pop(0)
    return max(lengths, default=0)


def _description(skill: Skill) -> str:
    globs = f" (for {', '.join(skill.globs)})" if skill.globs else ""
    return f"{skill.description}{globs}"


def _size(skill: Skill) -> int:
    return len(_description(skill).encode())


def _line(skill: Skill, limit: int) -> str:
    """`limit` is in bytes."""
    whole = _description(skill)
    chars = limit * len(whole) // max(_size(skill), 1)
    description = whole if limit >= _size(skill) else shortened(whole, chars) if chars > 1 else ""
    return f"- {skill.name}: {description}" if description else f"- {skill.name}"
