"""One task of a suite, in whatever format it was written."""

from typing import Any

from msgspec import Struct

from tau.modes.batch.check_verdict import Judge
from tau.modes.batch.task import Budget
from tau.modes.batch.task_container import TaskContainer


class SuiteTask(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`check` and `solution` are shell scripts; the agent sees neither."""

    prompt: str
    check: str
    solution: str = ""
    setup: str = ""
    files: dict[str, str] = {}
    budget: Budget = Budget()
    repo: str = ""
    commit: str = ""
    settings: dict[str, Any] = {}
    judge: Judge = Judge()
    container: TaskContainer | None = None
