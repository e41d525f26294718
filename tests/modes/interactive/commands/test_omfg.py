"""/omfg: a complaint becomes a rule that was tried on the session and approved by the user."""

import os
from pathlib import Path

from tau.ai.faux import Fail, FauxStep, Say, Use
from tau.base.errors import ProviderError
from tests.modes.interactive.rig import rigged, run

DRAFT = """---
name: ../no print
description: Prints left in code
condition: 'print\\('
scope: tool:write
---
Use the logger.
"""


def rules() -> Path:
    return Path(os.environ["TAU_HOME"]) / "rules"


def script(draft: FauxStep) -> list[list[FauxStep]]:
    return [[Use("write", path="a.py", content="print(1)\n")], [Say("Written.")], [draft]]


def test_complaint_becomes_a_rule_that_matches_the_mistake(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, script(Say(DRAFT)), rows=40) as rig:
            await rig.send("write it")
            await rig.show("Written.")
            await rig.send("/omfg it keeps printing")
            shown = await rig.show("Save this rule?")
            assert "It matches 1 part of this session" in shown and "write: print(" in shown
            assert not rules().exists()
            await rig.press("enter")
            await rig.show("Saved ")
            assert (rules() / "no-print.md").read_text() == DRAFT.replace("../no print", "no-print")
            assert "keeps printing" in str(rig.faux.requests[-1].messages)

    run(test)


def test_rule_that_the_user_discards_is_not_saved(tmp_path: Path) -> None:
    async def test() -> None:
        async with rigged(tmp_path, [[Say(DRAFT)]], rows=40) as rig:
            await rig.send("/omfg it keeps printing")
            await rig.show("Save this rule?")
            await rig.press("escape")
            await rig.show("not saved")
            assert not rules().exists()

    run(test)


def test_draft_that_lacks_a_rule_says_why(tmp_path: Path) -> None:
    async def test() -> None:
        drafts = [
            [Say("Sorry!")],
            [Say(DRAFT.replace("print", "("))],
            [Fail(ProviderError("No.", status=400))],
        ]
        async with rigged(tmp_path, drafts) as rig:
            for told in ("did not write a rule", "is not valid", "No."):
                await rig.send("/omfg it keeps printing")
                await rig.show(told)
            await rig.press("ctrl+c")
            await rig.send("/omfg")
            await rig.show("Say what went wrong")
            assert not rules().exists()

    run(test)
