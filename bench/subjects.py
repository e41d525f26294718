"""What is measured: the bare interpreter, tau, and peers from a table that is passed in."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from spawn import Run, spawn

PROMPT = "hi"


@dataclass
class Subject:
    """`command` runs one prompt. {url}, {home} and {work} are filled in, in `env` and `files` too."""

    name: str
    command: list[str]
    version_command: list[str]
    env: dict[str, str] = field(default_factory=dict)
    files: dict[str, Any] = field(default_factory=dict)
    without: tuple[str, ...] = ()
    control: dict[str, Any] = field(default_factory=dict)
    home: Path = Path()
    work: Path = Path()

    def settle(self, folder: Path, url: str, extra_env: dict[str, str] | None = None) -> "Subject":
        """Return a copy set up in `folder`, with home, files and a small repository, that uses `url`."""
        home, work = folder / "home", folder / "work"
        words = {"url": url, "home": str(home), "work": str(work)}
        for made in (home, work, folder / "tmp"):
            made.mkdir(parents=True)
        for name, content in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            filled = fill(content, words)
            path.write_text(filled if isinstance(filled, str) else json.dumps(filled))
        make_repository(work)
        env = {
            "HOME": str(home),
            "TMPDIR": str(folder / "tmp"),
            "PATH": os.environ["PATH"],
            "TERM": "dumb",
            "LANG": "C.UTF-8",
            **fill(self.env, words),
            **(extra_env or {}),
        }
        return Subject(
            self.name,
            fill(self.command, words),
            fill(self.version_command, words),
            env,
            without=self.without,
            control=self.control,
            home=home,
            work=work,
        )

    def run(self, command: list[str], *, sample_memory: bool = False) -> Run:
        return spawn(command, env=self.env, cwd=self.work, sample_memory=sample_memory)


def floor() -> Subject:
    """Return the bare interpreter, the unit of all startup figures."""
    command = [sys.executable, "-c", "pass"]
    return Subject("python -c pass", command, command)


def tau() -> Subject:
    program = str(Path(sys.executable).parent / "tau")
    provider = {
        "baseUrl": "{url}/v1",
        "api": "openai-completions",
        "apiKey": "x",
        "models": [{"id": "fake-model", "contextWindow": 1_000_000}],
    }
    return Subject(
        "tau",
        [program, "--provider", "fake", "--model", "fake-model", "-p", PROMPT],
        [program, "--version"],
        env={"TAU_HOME": "{home}/.tau/agent"},
        files={".tau/agent/models.json": {"providers": {"fake": provider}}},
    )


def peers(file: Path) -> list[Subject]:
    """Load rows `name -> {command, version_command, env, files, without, control}`; `command` is required."""
    known = {"command", "version_command", "env", "files", "without", "control"}
    subjects = []
    for name, row in json.loads(file.read_text()).items():
        if unknown := set(row) - known:
            raise SystemExit(f"{file}: {name} has unknown fields: {', '.join(sorted(unknown))}")
        if shutil.which(row["command"][0]) is None:
            raise SystemExit(f"{name} is not installed: no program {row['command'][0]} on the PATH.")
        subjects.append(
            Subject(
                name,
                row["command"],
                row.get("version_command") or [row["command"][0], "--version"],
                row.get("env", {}),
                row.get("files", {}),
                tuple(row.get("without", ())),
                row.get("control", {}),
            )
        )
    return subjects


def fill(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        for word, text in words.items():
            value = value.replace("{" + word + "}", text)
        return value
    if isinstance(value, list):
        return [fill(item, words) for item in value]
    if isinstance(value, dict):
        return {key: fill(item, words) for key, item in value.items()}
    return value


def make_repository(folder: Path) -> None:
    (folder / "README.md").write_text("# A small project\n")
    (folder / "main.py").write_text("print('hello')\n")
    git = ["git", "-C", str(folder), "-c", "user.name=bench", "-c", "user.email=bench@example.com"]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *arguments], check=True)
