"""Reads Dockerfiles that only copy files, set variables and run commands; others need Docker."""

import json
import re
import shlex
from pathlib import Path, PurePosixPath

from tau.base.errors import TauError
from tau.modes.batch.task_container import TaskContainer

DEFAULT_FOLDER = "/app"
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")


class UnsupportedTask(TauError):
    """Only a container engine could run the task."""


def read_dockerfile(path: Path) -> TaskContainer:
    """Raises UnsupportedTask, and OSError."""
    workdir = ""
    env: dict[str, str] = {}
    copies: list[tuple[str, str]] = []
    commands: list[str] = []
    bases = 0
    for word, rest in _instructions(path.read_text(encoding="utf-8")):
        match word:
            case "FROM":
                bases += 1
                if bases > 1:
                    raise UnsupportedTask("The Dockerfile has several stages.")
            case "WORKDIR":
                workdir = str(PurePosixPath(workdir or "/") / _filled(rest, env))
            case "ENV":
                env |= _variables(rest, env)
            case "COPY":
                copies += _copies(rest, path.parent, workdir or "/", env)
            case "RUN":
                commands.append(_command(rest))
            case _:
                raise UnsupportedTask(f"The Dockerfile has {word}.")
    return TaskContainer(workdir=workdir or DEFAULT_FOLDER, copies=copies, env=env, run=commands)


def _instructions(text: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    line = ""
    for part in text.splitlines():
        if part.lstrip().startswith("#") or (not part.strip() and not line):
            continue
        if part.rstrip().endswith("\\"):
            line += part.rstrip()[:-1] + " "
            continue
        word, _, rest = (line + part).strip().partition(" ")
        found.append((word.upper(), rest.strip()))
        line = ""
    return found


def _command(rest: str) -> str:
    if rest.startswith("--"):
        raise UnsupportedTask(f"The Dockerfile has RUN {rest.split()[0]}.")
    if rest.startswith("<<") or re.search(r"<<-?['\"]?\w+", rest):
        raise UnsupportedTask("The Dockerfile has a RUN with a here-document.")
    if rest.startswith("["):
        return shlex.join(_words(rest))
    return rest


def _copies(rest: str, folder: Path, workdir: str, env: dict[str, str]) -> list[tuple[str, str]]:
    words = _words(rest) if rest.startswith("[") else shlex.split(rest)
    if options := [word for word in words if word.startswith("--") and not word.startswith("--chmod=")]:
        raise UnsupportedTask(f"The Dockerfile has COPY {options[0]}.")
    *sources, target = [_filled(word, env) for word in words if not word.startswith("--")]
    place = PurePosixPath(workdir) / target
    root = folder.resolve()
    found: list[tuple[str, str]] = []
    for source in sources:
        named = source.lstrip("/")
        paths = sorted(folder.glob(named)) if any(mark in named for mark in "*?[") else [folder / named]
        for path in paths:
            if not path.resolve().is_relative_to(root) or not path.exists():
                raise UnsupportedTask(f'COPY: "{source}" is not in the folder of the Dockerfile.')
            into = target.endswith("/") or target in (".", "..") or len(sources) > 1 or len(paths) > 1
            inside = place / path.name if into and not path.is_dir() else place
            found.append((str(path.resolve()), str(inside)))
    return found


def _variables(rest: str, env: dict[str, str]) -> dict[str, str]:
    words = shlex.split(rest)
    if words and "=" not in words[0]:  # the old form: ENV NAME the rest
        name, _, value = rest.partition(" ")
        return {name: _filled(value.strip(), env)}
    return {name: _filled(value, env) for name, _, value in (word.partition("=") for word in words)}


def _filled(text: str, env: dict[str, str]) -> str:
    return _VARIABLE.sub(lambda match: env.get(match[1] or match[2], ""), text)


def _words(text: str) -> list[str]:
    try:
        words = json.loads(text)
    except ValueError:
        words = None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise UnsupportedTask(f"The Dockerfile has a list that is not JSON: {text[:60]}")
    return words
