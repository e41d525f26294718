"""Sessions with the scripted model, real files and real tools."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from tau.ai.faux import Faux, FauxStep
from tau.coding.session.session import Session
from tau.sdk import SessionOptions, create_session

QUICK_RETRIES = {"retry.maxRetries": 2, "retry.baseDelayMs": 1}


def scripted(
    script: Sequence[Sequence[FauxStep]], folder: Path, **options: Any
) -> tuple[AbstractAsyncContextManager[Session], Faux]:
    """A session in `folder` whose model follows `script`."""
    faux = Faux(script)
    wanted = SessionOptions(
        cwd=folder,
        stream=faux.stream,
        session_dir=folder / "sessions",
        settings=options.pop("settings", QUICK_RETRIES),
        **options,
    )
    return create_session(wanted), faux
