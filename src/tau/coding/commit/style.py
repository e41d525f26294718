"""How this repository writes commit messages, and whether a message fits."""

import re

from msgspec import Struct

from tau.coding.commit.repository import CommitRepository

SUBJECTS = 30
SUBJECT_CHARS = 72
TYPES = ("feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert")
MIN_SUBJECTS = 5  # fewer show no style
MAX_MESSAGE_CHARS = 8_000
_CONVENTIONAL = re.compile(r"(?P<type>[a-z]+)(?:\((?P<scope>[^()\n]+)\))?(?P<breaking>!)?: (?P<text>\S.*)")
_COMMITLINT = (
    *(".commitlintrc", ".commitlintrc.json", ".commitlintrc.yaml", ".commitlintrc.yml", ".commitlintrc.js"),
    *("commitlint.config.js", "commitlint.config.cjs", "commitlint.config.mjs", "commitlint.config.ts"),
)
_LIST = r"{}[\"']?\s*:\s*\[?\s*-?\s*[0-2]\s*,?\s*-?\s*[\"']?always[\"']?\s*,?\s*-?\s*"
_VERBS = "add|change|creat|fix|implement|improv|introduc|mov|refactor|remov|renam|updat"
_NOT_IMPERATIVE = re.compile(rf"(?:{_VERBS})(?:d|ed|ing|s|es)|adds|made|makes|making", re.IGNORECASE)


class CommitStyle(Struct, frozen=True):
    """`types` is empty if subjects have no type; `subjects` are recent ones."""

    types: tuple[str, ...] = TYPES
    subjects: tuple[str, ...] = ()
    subject_chars: int = SUBJECT_CHARS

    def problem(self, message: str) -> str:
        """What is wrong with a message, "" if nothing is."""
        subject, _, rest = message.partition("\n")
        if not subject.strip():
            return "The message is empty."
        if len(message) > MAX_MESSAGE_CHARS:
            return f"The message exceeds {MAX_MESSAGE_CHARS:,} characters."
        if len(subject) > self.subject_chars:
            return f"The subject has {len(subject)} characters; at most {self.subject_chars} are allowed."
        if rest and not rest.startswith("\n"):
            return "An empty line must follow the subject."
        if any(ord(sign) < 32 and sign not in "\n\t" for sign in message):
            return "The message has control characters."
        if subject.endswith("."):
            return "The subject ends with a period."
        text = subject
        if self.types:
            match = _CONVENTIONAL.fullmatch(subject)
            if match is None:
                return "The subject is not of the form type(scope): summary."
            if match["type"] not in self.types:
                return f'The type "{match["type"]}" is not one of {", ".join(self.types)}.'
            text = match["text"]
            if _NOT_IMPERATIVE.fullmatch(text.split()[0]):
                return f'Write the summary in the imperative, not "{text.split()[0]}".'
        return ""

    def describe(self) -> str:
        """For the prompt."""
        if self.types:
            form = (
                "Subject: type(scope): summary. The scope is optional. "
                f"Types: {', '.join(self.types)}. Mark a breaking change with ! before the colon."
            )
        else:
            form = "Write the subject in the style of this repository's recent subjects."
        recent = "\n".join(f"- {subject}" for subject in self.subjects)
        return f"{form}\nSubject: at most {self.subject_chars} characters.\n" + (
            f"<recent_subjects>\n{recent}\n</recent_subjects>" if recent else ""
        )

    def subject(self, type: str, text: str) -> str:
        """A subject made without a model."""
        if not self.types:
            text = text[:1].upper() + text[1:]
        line = f"{type if type in self.types else self.types[0]}: {text}" if self.types else text
        return line if len(line) <= self.subject_chars else f"{line[: self.subject_chars - 1].rstrip(' ,.')}…"


async def read_style(repository: CommitRepository) -> CommitStyle:
    """Recent subjects decide; a commitlint file may name types and the longest subject."""
    said = (
        await repository.line("log", f"-{SUBJECTS}", "--no-merges", "--format=%s")
        if await repository.head()
        else ""
    )
    subjects = tuple(line[:SUBJECT_CHARS] for line in said.splitlines() if line.strip())
    fits = sum(_CONVENTIONAL.fullmatch(subject) is not None for subject in subjects)
    types: tuple[str, ...] = () if len(subjects) >= MIN_SUBJECTS and fits * 2 < len(subjects) else TYPES
    used = {match["type"] for subject in subjects if (match := _CONVENTIONAL.fullmatch(subject))}
    if types and fits >= MIN_SUBJECTS:
        types = (*types, *sorted(used - set(types)))
    rules = await _commitlint(repository)
    if listed := _words(rules, "type-enum"):
        types = listed
    limit = re.search(_LIST.format("header-max-length") + r"(\d+)", rules)
    chars = min(SUBJECT_CHARS, int(limit[1])) if limit else SUBJECT_CHARS
    return CommitStyle(types, subjects, max(chars, 20))


async def _commitlint(repository: CommitRepository) -> str:
    """The staged text of the file; it is read, never run."""
    for name in _COMMITLINT:
        if text := await repository.line("cat-file", "blob", f":{name}"):
            return text[:20_000]
    return ""


def _words(rules: str, name: str) -> tuple[str, ...]:
    match = re.search(_LIST.format(name) + r"\[?([^\]]*?)(?:\]|\n\s*[\w\"'-]+\s*:|\Z)", rules)
    return tuple(re.findall(r"[a-z][\w-]*", match[1])) if match else ()
