"""Settings, hooks and extensions of agents in a workspace, which commands must not change."""

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from tau.backends.sandbox.mounts import GuardedFiles
from tau.backends.sandbox.policy import is_within, real_folder
from tau.config.trust_locations import existing_files

MAX_FILES = 200  # of a folder are remembered


def find_agent_files(folders: Iterable[Path], roots: Sequence[Path]) -> GuardedFiles:
    """What exists in these folders. The folders of agents are mounts too: otherwise, they could be moved.

    Prompts and skills are not among them. Commands of Git change these, and trust asks about what they run.
    """
    own: dict[Path, None] = {}
    guarded: dict[Path, None] = {}
    for folder in dict.fromkeys(folders):
        for agent, path in existing_files(str(folder)):
            if not is_within(target := real_folder(Path(path)), roots) or target in roots:
                continue
            guarded[target] = None
            if agent and real_folder(Path(agent)) == Path(agent):
                own[Path(agent)] = None
    return GuardedFiles(folders=tuple(own), guarded=tuple(path for path in guarded if path.exists()))


def files_of(paths: Iterable[Path]) -> Iterator[Path]:
    """The files among these paths, and those in the folders among them."""
    for path in paths:
        if not path.is_dir():
            yield path
            continue
        inside = (Path(top, name) for top, _, names in os.walk(path) for name in sorted(names))
        yield from islice(inside, MAX_FILES)
