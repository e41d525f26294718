"""Ids of agents: given or generated names, unique in a session across restarts."""

import re
from collections.abc import Collection
from pathlib import Path

from tau.base.late import late
from tau.coding.task.ports import ALL, MAIN

random = late("random")

MAX_CHARS = 48
WORDS = Path(__file__).with_name("names.txt")


def allocate(wanted: str | None, taken: Collection[str], parent: str) -> str:
    """A unique id. `taken` has lower case ids; agents of agents are named `Parent.Child`."""
    base = re.sub(r"[^\w-]+", "-", wanted or "", flags=re.ASCII).strip("-_")[:MAX_CHARS]
    if not base:
        base = "".join(random.choice(words.split()) for words in WORDS.read_text("utf-8").split("\n\n"))
    if base.lower() in (MAIN.lower(), ALL):
        base = f"{base}-1"
    full = base if parent == MAIN else f"{parent}.{base}"
    number, id = 1, full
    while id.lower() in taken:
        number += 1
        id = f"{full}-{number}"
    return id
