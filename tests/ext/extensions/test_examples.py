"""The examples of the documentation load, and do what they say."""

import asyncio
from pathlib import Path

import pytest

from tau.ai.faux import Say, Use
from tests.ext.extensions.host import opened

FOLDER = Path(__file__).resolve().parents[3] / "docs" / "examples" / "extensions"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))


def test_there_are_twenty_examples() -> None:
    assert len(EXAMPLES) >= 20


@pytest.mark.parametrize("name", EXAMPLES)
def test_example_loads_and_the_next_prompt_is_answered(name: str, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, extensions=(str(FOLDER / f"{name}.py"),)) as rig:
            [report] = rig.extensions.report()
            assert report.state == "loaded", report
            outcome = await rig.session.prompt("hello #12")
            assert outcome.message is not None and outcome.message.text == "ok"
            await rig.extensions.settle()
            assert not rig.faults

    asyncio.run(main())


def test_protected_paths_are_refused(tmp_path: Path) -> None:
    async def main() -> None:
        path = (str(FOLDER / "protected_paths.py"),)
        replies = [[Use("write", path=".env", content="KEY=1")], [Say("")]]
        async with opened(tmp_path, answers=replies, extensions=path) as rig:
            await rig.session.prompt("write it")
            assert ".env is protected" in str(rig.faux.requests[1].messages[-1])
            assert not (tmp_path / ".env").exists()

    asyncio.run(main())


def test_tasks_are_stored_and_results_are_redacted(tmp_path: Path) -> None:
    async def main() -> None:
        paths = tuple(str(FOLDER / f"{name}.py") for name in ("todo", "redact_results", "expand_tickets"))
        replies = [[Use("note_task", task="write to ann@example.org")], [Say("")]]
        async with opened(tmp_path, answers=replies, extensions=paths) as rig:
            await rig.session.prompt("see #7")
            assert "https://tickets.example/7" in str(rig.faux.requests[0].messages[-1])
            assert "[address]" in str(rig.faux.requests[1].messages[-1])

    asyncio.run(main())


def test_dynamic_tool_appears_with_the_next_request(tmp_path: Path) -> None:
    async def main() -> None:
        async with opened(tmp_path, extensions=(str(FOLDER / "dynamic_tools.py"),)) as rig:
            assert "roll" not in [tool.name for tool in rig.session.requests.tools]
            await rig.extensions.run_command("/dice")
            await rig.session.prompt("roll")
            assert "roll" in [tool.name for tool in rig.faux.requests[0].tools]

    asyncio.run(main())
