"""No test here may leave a descriptor open."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tau.base.run import LocalRunner

DESCRIPTORS = Path("/proc/self/fd")


def open_descriptors() -> dict[str, str]:
    if not DESCRIPTORS.is_dir():
        return {}
    found = {}
    for entry in DESCRIPTORS.iterdir():
        try:
            found[entry.name] = str(entry.readlink())
        except FileNotFoundError:  # the one that lists them
            continue
    return found


@pytest.fixture(autouse=True)
def no_descriptors(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails a test that leaves descriptors open; a runner of the whole module keeps its guard."""
    runner = getattr(request.module, "runner", None)
    if isinstance(runner, LocalRunner):
        runner._guard.started()._wait()  # its parent exits at once, and is not a leftover of the test
    before = open_descriptors()
    yield
    if open_descriptors().keys() - before.keys():
        gc.collect()
    left = {fd: what for fd, what in open_descriptors().items() if fd not in before}
    assert not left, f"this test left descriptors open: {left}"
