"""Compaction in real sessions: between turns, after an overflow, on request, and after a restart."""

import asyncio
from pathlib import Path
from typing import Any

from tau.agent.events import AgentEvent, Compacted, CompactionEnd, CompactionStart
from tau.ai.faux import Fail, Faux, FauxStep, Say, Use
from tau.ai.wire import UserMessage
from tau.base.errors import ProviderError
from tau.coding.session.storage.log import SessionLog
from tests.coding.session.compaction.rig import GOOD
from tests.coding.session.rig import QUICK_RETRIES, scripted
from tests.support.next_request import problems

BIG = Use("bash", command="seq 1 3000")


def sent(faux: Faux, number: int) -> str:
    return str(faux.requests[number].messages)


def played(
    script: list[list[FauxStep]], folder: Path, prompts: list[str], **settings: Any
) -> tuple[list[AgentEvent], Faux]:
    events: list[AgentEvent] = []

    async def main() -> Faux:
        opening, faux = scripted(script, folder, settings={**QUICK_RETRIES, **settings})
        async with opening as session:
            session.subscribe(events.append)
            for prompt in prompts:
                outcome = await session.prompt(prompt)
                assert outcome.error is None
            assert problems(session.log.messages()) == []
        return faux

    return events, asyncio.run(main())


def kinds(events: list[AgentEvent]) -> list[str]:
    wanted = (CompactionStart, CompactionEnd, Compacted)
    return [type(event).__name__ for event in events if isinstance(event, wanted)]


def test_long_run_is_compacted_between_turns_and_continues(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [[BIG], [BIG], [BIG], [Say(GOOD)], [Say("All done.")]]
    events, faux = played(
        script,
        tmp_path,
        ["Count."],
        **{"compaction.thresholdTokens": 26_000, "compaction.keepRecentTokens": 9_000},
    )
    assert kinds(events) == ["CompactionStart", "CompactionEnd", "Compacted"]
    assert "You write notes" in faux.requests[3].system
    assert "Mend the parser." in sent(faux, 4) and faux.requests[4].system == faux.requests[0].system
    assert len(sent(faux, 4)) < len(sent(faux, 2))


def test_request_is_resent_smaller_after_an_overflow(tmp_path: Path) -> None:
    overflow = Fail(ProviderError("faux answered 400: The prompt is too long.", status=400, overflow=True))
    script: list[list[FauxStep]] = [[BIG], [BIG], [overflow], [Say(GOOD)], [Say("All done.")]]
    events, faux = played(script, tmp_path, ["Count."])
    assert kinds(events) == ["CompactionStart", "CompactionEnd", "Compacted"]
    [end] = [event for event in events if isinstance(event, CompactionEnd)]
    assert end.will_retry
    assert len(sent(faux, 4)) < len(sent(faux, 2)) * 0.7


def test_resumed_session_sees_the_same_context(tmp_path: Path) -> None:
    script: list[list[FauxStep]] = [[BIG], [BIG], [Say("Counted.")], [Say(GOOD)], [Say("Yes.")]]
    reported: list[Any] = []

    async def main() -> None:
        opening, _ = scripted(script, tmp_path, settings=QUICK_RETRIES)
        async with opening as session:
            await session.prompt("Count.")
            result = await session.compact("numbers")
            assert GOOD in result.summary
            await session.prompt("Is it right?")
            reported.append(session.log.messages())

    asyncio.run(main())
    [path] = (tmp_path / "sessions").glob("*.jsonl")
    log = SessionLog.open(path)
    try:
        seen = log.messages()
    finally:
        log.close()
    assert [type(message) for message in seen] == [type(message) for message in reported[0]]
    assert [message for message in seen if isinstance(message, UserMessage)]
    assert problems(seen) == []
